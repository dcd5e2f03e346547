/* SPDX-License-Identifier: Apache-2.0 */
/* s3_object.c: operations on objects. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/text/utf8.h"
#include "base/text/xml.h"
#include "bench/sim/gs/gs.h"
#include "bench/sim/s3/s3.h"
#include "base/banned.h"

/* The headers that are given back with the object, beside x-amz-meta-*; and Content-Encoding. */
static const char *const stored_headers[] = {
        "content-type",  "content-language", "content-disposition",
        "cache-control", "expires",          "x-goog-encryption-kms-key-name"};

static bool is_stored_header(const char *name)
{
        for (size_t i = 0; i < sizeof stored_headers / sizeof *stored_headers; i++)
                if (!strcasecmp(stored_headers[i], name))
                        return true;
        return false;
}

/* The coding is the object's, but for aws-chunked, which is the request's. */
static int add_encoding(struct object *o, const char *value)
{
        static const char framing[] = "aws-chunked";

        if (!strncasecmp(value, framing, sizeof framing - 1)) {
                value += sizeof framing - 1;
                value += strspn(value, ", ");
        }
        return *value ? object_meta_add(o, "content-encoding", value) : 0;
}

enum { TAGS_MAX = 10 };

/* "Directory buckets only support EXPRESS_ONEZONE [...] in Availability Zones and ONEZONE_IA [...]
 * in Dedicated Local Zones" (API reference, PutObject). */
static bool is_class(const struct service *s, const struct request *x, const char *class)
{
        static const char *const classes[] = {
                "STANDARD",   "REDUCED_REDUNDANCY",  "STANDARD_IA", "ONEZONE_IA",
                "GLACIER_IR", "INTELLIGENT_TIERING", "GLACIER",     "DEEP_ARCHIVE"};

        if (s3_is_express(x))
                return !strcmp(class, s->s3->local_zone ? "ONEZONE_IA" : "EXPRESS_ONEZONE");
        for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
                if (!strcmp(classes[i], class))
                        return true;
        return false;
}

static bool is_place(const char *redirect)
{
        return *redirect == '/' || !strncmp(redirect, "http://", 7) ||
               !strncmp(redirect, "https://", 8);
}

bool s3_bad_storage(const struct service *s, struct request *x, struct object *o)
{
        const char *class = s3_in(x, S3_CLASS), *tags = s3_in(x, S3_TAGGING);
        const char *redirect = s3_in(x, S3_REDIRECT);
        unsigned n = 1;

        for (const char *p = tags; p && (p = strchr(p, '&')); p++)
                n++;
        if (class && !is_class(s, x, class))
                s3_refuse(x, 400, "InvalidStorageClass", "The storage class is not valid.");
        else if ((tags || redirect) && s3_is_express(x))
                s3_error(x, "NotImplemented");
        else if (tags && n > TAGS_MAX)
                s3_refuse(x, 400, "BadRequest", "Object tags cannot be greater than 10.");
        else if (redirect && !is_place(redirect))
                s3_refuse(x, 400, "InvalidRedirectLocation",
                          "The website redirect location must have a prefix of 'http://' or "
                          "'https://' or '/'.");
        else if ((class && strcmp(class, "STANDARD") && object_meta_add(o, S3_CLASS, class)) ||
                 (tags && object_meta_add(o, S3_TAGGING, tags)) ||
                 (redirect && object_meta_add(o, S3_REDIRECT, redirect)))
                s3_error(x, "InternalError");
        return x->status != 0;
}

/* "Non-ascii characters [...] are not permitted in HTTP headers, which the XML API uses" (Google
 * Cloud Storage, "Object metadata"). */
static bool is_ascii(const char *value)
{
        for (; *value; value++)
                if (*value < ' ' || *value > '~')
                        return false;
        return true;
}

