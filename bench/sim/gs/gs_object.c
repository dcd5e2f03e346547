/* SPDX-License-Identifier: Apache-2.0 */
/* gs_object.c: objects as they are, and buckets. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/text/json.h"
#include "bench/sim/gs/gs.h"
#include "base/banned.h"

int64_t gs_number(struct request *x, const char *name, int64_t other)
{
        const char *text = request_query(x, name);
        char *end;

        if (!text)
                return other;
        errno = 0;
        long long n = strtoll(text, &end, 10);
        if (*text >= '0' && *text <= '9' && !*end && !errno)
                return n;
        gs_refuse(x, 400, "invalidParameter", "A parameter is no number.");
        return -1;
}

bool gs_bad_cond(struct request *x, const char *prefix, struct object_store_cond *cond)
{
        const struct {
                const char *name;
                unsigned bit;
                int64_t *to;
        } numbers[] = {{"GenerationMatch", VAULT_GEN, &cond->gen},
                       {"GenerationNotMatch", VAULT_GEN_NOT, &cond->gen_not},
                       {"MetagenerationMatch", VAULT_META, &cond->meta},
                       {"MetagenerationNotMatch", VAULT_META_NOT, &cond->meta_not}};
        char name[64];

        *cond = (struct object_store_cond){.has = 0};
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
                snprintf(name, sizeof name, "%s%s", prefix, numbers[i].name);
                if (!request_query(x, name))
                        continue;
                cond->has |= numbers[i].bit;
                *numbers[i].to = gs_number(x, name, 0);
        }
        return x->status != 0;
}

struct object *gs_find(struct service *s, struct request *x, const char *bucket, const char *key,
                       int64_t gen, const struct object_store_cond *cond, bool reading)
{
        CLEANUP(object_unrefp) struct object *o = NULL;

        if (x->status)
                return NULL;
        int err = gen >= 0 ? object_store_get_version(s->objects, bucket, key, gen, &o)
                           : object_store_get(s->objects, bucket, key, &o);
        if (!err)
                err = object_store_check(o, cond);
        if (err == -EALREADY && reading)
                gs_refuse(x, 304, NULL, NULL);
        else if (err)
                gs_fail(x, err);
        return err ? NULL : TAKE_PTR(o);
}

/* The generation that is asked for, -1 for the present one, which some clients call 0. */
static int64_t generation_of(struct request *x)
{
        int64_t gen = gs_number(x, "generation", -1);

        return gen ? gen : -1;
}

static struct object *find_to_read(struct service *s, struct request *x)
{
        struct object_store_cond cond;

        if (gs_bad_cond(x, "if", &cond))
                return NULL;
        return gs_find(s, x, x->bucket, x->key, generation_of(x), &cond, true);
}

void gs_get(struct service *s, struct request *x)
{
        CLEANUP(object_unrefp) struct object *o = find_to_read(s, x);

        bool missing;

        if (!o || gs_key_is_wrong(x, o, false, &missing))
                return;
        if (missing) { /* its checksums are not told */
                CLEANUP(object_unrefp) struct object *bare = object_clone(o, o->key);
                if (bare)
                        bare->has_crc = false;
                gs_reply_object(x, bare ? bare : o, NULL);
        } else {
                gs_reply_object(x, o, NULL);
        }
}

bool gs_unpacks(const struct request *x, const struct object *o)
{
        const char *coding = object_meta(o, "content-encoding");
        const char *cache = object_meta(o, "cache-control");
        const char *accepts = http_header(&x->rq, "accept-encoding");

        return coding && !strcasecmp(coding, "gzip") && !(accepts && strcasestr(accepts, "gzip")) &&
               !(cache && strcasestr(cache, "no-transform"));
}

void gs_media(struct service *s, struct request *x)
{
        CLEANUP(object_unrefp) struct object *o = find_to_read(s, x);
        const char *type;
        char crc[9];

        if (!o || gs_key_is_missing(x, o, false))
                return;
        if (gs_unpacks(x, o)) {
                gs_refuse(x, 501, NULL, "Nothing is unpacked here: accept gzip.");
                return;
        }
        int ranged = request_range(x, o);
        if (ranged < 0) {
                gs_refuse(x, 416, NULL, NULL);
                request_range(x, o); /* the error began the headers anew */
                return;
        }
        type = object_meta(o, "content-type");
        request_header(x, "Content-Type", type ? type : "application/octet-stream");
        buf_addf(&x->headers,
                 "ETag: %s\r\nx-goog-generation: %" PRId64 "\r\nx-goog-metageneration: %u\r\n"
                 "x-goog-stored-content-length: %" PRIu64 "\r\n",
                 o->etag, o->generation, o->metageneration, o->size);
        if (object_meta(o, "content-encoding"))
                request_header(x, "Content-Encoding", object_meta(o, "content-encoding"));
        if (o->has_crc) {
                crc32c_base64(o->crc, crc);
                buf_addf(&x->headers, "x-goog-hash: crc32c=%s\r\n", crc);
        }
        x->object = TAKE_PTR(o);
        gs_reply(x, ranged ? 206 : 200);
}

