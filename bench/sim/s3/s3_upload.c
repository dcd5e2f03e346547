/* SPDX-License-Identifier: Apache-2.0 */
/* s3_upload.c: multipart uploads. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/text/xml.h"
#include "bench/sim/s3/s3.h"
#include "base/banned.h"

bool s3_key_of_upload_is_missing(struct service *s, struct request *x)
{
        CLEANUP(object_unrefp) struct object *head = NULL;
        struct object_store_upload up = s3_upload(x);
        int err = object_store_upload_head(s->objects, &up, &head);

        if (err)
                s3_fail(x, err);
        else if (s3_has_algorithm(head))
                s3_key_is_missing(x, head, false);
        return x->status != 0;
}

void s3_upload_create(struct service *s, struct request *x)
{
        CLEANUP(object_unrefp) struct object *o = object_new(x->key);
        char id[UPLOAD_ID_MAX];
        struct buf *b = &x->body;

        if (!o) {
                s3_error(x, "InternalError");
                return;
        }
        if (s3_bad_metadata(s, x, o) || s3_bad_encryption(s, x, o))
                return;
        if (s3_bad_algorithm(s, x, o))
                return;
        int err = object_store_upload_create(s->objects, x->bucket, o, id);
        if (err) {
                s3_fail(x, err);
                return;
        }
        s3_encryption_headers(x, o);
        buf_adds(b, S3_XML_HEAD "<InitiateMultipartUploadResult" S3_XMLNS ">");
        s3_element(b, "Bucket", x->bucket);
        s3_element(b, "Key", x->key);
        s3_element(b, "UploadId", id);
        buf_adds(b, "</InitiateMultipartUploadResult>");
        s3_reply_xml(x);
}

void s3_upload_abort(struct service *s, struct request *x)
{
        struct object_store_upload up = s3_upload(x);
        int err = object_store_upload_abort(s->objects, &up);

        if (err)
                s3_fail(x, err);
        else
                s3_reply(x, 204);
}

/* The list of parts as it is read, put together as it grows. */
struct complete {
        struct service *s;
        struct object_store_upload up;
        struct object *o;
        unsigned nparts;
        long last_number, number; /* number: of the part that is being read */
        uint64_t last_size;
        char etag[ETAG_MAX + 2], crc[9], crc64[13];
        bool all_crc64;
        uint64_t whole_crc64;
        const char *code; /* of the error */
};

static int complete_leaf(void *arg, const char *path, const char *text)
{
        struct complete *c = arg;

        if (!strcmp(path, "CompleteMultipartUpload/Part/PartNumber")) {
                char *end;
                c->number = strtol(text, &end, 10);
                if (*end || end == text)
                        return -EINVAL;
        } else if (!strcmp(path, "CompleteMultipartUpload/Part/ETag")) {
                snprintf(c->etag, sizeof c->etag, "%s", text);
        } else if (!strcmp(path, "CompleteMultipartUpload/Part/ChecksumCRC32C")) {
                snprintf(c->crc, sizeof c->crc, "%s", text);
        } else if (!strcmp(path, "CompleteMultipartUpload/Part/ChecksumCRC64NVME")) {
                snprintf(c->crc64, sizeof c->crc64, "%s", text);
        }
        return 0;
}

/* The name of the error that this part calls for, or NULL. */
static const char *check_part(const struct complete *c, const struct object *part)
{
        char crc[9];

        if (!c->etag[0] || !object_matches(part, c->etag))
                return "InvalidPart";
        if (c->crc[0] && part->has_crc && !data_is_null(object_store_data(c->s->objects))) {
                crc32c_base64(part->crc, crc);
                if (strcmp(crc, c->crc))
                        return "InvalidPart";
        }
        if (c->crc64[0] && (!s3_crc64(part) || strcmp(s3_crc64(part), c->crc64)))
                return "InvalidPart";
        return c->nparts && c->last_size < S3_PART_MIN ? "EntityTooSmall" : NULL;
}

static int complete_end(void *arg, const char *path)
{
        CLEANUP(object_unrefp) struct object *part = NULL;
        struct complete *c = arg;

        if (strcmp(path, "CompleteMultipartUpload/Part"))
                return 0;
        /* AWS wants 1, 2, 3 ... in directory buckets, and in others when parts have checksums ("the
         * part numbers must be consecutive": CompletedPart). Here that holds for all: what goes
         * wrong there is not to pass because the server is this one. */
        if (c->number > VAULT_PARTS_MAX)
                c->code = "InvalidArgument";
        else if (c->number != c->last_number + 1)
                c->code = "InvalidPartOrder";
        if (c->code)
                return -EINVAL;
        int err = object_store_upload_part(c->s->objects, &c->up, (unsigned)c->number, &part);
        if (err == -ESRCH)
                c->code = "InvalidPart";
        if (err)
                return err;
        c->code = check_part(c, part);
        if (c->code)
                return -EINVAL;
        c->nparts++;
        c->last_number = c->number;
        c->last_size = part->size;
        c->number = 0;
        c->etag[0] = c->crc[0] = c->crc64[0] = 0;
        c->all_crc64 = c->all_crc64 && s3_add_crc64(part, &c->whole_crc64);
        return object_append(c->o, part, 0, part->size);
}