bool s3_bad_metadata(const struct service *s, struct request *x, struct object *o)
{
        const char *prefix = x->google ? GS_META : S3_META;
        size_t user = 0, nprefix = strlen(prefix);
        int err = 0;

        for (unsigned i = 0; !err && i < x->rq.nheaders; i++) {
                const struct http_header *h = &x->rq.headers[i];
                bool is_user = !strncasecmp(h->name, prefix, nprefix);
                if (x->google && (is_user || is_stored_header(h->name)) && !is_ascii(h->value)) {
                        s3_error(x, "InvalidArgument");
                        return true;
                }
                if (is_user)
                        user += strlen(h->name) - nprefix + strlen(h->value);
                if (is_user || is_stored_header(h->name))
                        err = object_meta_add_header(o, h->name, h->value);
                else if (!strcasecmp(h->name, "content-encoding"))
                        err = add_encoding(o, h->value);
        }
        if (err)
                s3_fail(x, err);
        else if (user > (x->google ? GS_META_MAX : S3_META_MAX))
                s3_error(x, "MetadataTooLarge");
        return x->status != 0 || (!x->google && s3_bad_storage(s, x, o));
}

/* True when the reply is set to an error. Of a body in chunks it is known at the end. */
static bool is_too_large(struct request *x)
{
        if (x->rq.body_len > S3_PUT_MAX)
                s3_error(x, "EntityTooLarge");
        return x->status != 0;
}

void s3_begin_put(struct service *s, struct request *x)
{
        if (is_too_large(x))
                return;
        int err = intake_begin(object_store_data(s->objects), x->bucket, &x->intake);
        if (err)
                s3_fail(x, err);
}

/* What PutObject and UploadPart answer: the digest that was sent, else the one that was computed.
 */
static void reply_put(struct request *x, const struct object *o)
{
        const char *sent = s3_sent_crc(x);

        s3_object_headers(x, o, false);
        s3_encryption_headers(x, o);
        if (sent && !x->google)
                s3_header(x, "x-amz-checksum-crc32c", sent);
        else if (s3_in(x, "x-goog-hash"))
                s3_header(x, "x-goog-hash", s3_in(x, "x-goog-hash"));
        else
                s3_checksum_headers(x, o);
        s3_reply(x, 200);
}

bool s3_put_object(struct service *s, struct request *x, struct object *o,
                   const struct object_store_cond *cond, int err)
{
        if (!err)
                err = object_store_put(s->objects, x->bucket, o, cond);
        if (err)
                s3_fail(x, err);
        else
                s3_version_header(s, x, o);
        return !err;
}

void s3_put(struct service *s, struct request *x)
{
        CLEANUP(object_unrefp) struct object *o = NULL;
        struct object_store_cond cond;

        if (is_too_large(x) || s3_bad_digest(x))
                return;
        int err = intake_finish(&x->intake, &o);
        if (!err)
                err = object_set_key(o, x->key);
        if (err) {
                s3_fail(x, err);
                return;
        }
        if (s3_bad_metadata(s, x, o) || s3_bad_encryption(s, x, o))
                return;
        if (s3_appends(x)) {
                s3_append(s, x, o);
                return;
        }
        s3_cond(x, &cond);
        err = s3_keep_crc64(x, o);
        if (!err && s3_is_express(x))
                err = s3_keep_algorithm(x, o);
        if (!err && s3_is_express(x))
                err = s3_sum_by_default(o);
        if (s3_put_object(s, x, o, &cond, err))
                reply_put(x, o);
}

void s3_begin_part(struct service *s, struct request *x)
{
        CLEANUP(object_unrefp) struct object *head = NULL;
        struct object_store_upload up = s3_upload(x);

        if (!x->part) {
                s3_error(x, "InvalidArgument");
                return;
        }
        int err = object_store_upload_head(s->objects, &up, &head);
        if (err)
                s3_fail(x, err);
        else if (!s3_key_is_missing(x, head, false) &&
                 (x->google || !s3_bad_part_checksum(x, head)))
                s3_begin_put(s, x);
}

