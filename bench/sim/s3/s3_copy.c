/* SPDX-License-Identifier: Apache-2.0 */
/* s3_copy.c: server-side copies. They share the bytes with their source. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "bench/sim/s3/s3.h"
#include "base/banned.h"

/* "You must use IAM credentials to authenticate and authorize your access to the CopyObject API
 * operation, instead of using the temporary security credentials through the CreateSession API
 * operation" (API reference; the same of UploadPartCopy). */
static bool by_session(struct request *x)
{
        if (!s3_is_express(x) || !s3_in(x, "x-amz-s3session-token"))
                return false;
        s3_refuse(x, 403, "AccessDenied", "Copies are not signed with the keys of a session.");
        return true;
}

/* Splits a decoded x-amz-copy-source: "bucket/key", or "For objects accessed through access points
 * [...] arn:aws:s3:<Region>:<account-id>:accesspoint/<access-point-name>/object/<key>" (API
 * reference, CopyObject). */
static bool split_source(const struct service *s, char *text, const char **bucket, const char **key)
{
        static const char type[] = ":" S3_OWNER ":accesspoint/", object[] = "/object/";

        if (strncmp(text, "arn:", 4)) {
                char *slash = strchr(text += *text == '/', '/');
                if (!slash)
                        return false;
                *slash = 0;
                *bucket = text;
                *key = slash + 1;
                return true;
        }
        const char *name = strstr(text, type);
        name = name ? name + sizeof type - 1 : "";
        const char *at = strstr(name, object);
        *bucket = at ? s3_access_point(s, name, (size_t)(at - name)) : NULL;
        *key = at ? at + sizeof object - 1 : NULL;
        return *bucket;
}

/* The object that x-amz-copy-source names. Sets the reply and returns NULL when it cannot be
 * copied. */
static struct object *find_source(struct service *s, struct request *x)
{
        CLEANUP(freep) char *text = strdup(s3_in(x, "x-amz-copy-source"));
        CLEANUP(object_unrefp) struct object *o = NULL;

        if (by_session(x))
                return NULL;
        if (!text) {
                s3_error(x, "InternalError");
                return NULL;
        }
        const char *bucket, *key;
        bool query = strchr(text, '?');
        if (query || uri_decode(text, false) < 0 || !split_source(s, text, &bucket, &key)) {
                s3_error(x, query ? "NotImplemented" : "InvalidArgument");
                return NULL;
        }
        int err = object_store_get(s->objects, bucket, key, &o);
        if (err) {
                s3_error(x, err == -ENOENT ? "NoSuchKey" : "NoSuchBucket");
                return NULL;
        }
        const char *match = s3_in(x, "x-amz-copy-source-if-match");
        const char *none = s3_in(x, "x-amz-copy-source-if-none-match");
        const char *generation = s3_in(x, "x-amz-copy-source-if-generation-match");
        const char *metageneration = s3_in(x, "x-amz-copy-source-if-metageneration-match");
        bool gone = generation && strtoll(generation, NULL, 10) != o->generation;
        if (x->google &&
            (gone || (metageneration && strtoull(metageneration, NULL, 10) != o->metageneration))) {
                s3_error(x, "PreconditionFailed");
                return NULL;
        }
        bool other = match && !object_matches(o, match);
        if (other || (none && object_matches(o, none))) {
                s3_error_with(x, "PreconditionFailed", "Condition",
                              other ? "x-amz-copy-source-If-Match"
                                    : "x-amz-copy-source-If-None-Match");
                return NULL;
        }
        if (s3_key_is_missing(x, o, true) || s3_is_archived(s, x, o, true))
                return NULL;
        return TAKE_PTR(o);
}

/* head: the upload that o is a part of, or NULL. */
static void reply_copy(struct request *x, const char *name, const struct object *o,
                       const struct object *head)
{
        struct buf *b = &x->body;

        buf_addf(b, S3_XML_SLOW "<%s" S3_XMLNS ">", name);
        s3_element_time(x, b, "LastModified", o->mtime_ns);
        s3_element_etag(b, o);
        if (head && s3_has_algorithm(head))
                s3_element_checksum(b, o);
        buf_addf(b, "</%s>", name);
        s3_encryption_headers(x, o);
        if (x->google)
                s3_object_headers(x, o, false);
        s3_reply_xml(x);
}

/* "Copies the object only if the object key name at the destination does not already exist [...]
 * Expects the '*' (asterisk) character" (API reference, CopyObject). Servers of others ignore or
 * refuse the headers. True when the reply is set to an error. */
static bool bad_condition(const struct service *s, struct request *x,
                          struct object_store_cond *cond)
{
        s3_cond(x, cond);
        bool given = cond->if_match || cond->if_none_match;
        if (x->google || !given)
                return false;
        if (s->s3->copy_if == IF_IGNORED)
                cond->if_match = cond->if_none_match = NULL;
        bool odd = cond->if_none_match && strcmp(cond->if_none_match, "*");
        if (odd || s->s3->copy_if == IF_REFUSED)
                s3_error(x, "NotImplemented");
        return x->status != 0;
}

/* The storage class of a copy is what the request says, and so is where a website redirects, which
 * "is not copied when using the x-amz-metadata-directive"; its tags are those of the source, unless
 * x-amz-tagging-directive is REPLACE (API reference, CopyObject). */
static int copy_tags(const struct request *x, struct object *o, const struct object *from)
{
        const char *directive = s3_in(x, S3_TAGGING "-directive");
        const char *tags = object_meta(from, S3_TAGGING);

        if (directive && !strcasecmp(directive, "REPLACE"))
                return 0;
        object_meta_remove(o, S3_TAGGING);
        return tags ? object_meta_add(o, S3_TAGGING, tags) : 0;
}

