/* SPDX-License-Identifier: Apache-2.0 */
/* gs_resource.c: objects as JSON, both ways. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/text/json.h"
#include "base/text/uri.h"
#include "bench/sim/gs/gs.h"
#include "base/banned.h"

/* The resource's fields that are kept as headers. */
static const char *const fields[][2] = {
        {"content-type", "contentType"},
        {"content-encoding", "contentEncoding"},
        {"content-disposition", "contentDisposition"},
        {"content-language", "contentLanguage"},
        {"cache-control", "cacheControl"},
        {"x-goog-custom-time", "customTime"},
        {"x-goog-encryption-kms-key-name", "kmsKeyName"},
        {GS_CLASS, "storageClass"},
};

static void add_metadata(struct buf *b, const struct object *o)
{
        size_t skip = strlen(GS_META), n = 0;

        for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
                const char *value = object_meta(o, fields[i][0]);
                if (value)
                        gs_field(b, fields[i][1], value);
        }
        for (const char *p = NULL; (p = object_meta_next(o, p));) {
                if (strncmp(p, GS_META, skip))
                        continue;
                if (!n++)
                        buf_adds(b, "\"metadata\":{");
                gs_field(b, p + skip, p + strlen(p) + 1);
        }
        if (!n)
                return;
        gs_end_list(b);
        buf_adds(b, "},");
}

/* Where clients get the bytes ("Media download link", Objects resource). */
static void add_link(struct request *x, const char *bucket, const struct object *o)
{
        CLEANUP(buf_release) struct buf link = BUF_INIT;
        const char *host = http_header(&x->rq, "Host");

        buf_addf(&link, "%s://%s/download/storage/v1/b/", x->by_tls ? "https" : "http",
                 host ? host : "localhost");
        uri_encode(&link, bucket, false);
        buf_adds(&link, "/o/");
        uri_encode(&link, o->key, false);
        buf_addf(&link, "?generation=%" PRIu64 "&alt=media", (uint64_t)o->generation);
        gs_field(&x->body, "mediaLink", link.p);
}

void gs_resource(struct request *x, const char *bucket, const struct object *o, const char *crc)
{
        struct buf *b = &x->body;
        char known[9];

        buf_adds(b, "{\"kind\":\"storage#object\",");
        gs_field(b, "name", o->key);
        gs_field(b, "bucket", bucket);
        gs_field_number(b, "generation", (uint64_t)o->generation);
        gs_field_number(b, "metageneration", o->metageneration);
        gs_field_number(b, "size", o->size);
        if (!object_meta(o, GS_CLASS))
                gs_field(b, "storageClass", GS_DEFAULT_CLASS);
        add_link(x, bucket, o);
        if (!crc && o->has_crc) {
                crc32c_base64(o->crc, known);
                crc = known;
        }
        if (crc)
                gs_field(b, "crc32c", crc);
        gs_field(b, "etag", o->etag);
        if (o->components)
                buf_addf(b, "\"componentCount\":%u,", o->components);
        add_metadata(b, o);
        gs_field_time(b, "timeCreated", o->created_ns);
        gs_field_time(b, "updated", o->mtime_ns);
        gs_end_list(b);
        buf_addc(b, '}');
}

void gs_reply_object(struct request *x, const struct object *o, const char *crc)
{
        gs_resource(x, x->bucket, o, crc);
        buf_addc(&x->body, '\n');
        gs_reply_json(x);
}

bool gs_bad_json(struct request *x, const char *text, size_t n, struct json **j)
{
        char why[256];

        *j = NULL;
        while (n && strchr(" \t\r\n", text[n - 1]))
                n--;
        if (!n || (n == 4 && !memcmp(text, "null", n))) /* which Google's client for Go sends */
                return false;
        int err = json_parse("body", text, n, j, why, sizeof why);
        if (!err && json_is_object(*j))
                return false;
        json_free(*j);
        *j = NULL;
        gs_refuse(x, 400, "parseError", err ? why : "The body is no JSON object.");
        return true;
}

/* Replaces one header; a value that is no string takes it away. */
static int set_header(struct object *o, const char *name, const struct json *value)
{
        object_meta_remove(o, name);
        return json_is_string(value) ? object_meta_add(o, name, json_string(value, "")) : 0;
}

static int set_metadata(struct object *o, const struct json *metadata)
{
        CLEANUP(buf_release) struct buf name = BUF_INIT;
        int err = 0;

        for (size_t i = 0; !err && i < json_count(metadata); i++) {
                const struct json *value = json_at(metadata, i);
                buf_reset(&name);
                err = buf_addf(&name, GS_META "%s", json_name(value));
                if (!err)
                        err = set_header(o, name.p, value);
        }
        return err;
}

/* Takes away all that the user has given names. */
static int drop_metadata(struct object *o)
{
        CLEANUP(buf_release) struct buf name = BUF_INIT;
        const char *n = NULL;
        int err = 0;

        while (!err && (n = object_meta_next(o, n))) {
                if (strncmp(n, GS_META, strlen(GS_META)))
                        continue;
                buf_reset(&name);
                err = buf_adds(&name, n);
                object_meta_remove(o, name.p);
                n = NULL; /* from the beginning */
        }
        return err;
}

bool gs_bad_metadata(struct request *x, struct object *o, const struct json *resource)
{
        const struct json *metadata = json_get(resource, "metadata");
        int err = 0;

        for (size_t i = 0; !err && i < sizeof fields / sizeof *fields; i++) {
                const struct json *value = json_get(resource, fields[i][1]);
                if (value)
                        err = set_header(o, fields[i][0], value);
        }
        if (!err && metadata)
                err = json_is_object(metadata) ? set_metadata(o, metadata) : drop_metadata(o);
        size_t user = 0;
        for (const char *n = NULL; (n = object_meta_next(o, n));)
                if (!strncmp(n, GS_META, strlen(GS_META)))
                        user += strlen(n) - strlen(GS_META) + strlen(n + strlen(n) + 1);
        if (err)
                gs_fail(x, err);
        else if (user > GS_META_MAX)
                gs_refuse(x, 400, "invalid", "The metadata is larger than 8 KiB.");
        return x->status != 0;
}