void s3_part(struct service *s, struct request *x)
{
        CLEANUP(object_unrefp) struct object *o = NULL;
        struct object_store_upload up = s3_upload(x);

        if (is_too_large(x) || s3_bad_digest(x))
                return;
        int err = intake_finish(&x->intake, &o);
        if (!err)
                err = s3_keep_crc64(x, o);
        if (!err)
                err = object_store_upload_put(s->objects, &up, x->part, o);
        if (err)
                s3_fail(x, err);
        else
                reply_put(x, o);
}

/* True when If-Match or If-None-Match answers the request. */
static bool reading_is_off(struct request *x, const struct object *o)
{
        struct object_store_cond cond;

        s3_cond(x, &cond);
        int err = object_store_check(o, &cond);
        if (err == -EALREADY) {
                s3_error(x, "NotModified");
                s3_object_headers(x, o, false);
        } else if (err) {
                s3_error(x, "PreconditionFailed");
        }
        return x->status != 0;
}

/* "Part number of the object being read. [...] Effectively performs a 'ranged' GET request for the
 * part specified" (API reference, GetObject): an object that came as one has one. Where the parts
 * of others began is not kept. True when that answers the request. */
static bool part_is_off(struct request *x, const struct object *o)
{
        if (!request_query(x, "partNumber"))
                return false;
        if (x->google || strchr(o->etag, '-'))
                s3_refuse(x, 501, "NotImplemented", "Of what came in parts no part is read here.");
        else if (!x->part)
                s3_error(x, "InvalidArgument");
        else if (http_header(&x->rq, "range"))
                s3_refuse(x, 400, "InvalidRequest",
                          "Cannot specify both Range header and partNumber query parameter");
        else if (x->part > 1)
                s3_error(x, "InvalidPartNumber");
        return x->status != 0;
}

/* The range of the only part. */
static int only_part(struct request *x, const struct object *o)
{
        if (o->size)
                buf_addf(&x->headers, "Content-Range: bytes 0-%llu/%llu\r\n",
                         (unsigned long long)(o->size - 1), (unsigned long long)o->size);
        return o->size > 0;
}

/* HeadObject and GetObject. */
void s3_get(struct service *s, struct request *x)
{
        CLEANUP(object_unrefp) struct object *o = NULL;
        const char *mode = s3_in(x, "x-amz-checksum-mode");

        const char *generation = x->google ? request_query(x, "generation") : NULL;
        int err = generation ? object_store_get_version(s->objects, x->bucket, x->key,
                                                        strtoll(generation, NULL, 10), &o)
                             : s3_get_version(s, x, &o);
        /* "If the object that you request doesn't exist, the error that Amazon S3 returns depends
         * on whether you also have the s3:ListBucket permission": 403 without (GetObject). */
        if (err == -ENOENT && !x->google && permission_denied(s, "s3:ListBucket")) {
                s3_error(x, "AccessDenied");
                return;
        }
        if (err) {
                s3_fail(x, err);
                return;
        }
        if (s3_key_is_missing(x, o, false) || reading_is_off(x, o) || part_is_off(x, o))
                return;
        if (x->google && gs_unpacks(x, o)) {
                s3_refuse(x, 501, "NotImplemented", "Nothing is unpacked here: accept gzip.");
                return;
        }
        if (x->op[0] != 'H' && s3_is_archived(s, x, o, false))
                return;
        int ranged = request_range(x, o);
        if (ranged < 0) {
                s3_error(x, "InvalidRange");
                request_range(x, o); /* the error began the headers anew */
                return;
        }
        if (x->part)
                ranged = only_part(x, o);
        s3_object_headers(x, o, true);
        s3_version_header(s, x, o);
        s3_archive_headers(s, x, o);
        bool wanted = x->google || (mode && !strcasecmp(mode, "ENABLED"));
        if (wanted && (x->len == o->size || x->op[0] == 'H' || x->google))
                s3_checksum_headers(x, o);
        x->head_only = x->op[0] == 'H';
        x->object = TAKE_PTR(o);
        s3_reply(x, ranged ? 206 : 200);
}