/* Whether the request's checksum of the whole object differs from that of the parts together. */
static bool differs(const struct request *x, const struct service *s, const struct object *o)
{
        const char *want = s3_in(x, "x-amz-checksum-crc32c"), *want64 = s3_in(x, S3_CRC64NVME);
        const char *type = s3_in(x, "x-amz-checksum-type"), *is64 = s3_crc64(o);
        char crc[9];

        if (want64)
                return is64 && strcmp(want64, is64);
        if (!want || !o->has_crc || data_is_null(object_store_data(s->objects)) ||
            (type && strcasecmp(type, "FULL_OBJECT")))
                return false;
        crc32c_base64(o->crc, crc);
        return strcmp(want, crc);
}

static void reply_complete(struct request *x, const struct object *o)
{
        struct buf *b = &x->body;
        const char *sent = s3_in(x, "x-amz-checksum-crc32c");

        buf_adds(b, S3_XML_SLOW "<CompleteMultipartUploadResult" S3_XMLNS ">");
        buf_adds(b, "<Location>http://");
        xml_escape(b, s3_in(x, "host"));
        xml_escape(b, x->rq.path);
        buf_adds(b, "</Location>");
        s3_element(b, "Bucket", x->bucket);
        s3_element(b, "Key", x->key);
        s3_element_etag(b, o);
        if (x->google) {
                s3_object_headers(x, o, false);
                s3_checksum_headers(x, o);
        } else if (o->has_crc) {
                if (sent)
                        s3_element(b, "ChecksumCRC32C", sent);
                else
                        s3_element_checksum(b, o);
                s3_element(b, "ChecksumType", "FULL_OBJECT");
        }
        buf_adds(b, "</CompleteMultipartUploadResult>");
        s3_encryption_headers(x, o);
        s3_reply_xml(x);
}

static bool is_of_other_type(struct service *s, struct request *x)
{
        CLEANUP(object_unrefp) struct object *head = NULL;
        struct object_store_upload up = s3_upload(x);

        return !object_store_upload_head(s->objects, &up, &head) && s3_bad_type(x, head);
}

static int record_algorithm(const struct complete *c)
{
        CLEANUP(object_unrefp) struct object *head = NULL;
        int err = object_store_upload_head(c->s->objects, &c->up, &head);

        return err ? err : s3_copy_algorithm(head, c->o);
}

void s3_upload_complete(struct service *s, struct request *x)
{
        CLEANUP(object_unrefp) struct object *o = object_new(NULL);
        struct complete c = {.s = s, .up = s3_upload(x), .o = o, .all_crc64 = true};
        struct xml_reader reader = {complete_leaf, complete_end, &c};
        const char *size = s3_in(x, "x-amz-mp-object-size");
        struct object_store_cond cond;

        if (s3_bad_digest(x))
                return;
        s3_cond(x, &cond);
        if (x->google && (cond.has || cond.if_match || cond.if_none_match)) {
                s3_refuse(x, 400, "InvalidArgument", "Completing takes no precondition.");
                return;
        }
        if (!o) {
                s3_fail(x, -ENOMEM);
                return;
        }
        if (s3_key_of_upload_is_missing(s, x) || is_of_other_type(s, x))
                return;
        int err = xml_read(x->text.p, x->text.len, &reader);
        if (!err && c.all_crc64)
                err = s3_set_crc64(o, c.whole_crc64);
        if (c.code) {
                s3_error(x, c.code);
        } else if (err == -EBADMSG || err == -EINVAL || (!err && !c.nparts)) {
                s3_error(x, "MalformedXML");
        } else if (!err && size && strtoull(size, NULL, 10) != o->size) {
                s3_error(x, "InvalidRequest");
        } else if (!err && differs(x, s, o)) {
                s3_error(x, "BadDigest");
        }
        if (x->status)
                return;
        if (!err)
                err = record_algorithm(&c);
        if (!err && s3_is_express(x))
                err = s3_sum_by_default(o);
        if (!err)
                err = object_store_upload_complete(s->objects, &c.up, o, c.nparts, !x->google,
                                                   &cond);
        if (err == -ENOENT && cond.if_match) {
                s3_error(x, "NoSuchKey");
        } else if (err) {
                s3_fail(x, err);
        } else {
                s3_version_header(s, x, o);
                reply_complete(x, o);
        }
}