/* "This copy request is illegal because it is trying to copy an object to itself without changing
 * the object's metadata, storage class, website redirect location or encryption attributes" (the
 * vendor's reply). */
static bool changes_nothing(const struct service *s, const struct request *x,
                            const struct object *from)
{
        static const char *const changes[] = {S3_CLASS, S3_REDIRECT, "x-amz-server-side-encryption",
                                              "x-amz-server-side-encryption-customer-algorithm",
                                              "x-amz-checksum-algorithm"};
        static const char *const directives[] = {"x-amz-metadata-directive",
                                                 S3_TAGGING "-directive"};
        CLEANUP(object_unrefp) struct object *to = NULL;

        for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
                if (s3_in(x, changes[i]))
                        return false;
        for (size_t i = 0; i < sizeof directives / sizeof *directives; i++) {
                const char *directive = s3_in(x, directives[i]);
                if (directive && !strcasecmp(directive, "REPLACE"))
                        return false;
        }
        return !x->google && !object_store_get(s->objects, x->bucket, x->key, &to) && to == from;
}

/* Tags that are copied are read and put, which has permissions of its own. */
static bool lacks_tagging(const struct service *s, struct request *x, const struct object *from)
{
        static const char *const names[] = {"s3:GetObjectTagging", "s3:PutObjectTagging"};
        const char *directive = s3_in(x, S3_TAGGING "-directive");
        bool copies = !directive || strcasecmp(directive, "REPLACE");

        if (x->google || !copies || !object_meta(from, S3_TAGGING))
                return false;
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
                if (permission_denied(s, names[i])) {
                        s3_deny(x, names[i]);
                        return true;
                }
        return false;
}

void s3_copy(struct service *s, struct request *x)
{
        CLEANUP(object_unrefp) struct object *from = find_source(s, x);
        CLEANUP(object_unrefp) struct object *o = object_new(x->key);
        const char *directive = s3_in(x, "x-amz-metadata-directive");
        bool replace = directive && !strcasecmp(directive, "REPLACE");
        struct object_store_cond cond;

        if (!from || lacks_tagging(s, x, from) || bad_condition(s, x, &cond))
                return;
        if (!o) {
                s3_error(x, "InternalError");
                return;
        }
        if (from->size > S3_PUT_MAX && !x->google) {
                s3_refuse(x, 400, "InvalidRequest",
                          "The source is larger than 5 GiB: copy it in parts.");
                return;
        }
        if (changes_nothing(s, x, from)) {
                s3_refuse(x, 400, "InvalidRequest",
                          "The copy of an object to itself has to change something.");
                return;
        }
        if (replace && s3_bad_metadata(s, x, o))
                return;
        int err = replace ? 0 : object_meta_copy(o, from);
        if (!err && !replace) {
                object_meta_remove(o, S3_CLASS);
                object_meta_remove(o, S3_TAGGING);
                object_meta_remove(o, S3_REDIRECT);
                if (!x->google && s3_bad_storage(s, x, o))
                        return;
        }
        if (!err)
                err = copy_tags(x, o, from);
        if (!err && s3_bad_encryption(s, x, o))
                return;
        if (!err)
                err = s3_copy_sums(from, o);
        if (!err)
                err = object_append(o, from, 0, from->size);
        if (s3_put_object(s, x, o, &cond, err))
                reply_copy(x, "CopyObjectResult", o, NULL);
}

/* The range to copy; the whole source when the request names none. "You can copy a range only if
 * the source object is greater than 5 MB" (API reference, UploadPartCopy). */
static bool bad_range(const struct service *s, struct request *x, const struct object *from,
                      uint64_t *off, uint64_t *len)
{
        const char *text = s3_in(x, "x-amz-copy-source-range");
        uint64_t last;
        char extra;

        *off = 0;
        *len = from->size;
        if (!text)
                return false;
        if (from->size <= S3_PART_MIN && !s->s3->radosgw) {
                s3_refuse(x, 400, "InvalidRequest",
                          "The specified copy source is not supported as a byte-range copy source");
                return true;
        }
        if (sscanf(text, "bytes=%" SCNu64 "-%" SCNu64 "%c", off, &last, &extra) != 2 ||
            last < *off || last >= from->size) {
                s3_error(x, "InvalidArgument");
                return true;
        }
        *len = last - *off + 1;
        return false;
}

void s3_part_copy(struct service *s, struct request *x)
{
        CLEANUP(object_unrefp) struct object *from = NULL, *head = NULL;
        CLEANUP(object_unrefp) struct object *o = object_new(NULL);
        struct object_store_upload up = s3_upload(x);
        uint64_t off, len;

        if (x->google) { /* the one part of S3's that the XML API has not */
                s3_error(x, "NotImplemented");
                return;
        }
        int err = o ? object_store_upload_head(s->objects, &up, &head) : -ENOMEM;
        if (err) {
                s3_fail(x, err);
                return;
        }
        if (!x->part) {
                s3_error(x, "InvalidArgument");
                return;
        }
        /* "This must be the same encryption key specified in the initiate multipart upload request"
         * (API reference, UploadPartCopy). */
        if (s3_key_is_missing(x, head, false))
                return;
        from = find_source(s, x);
        if (!from || bad_range(s, x, from, &off, &len))
                return;
        if (len > S3_PUT_MAX) {
                s3_error(x, "EntityTooLarge");
                return;
        }
        err = object_append(o, from, off, len);
        if (!err)
                err = s3_sum_copied_part(head, o);
        if (!err)
                err = object_store_upload_put(s->objects, &up, x->part, o);
        if (err)
                s3_fail(x, err);
        else
                reply_copy(x, "CopyPartResult", o, head);
}