/* "This operation is not supported for directory buckets" (API reference, GetObjectTagging). */
void s3_get_tagging(struct service *s, struct request *x)
{
        CLEANUP(object_unrefp) struct object *o = NULL;
        struct uri_pair tags[TAGS_MAX];

        int err = object_store_get(s->objects, x->bucket, x->key, &o);
        if (s3_is_express(x) || x->google || err) {
                if (s3_is_express(x) || x->google)
                        s3_error(x, "NotImplemented");
                else
                        s3_fail(x, err);
                return;
        }
        CLEANUP(freep)
        char *text = strdup(object_meta(o, S3_TAGGING) ? object_meta(o, S3_TAGGING) : "");
        int n = text ? uri_split_query(text, tags, TAGS_MAX) : -ENOMEM;
        if (n < 0) {
                s3_error(x, "InternalError");
                return;
        }
        buf_adds(&x->body, S3_XML_HEAD "<Tagging" S3_XMLNS "><TagSet>");
        for (int i = 0; i < n; i++) {
                buf_adds(&x->body, "<Tag>");
                s3_element(&x->body, "Key", tags[i].name);
                s3_element(&x->body, "Value", tags[i].value);
                buf_adds(&x->body, "</Tag>");
        }
        buf_adds(&x->body, "</TagSet></Tagging>");
        s3_reply_xml(x);
}

void s3_delete(struct service *s, struct request *x)
{
        struct object_store_cond cond;
        char id[S3_VERSION_MAX];

        if (s3_delete_version(s, x))
                return;
        s3_cond(x, &cond);
        int err = object_store_delete(s->objects, x->bucket, x->key, &cond);
        if (err && (err != -ENOENT || cond.if_match || x->google)) {
                s3_fail(x, err);
                return;
        }
        /* "Amazon S3 inserts a delete marker", also where nothing is. */
        if (s3_keeps_versions(s, x)) {
                s3_marker_id(s, id);
                s3_header(x, "x-amz-delete-marker", "true");
                s3_header(x, "x-amz-version-id", id);
        }
        s3_reply(x, 204);
}

struct delete_many {
        struct service *s;
        struct request *x;
        unsigned count;
        char *key, *version; /* of the object that is being read */
        bool quiet;
        struct buf out;
};

/* "For conditionally deleting multiple objects using the DeleteObjects operation, you must provide
 * the ETag value in the ETag element of the object in the XML request body" (user guide, "How to
 * perform conditional deletes"). */
static void delete_one(struct delete_many *d)
{
        /* "If you include VersionId, you target a specific version for deletion" (Google's XML API,
         * "Delete multiple objects"). */
        bool of_google = d->x->google && d->version;
        const struct object_store_cond cond = {.if_match = of_google ? NULL : d->version,
                                               .has = of_google ? VAULT_GEN : 0,
                                               .gen = of_google ? strtoll(d->version, NULL, 10)
                                                                : 0};
        const char *key = d->key ? d->key : "";
        struct fault f;

        fault_match(d->s->faults, "DeleteObjects.Key", d->x->bucket, key, 0, &f);
        const char *needs = d->x->google ? "storage.objects.delete" : "s3:DeleteObject";
        bool denied = permission_denied(d->s, needs) ||
                      (cond.if_match && permission_denied(d->s, "s3:GetObject"));
        bool fails = f.what == FAULT_STATUS; /* no other fault is one of a key */
        int err = fails    ? -EIO
                  : denied ? -EACCES
                           : object_store_delete(d->s->objects, d->x->bucket, key, &cond);
        bool gone = err == -ENOENT || (of_google && err == -ESTALE);
        if (err && (!gone || (d->version && !of_google))) {
                buf_adds(&d->out, "<Error>");
                s3_element(&d->out, "Key", key);
                s3_element(&d->out, "Code",
                           fails && f.code  ? f.code
                           : denied         ? "AccessDenied"
                           : err == -ESTALE ? "PreconditionFailed"
                           : err == -ENOENT ? "NoSuchKey"
                           : err == -EPERM  ? "RetentionPolicyNotMet"
                                            : "InternalError");
                s3_element(&d->out, "Message", fails && f.message ? f.message : strerror(-err));
                buf_adds(&d->out, "</Error>");
        } else if (!d->quiet) {
                buf_adds(&d->out, "<Deleted>");
                s3_element(&d->out, "Key", key);
                if (s3_keeps_versions(d->s, d->x)) {
                        char id[S3_VERSION_MAX];
                        s3_marker_id(d->s, id);
                        s3_element(&d->out, "DeleteMarker", "true");
                        s3_element(&d->out, "DeleteMarkerVersionId", id);
                }
                buf_adds(&d->out, "</Deleted>");
        }
        fault_release(&f);
}

