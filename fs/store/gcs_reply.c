/* SPDX-License-Identifier: Apache-2.0 */
/* gcs_reply.c: what GCS sends back: resources, and the headers of a body. */
#include "store/gcs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/banned.h"

const char gcs_fields[] = "name,size,generation,timeCreated,crc32c,metadata";

int gcs_json(struct op *op, struct json **out)
{
        CLEANUP(json_freep) struct json *j = NULL;
        char why[160];

        int err = json_parse("reply", op->in.p, op->in.len, &j, why, sizeof why);
        if (err == -ENOMEM)
                return err;
        if (err || !json_is_object(j)) {
                op->fault.status = op->rq.status;
                snprintf(op->fault.message, sizeof op->fault.message,
                         "a reply that is not the JSON it should be");
                return OP_RETRY;
        }
        *out = TAKE_PTR(j);
        return 0;
}

static void read_meta(const struct json *meta, struct store_meta *out)
{
        for (size_t i = 0; i < json_count(meta); i++) {
                const struct json *v = json_at(meta, i);
                if (json_is_string(v) && strcmp(json_name(v), GCS_META_FOR) != 0)
                        /* what is no metadata of ours to keep is left out */
                        store_meta_add(out, json_name(v), json_string(v, ""));
        }
}

bool gcs_resource(const struct json *j, struct store_object *out)
{
        const char *generation = json_string(json_get(j, "generation"), "");
        *out = (struct store_object){
                .size = strtoull(json_string(json_get(j, "size"), "0"), NULL, 10),
                .mtime_ns = s3_time_iso(json_string(json_get(j, "timeCreated"), "")),
                .has_crc = s3_crc(json_string(json_get(j, "crc32c"), NULL), &out->crc32c),
        };
        out->has_crc = s3_crc(json_string(json_get(j, "crc32c"), NULL), &out->crc32c);
        if (!*generation || strlen(generation) >= sizeof out->etag ||
            !*json_string(json_get(j, "name"), ""))
                return false;
        memcpy(out->etag, generation, strlen(generation) + 1);
        read_meta(json_get(j, "metadata"), &out->meta);
        return true;
}

int gcs_read_resource(struct op *op, const char *key)
{
        CLEANUP(json_freep) struct json *j = NULL;

        if (op->rq.method == HTTP_HEAD || op->rq.method == HTTP_PUT) /* the JSON API has neither */
                return gcs_xml_resource(op);
        int err = gcs_json(op, &j);
        if (err)
                return err;
        if (gcs_resource(j, &op->obj) && !strcmp(json_string(json_get(j, "name"), ""), key))
                return 0;
        op->fault.status = op->rq.status;
        snprintf(op->fault.message, sizeof op->fault.message, "a reply about something else");
        return OP_RETRY;
}

int gcs_add_meta(struct json *to, const struct store_meta *meta, struct json **made)
{
        struct json *m = json_add_object(to, "metadata");
        int err = m ? 0 : -ENOMEM;

        if (made)
                *made = m;
        for (size_t at = 0; !err && meta && at < meta->len;) {
                const char *name = meta->buf + at, *value = name + strlen(name) + 1;
                at += strlen(name) + strlen(value) + 2;
                err = json_add_string(m, name, value);
        }
        return err;
}

/* "crc32c=AAAAAA==,md5=..." */
static bool hash_crc(const char *text, uint32_t *crc)
{
        char one[16];
        const char *at = strstr(text, "crc32c=");
        if (!at)
                return false;
        at += strlen("crc32c=");
        snprintf(one, sizeof one, "%.*s", (int)strcspn(at, ", "), at);
        return s3_crc(one, crc);
}

void gcs_object(struct store_kind *k, const struct http_req *rq, struct store_object *out)
{
        static const char meta[] = "x-goog-meta-";
        const char *name, *value;
        (void)k;

        *out = (struct store_object){.size = 0};
        for (size_t pos = 0; http_reply_next(rq, &pos, &name, &value);) {
                if (!strcmp(name, "content-length"))
                        out->size = strtoull(value, NULL, 10);
                else if (!strcmp(name, "x-goog-generation") && strlen(value) < sizeof out->etag)
                        memcpy(out->etag, value, strlen(value) + 1);
                else if (!strcmp(name, "last-modified"))
                        out->mtime_ns = s3_time_http(value);
                else if (!strcmp(name, "x-goog-hash"))
                        out->has_crc |= hash_crc(value, &out->crc32c);
                else if (!strncmp(name, meta, sizeof meta - 1))
                        store_meta_add(&out->meta, name + sizeof meta - 1, value);
        }
}