void gs_delete(struct service *s, struct request *x)
{
        CLEANUP(object_unrefp) struct object *o = NULL;
        struct object_store_cond cond;
        int64_t gen = generation_of(x);

        if (x->status || gs_bad_cond(x, "if", &cond))
                return;
        if (gen >= 0) { /* that one or none */
                o = gs_find(s, x, x->bucket, x->key, -1, &cond, false);
                if (o && o->generation != gen)
                        gs_fail(x, -ENOENT);
                if (x->status)
                        return;
                cond.has |= VAULT_GEN;
                cond.gen = gen;
        }
        int err = object_store_delete(s->objects, x->bucket, x->key, &cond);
        if (err)
                gs_fail(x, err);
        else
                gs_reply(x, 204);
}

void gs_patch(struct service *s, struct request *x)
{
        CLEANUP(json_freep) struct json *resource = NULL;
        struct object_store_cond cond;
        int64_t gen = generation_of(x);
        int err = -ESTALE;

        if (x->status || gs_bad_cond(x, "if", &cond) ||
            gs_bad_json(x, x->text.p, x->text.len, &resource))
                return;
        /* Another change in between: once more, with what is there then. */
        while (err == -ESTALE) {
                CLEANUP(object_unrefp)
                struct object *o = gs_find(s, x, x->bucket, x->key, gen, &cond, false);
                if (!o)
                        return;
                CLEANUP(object_unrefp) struct object *next = object_clone(o, o->key);
                struct object_store_cond same = {.present = o};
                if (next && gs_bad_metadata(x, next, resource))
                        return;
                err = next ? object_store_update(s->objects, x->bucket, next, &same, true)
                           : -ENOMEM;
                if (!err)
                        gs_reply_object(x, next, NULL);
        }
        if (err)
                gs_fail(x, err);
}

/* --- buckets --- */

static void reply_bucket(struct service *s, struct request *x, const char *bucket)
{
        struct buf *b = &x->body;

        buf_adds(b, "{\"kind\":\"storage#bucket\",");
        gs_field(b, "id", bucket);
        gs_field(b, "name", bucket);
        gs_field(b, "projectNumber", "1");
        gs_field(b, "metageneration", "1");
        gs_field(b, "location", "US");
        gs_field(b, "storageClass", GS_DEFAULT_CLASS);
        gs_field(b, "timeCreated", "1970-01-01T00:00:00.000Z");
        buf_addf(b, "\"versioning\":{\"enabled\":%s},\"hierarchicalNamespace\":{\"enabled\":%s}}\n",
                 object_store_has_versions(s->objects) ? "true" : "false",
                 object_store_has_folders(s->objects) ? "true" : "false");
        gs_reply_json(x);
}

void gs_bucket_get(struct service *s, struct request *x)
{
        reply_bucket(s, x, x->bucket);
}

void gs_bucket_insert(struct service *s, struct request *x)
{
        CLEANUP(json_freep) struct json *resource = NULL;

        if (gs_bad_json(x, x->text.p, x->text.len, &resource))
                return;
        const char *name = json_string(json_get(resource, "name"), "");
        int err = object_store_add_bucket(s->objects, name);
        if (err)
                gs_fail(x, err);
        else
                reply_bucket(s, x, name);
}

void gs_bucket_delete(struct service *s, struct request *x)
{
        int err = object_store_remove_bucket(s->objects, x->bucket);

        if (err)
                gs_fail(x, err);
        else
                gs_reply(x, 204);
}

void gs_storage_layout(struct service *s, struct request *x)
{
        buf_adds(&x->body, "{\"kind\":\"storage#storageLayout\",");
        gs_field(&x->body, "bucket", x->bucket);
        buf_addf(&x->body,
                 "\"location\":\"US\",\"locationType\":\"%s\","
                 "\"hierarchicalNamespace\":{\"enabled\":%s}}\n",
                 s->gs->zonal ? "zone" : "multi-region",
                 object_store_has_folders(s->objects) ? "true" : "false");
        gs_reply_json(x);
}