/* "Object keys in DeleteObjects requests must contain at least one non-white space character", and
 * "cannot contain Unicode control characters, except for newline (\n), tab (\t), and carriage
 * return
 * (\r)" (user guide, "Differences for directory buckets"). */
static bool is_plain(const char *key)
{
        static const char blank[] = " \t\r\n";

        for (const char *p = key; *p; p++)
                if (utf8_control(p) && !strchr(blank, *p))
                        return false;
        return key[strspn(key, blank)];
}

/* First it is read without effect, so that a text that is refused has deleted nothing. */
static int count_leaf(void *arg, const char *path, const char *text)
{
        struct delete_many *d = arg;

        if (!strcmp(path, "Delete/Quiet"))
                d->quiet = !strcmp(text, "true");
        if (strcmp(path, "Delete/Object/Key"))
                return 0;
        d->count++;
        return s3_is_express(d->x) && !is_plain(text) ? -EBADMSG : 0;
}

static int delete_leaf(void *arg, const char *path, const char *text)
{
        struct delete_many *d = arg;
        const char *version = d->x->google        ? "Delete/Object/VersionId"
                              : d->s->s3->radosgw ? ""
                                                  : "Delete/Object/ETag";
        char **to = !strcmp(path, "Delete/Object/Key") ? &d->key
                    : !strcmp(path, version)           ? &d->version
                                                       : NULL;

        if (!to)
                return 0;
        free(*to);
        *to = strdup(text);
        return *to ? 0 : -ENOMEM;
}

static int delete_end(void *arg, const char *path)
{
        struct delete_many *d = arg;

        if (strcmp(path, "Delete/Object"))
                return 0;
        delete_one(d);
        free(TAKE_PTR(d->key));
        free(TAKE_PTR(d->version));
        return 0;
}

void s3_delete_many(struct service *s, struct request *x)
{
        struct delete_many d = {.s = s, .x = x, .out = BUF_INIT};
        struct xml_reader count = {.leaf = count_leaf, .arg = &d};
        struct xml_reader reader = {delete_leaf, delete_end, &d};

        if (s3_bad_digest(x))
                return;
        int err = xml_read(x->text.p, x->text.len, &count);
        if (err || !d.count || d.count > S3_DELETE_MAX) {
                s3_error(x, "MalformedXML");
                return;
        }
        err = xml_read(x->text.p, x->text.len, &reader);
        free(d.key);
        free(d.version);
        x->body.failed |= err == -ENOMEM;
        buf_adds(&x->body, S3_XML_HEAD "<DeleteResult" S3_XMLNS ">");
        buf_add(&x->body, d.out.p, d.out.len);
        buf_adds(&x->body, "</DeleteResult>");
        x->body.failed |= d.out.failed;
        buf_release(&d.out);
        s3_reply_xml(x);
}
