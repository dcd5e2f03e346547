/* SPDX-License-Identifier: Apache-2.0 */
/* gcs_reply.c: what GCS sends back: resources, and the headers of a body. */
#include "store/gcs/gcs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text/digits.h"
#include "base/banned.h"

/* Of what else a new version would lose, holds need no care: "While an object has a hold placed
 * on it, the object cannot be deleted or replaced" (Cloud Storage, "Object holds"). */
#define HEADER_FIELDS                                                                              \
        "contentType,cacheControl,contentDisposition,contentEncoding,contentLanguage,customTime"
const char gcs_fields[] = "name,size,generation,metageneration,timeCreated,crc32c,"
                          "metadata," HEADER_FIELDS;
const char gcs_page_fields[] = "nextPageToken,prefixes,"
                               "items(name,size,generation,metageneration,timeCreated,"
                               "metadata," HEADER_FIELDS ")";

/* Headers of an object, which a resource has as fields. */
static const struct {
        const char *header, *field;
} headers[] = {
        {":content-type", "contentType"},
        {":cache-control", "cacheControl"},
        {":content-disposition", "contentDisposition"},
        {":content-encoding", "contentEncoding"},
        {":content-language", "contentLanguage"},
        {":x-goog-custom-time", "customTime"},
};
enum { HEADERS = sizeof headers / sizeof *headers };

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

/* What this program gives an object. Names of others stay as they are. */
const char *const gcs_our_meta[GCS_OUR_META] = {
        "mode", "uid", "gid", "mtime", "atime", "ctime", "ckptfs-rdev", "xattr",
};

static bool is_ours(const char *name)
{
        for (size_t i = 0; i < GCS_OUR_META; i++)
                if (!strcmp(name, gcs_our_meta[i]))
                        return true;
        return false;
}

/* An upload's marker is no metadata to keep, nor what the vendor's testbench notes there. */
static bool is_note(const char *name)
{
        static const char emulator[] = "x_emulator_", testbench[] = "x_testbench_";
        return !strcmp(name, GCS_META_FOR) || !strncmp(name, emulator, sizeof emulator - 1) ||
               !strncmp(name, testbench, sizeof testbench - 1);
}

/* Adds the metadata that are ours, or the others. A name in JSON is of any characters; what would
 * name a header, or has no room, is missing. */
static void read_user(const struct json *meta, bool ours, struct store_meta *out)
{
        for (const struct json *v = json_first(meta); v; v = json_next(v)) {
                const char *name = json_name(v);
                if (is_ours(name) != ours || is_note(name))
                        continue;
                out->missing |= *name == ':' || !json_is_string(v) ||
                                store_meta_as_sent(out, name, json_string(v, "")) != 0;
        }
}

/* Ours first: what finds no room is not what files look like. */
static void read_meta(const struct json *resource, struct store_meta *out)
{
        const struct json *meta = json_get(resource, "metadata");

        if (json_is_object(meta)) {
                read_user(meta, true, out);
                read_user(meta, false, out);
        }
        for (size_t i = 0; i < HEADERS; i++) {
                const char *value = json_string(json_get(resource, headers[i].field), NULL);
                if (value)
                        out->missing |= s3_keep_header(out, headers[i].header + 1, value) != 0;
        }
}

/* 64 bits are written as a string of digits; a field that is not there is 0. */
static bool read_number(const struct json *field, uint64_t *out)
{
        return !digits_parse(json_string(field, field ? "" : "0"), out);
}

bool gcs_resource(const struct json *j, struct store_object *out)
{
        uint64_t generation;

        *out = (struct store_object){.size = 0};
        out->mtime_ns = s3_time_iso(json_string(json_get(j, "timeCreated"), ""));
        out->has_crc = s3_crc(json_string(json_get(j, "crc32c"), NULL), &out->crc32c);
        if (!*json_string(json_get(j, "name"), "") || !read_number(json_get(j, "size"), &out->size))
                return false;
        if (!read_number(json_get(j, "generation"), &generation) || !generation)
                return false;
        if (!read_number(json_get(j, "metageneration"), &out->meta.metageneration))
                return false;
        snprintf(out->etag, sizeof out->etag, "%" PRIu64, generation);
        read_meta(j, &out->meta);
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

static const char *field_of(const char *header)
{
        for (size_t i = 0; i < HEADERS; i++)
                if (!strcmp(headers[i].header, header))
                        return headers[i].field;
        return NULL;
}

int gcs_add_meta(struct json *to, const struct store_meta *meta, struct json **made)
{
        struct json *m = json_add_object(to, "metadata");
        const char *value, *name = NULL;
        int err = m ? 0 : -ENOMEM;

        if (made)
                *made = m;
        while (!err && meta && (name = store_meta_next(meta, name, &value))) {
                const char *field = field_of(name);
                if (field || *name != ':') /* S3's are not Google's */
                        err = json_add_string(field ? to : m, field ? field : name, value);
        }
        return err;
}

int gcs_add_type(struct json *to, const struct store_meta *meta)
{
        return meta && store_meta_get(meta, ":content-type")
                       ? 0
                       : json_add_string(to, "contentType", GCS_TYPE);
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
                        out->size = digits_size(value);
                else if (!strcmp(name, "x-goog-generation") && strlen(value) < sizeof out->etag)
                        memcpy(out->etag, value, strlen(value) + 1);
                else if (!strcmp(name, "x-goog-metageneration"))
                        (void)digits_parse(value,
                                           &out->meta.metageneration); /* unreadable: not told */
                else if (!strcmp(name, "last-modified"))
                        out->mtime_ns = s3_time_http(value);
                else if (!strcmp(name, "x-goog-hash"))
                        out->has_crc |= hash_crc(value, &out->crc32c);
                else if (!strncmp(name, meta, sizeof meta - 1))
                        out->meta.missing |=
                                !gcs_is_header_text(value) ||
                                meta_add_user(&out->meta, name + sizeof meta - 1, value) != 0;
        }
}
