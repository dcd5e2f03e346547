/* SPDX-License-Identifier: Apache-2.0 */
/* s3_upload.c: multipart uploads but for their completion: create, parts, abort, list. */
#include "store/s3/s3.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/log.h"
#include "base/text/uri.h"
#include "store/core/store_int.h"
#include "base/banned.h"

/* op->stage of a create. */
enum { CREATE_BEGIN, CREATE_TAGS, CREATE_SEND };

/* A copy in one request has the tags of its source. In parts, they are asked for and told again;
 * directory buckets have none. */
static int ask_for_tags(struct store_kind *k, struct op *op)
{
        CLEANUP(s3_msg_release) struct s3_msg m = S3_MSG(HTTP_GET, op->src);

        op->stage = CREATE_TAGS;
        s3_query(&m, "tagging", "");
        return s3_send(k, op, &m);
}

struct tag_reader {
        struct s3_field *f; /* key, value */
        struct buf text;
};

static int tag_entry(void *arg, const char *path)
{
        struct tag_reader *r = arg;

        if (strcmp(path, "Tagging/TagSet/Tag"))
                return 0;
        if (r->text.len)
                buf_addc(&r->text, '&');
        uri_encode(&r->text, r->f[0].text.p, false);
        buf_addc(&r->text, '=');
        int err = uri_encode(&r->text, r->f[1].text.p, false);
        buf_reset(&r->f[0].text);
        buf_reset(&r->f[1].text);
        return err;
}

/* Who may not read the tags, or where there are none, gets a copy without. */
static int read_tags(struct store_kind *k, struct op *op)
{
        struct s3_field f[] = {{"Tagging/TagSet/Tag/Key", BUF_INIT},
                               {"Tagging/TagSet/Tag/Value", BUF_INIT}};
        struct tag_reader r = {.f = f, .text = BUF_INIT};
        bool ok = s3_ok(op) && !s3_is_error_body(op);

        int err = ok ? s3_read(op, f, 2, tag_entry, &r) : s3_fault(k, op);
        s3_fields_release(f, 2);
        if (!err && r.text.len && !(op->tags = buf_take(&r.text)))
                err = -ENOMEM;
        buf_release(&r.text);
        if (err > 0 || err == -ENOMEM)
                return err;
        if (err == -EACCES)
                log_warn_of(
                        LOG_ABOUT(.operation = "copy", .file = op->src,
                                  .remedy = "allow s3:GetObjectTagging"),
                        "store: the tags of %s cannot be read (%d %s), and its copy %s has none",
                        op->src, op->fault.status, op->fault.code, op->key);
        op->stage = CREATE_SEND;
        return OP_AGAIN;
}

int s3_create_build(struct store_kind *k, struct op *op)
{
        if (op->src && op->stage != CREATE_SEND && !k->session)
                return ask_for_tags(k, op);
        static const char *const algorithms[] = {
                [S3_SUM_CRC32C] = "CRC32C", [S3_SUM_CRC64NVME] = "CRC64NVME"};
        CLEANUP(s3_msg_release) struct s3_msg m = S3_MSG(HTTP_POST, op->key);
        s3_query(&m, "uploads", "");
        /* The vendor's store makes checksums of copied parts. Of others, MinIO (2025-09) refuses
         * the copy and versitygw (1.0) takes the checksum of the whole source for that of a range:
         * there, an upload that mixes has none, unless the user insists. */
        bool insists =
                k->checksums == STORE_CHECKSUMS_ALWAYS || k->checksums == STORE_CHECKSUMS_CRC64NVME;
        op->upload_sum = op->copying && k->endpoint && !insists ? S3_SUM_NONE : s3_sum(k, op);
        if (algorithms[op->upload_sum]) {
                s3_header(&m, "x-amz-checksum-algorithm", algorithms[op->upload_sum]);
                s3_header(&m, S3_CHECKSUM_TYPE, "FULL_OBJECT");
        }
        int err = s3_put_headers(k, &m, op, op->if_match);
        return err ? err : s3_send(k, op, &m);
}

int s3_create_parse(struct store_kind *k, struct op *op)
{
        struct s3_field f[] = {{"InitiateMultipartUploadResult/UploadId", BUF_INIT}};

        if (op->stage == CREATE_TAGS)
                return read_tags(k, op);
        if (!s3_ok(op) || s3_is_error_body(op))
                return s3_checksum_answer(k, op, s3_fault(k, op));
        s3_checksum_answer(k, op, 0);
        int err = s3_read(op, f, 1, NULL, NULL);
        if (!err && !f[0].text.len)
                err = -EBADMSG;
        if (!err && !(op->upload_id = buf_take(&f[0].text)))
                err = -ENOMEM;
        s3_fields_release(f, 1);
        if (!err)
                upload_say_twin(op, UPLOAD_TWIN_LISTED);
        return err ? s3_unreadable(op, err) : 0;
}

static void part_query(struct s3_msg *m, const struct op *op, char number[16])
{
        snprintf(number, 16, "%u", op->partno);
        s3_query(m, "partNumber", number);
        s3_query(m, "uploadId", op->id);
}

int s3_part_build(struct store_kind *k, struct op *op)
{
        CLEANUP(s3_msg_release) struct s3_msg m = S3_MSG(HTTP_PUT, op->key);
        char number[16];

        part_query(&m, op, number);
        m.data = true;
        int err = s3_sum_header(k, op, &m);
        return err ? err : s3_send(k, op, &m);
}

int s3_part_parse(struct store_kind *k, struct op *op)
{
        struct upload_part part = {
                .size = op->body.len,
                .crc32c = op->body.crc32c,
                .has_crc = op->sum == S3_SUM_CRC32C,
                .has_crc64 = op->sum == S3_SUM_CRC64NVME,
                .crc64nvme = op->sum64,
        };

        if (!s3_ok(op))
                return s3_checksum_answer(k, op, s3_fault(k, op));
        s3_checksum_answer(k, op, 0);
        s3_object(k, &op->rq, &op->obj);
        op->fault.status = op->rq.status;
        if (!*op->obj.etag) {
                snprintf(op->fault.message, sizeof op->fault.message, "a part without an ETag");
                return -EIO;
        }
        int err = s3_sum_differs(op);
        return err ? err : upload_note_part(op->up, op->partno, op->obj.etag, &part);
}

/* --- parts that are copied --- */

/* The vendor's servers copy a part of the version that is asked for, or none. What another server
 * does shows once, as in s3_copy.c: the first copy asks for a version that never was. A server that
 * copies it anyway is not asked that way again, and its source is looked at after each copy: if it
 * is the version still, then the bytes were that version's. A copy that it refuses may be of
 * another version, too, which is shorter. */

/* op->stage. */
enum {
        PART_BEGIN,
        PART_SEND,   /* of the version, if one is asked for */
        PART_PROBE,  /* of one that never was */
        PART_SOURCE, /* a head of the source, after the copy */
        PART_REFUSED /* the same after one that was refused */
};

bool s3_misreads(const struct store_kind *k, const char *key)
{
        return __atomic_load_n(&k->radosgw, __ATOMIC_RELAXED) && strchr(key, '%');
}

static int send_part_copy(struct store_kind *k, struct op *op)
{
        CLEANUP(s3_msg_release) struct s3_msg m = S3_MSG(HTTP_PUT, op->key);
        CLEANUP(buf_release) struct buf source = BUF_INIT;
        const char *version = op->stage == PART_PROBE ? S3_NO_VERSION : op->src_match;
        char number[16], range[64];

        part_query(&m, op, number);
        int err = s3_copy_source(k, &m, op, version, &source);
        if (err)
                return err;
        snprintf(range, sizeof range, "bytes=%" PRIu64 "-%" PRIu64, op->off, op->off + op->len - 1);
        s3_header(&m, "x-amz-copy-source-range", range);
        return s3_send(k, op, &m);
}

int s3_part_copy_build(struct store_kind *k, struct op *op)
{
        bool asks = op->src_match && s3_minds(k, S3_PART_IF) == S3_UNKNOWN;

        if (op->stage == PART_BEGIN)
                op->stage = asks ? PART_PROBE : PART_SEND;
        return op->stage >= PART_SOURCE ? s3_head(k, op, op->src) : send_part_copy(k, op);
}

/* S3Proxy (3.0) replies as to the copy of an object. */
static int read_part_copy(struct op *op)
{
        struct s3_field f[] = {{"CopyPartResult/ETag", BUF_INIT},
                               {"CopyPartResult/ChecksumCRC32C", BUF_INIT},
                               {"CopyPartResult/ChecksumCRC64NVME", BUF_INIT},
                               {"CopyObjectResult/ETag", BUF_INIT}};
        struct upload_part part = {.size = op->len};
        char etag[STORE_ETAG_MAX];

        int err = s3_read(op, f, 4, NULL, NULL);
        s3_etag(f[f[0].text.len ? 0 : 3].text.p, etag);
        if (op->up->sum == S3_SUM_CRC64NVME)
                part.has_crc64 = s3_crc64(f[2].text.p, &part.crc64nvme);
        else if (op->up->sum != S3_SUM_NONE)
                part.has_crc = s3_crc(f[1].text.p, &part.crc32c);
        s3_fields_release(f, 4);
        if (!err && !*etag)
                err = -EBADMSG;
        return err ? s3_unreadable(op, err) : upload_note_part(op->up, op->partno, etag, &part);
}

/* The reply to a head of the source. */
static int sourced(struct store_kind *k, struct op *op)
{
        struct store_object found;

        int err = s3_head_reply(k, op, &found);
        if (err)
                return err == -ENOENT ? -ESTALE : err;
        if (strcmp(found.etag, op->src_match))
                return -ESTALE;
        return op->stage == PART_SOURCE ? 0 : op_refusal(op);
}

static int part_refused(struct store_kind *k, struct op *op)
{
        int err = s3_fault(k, op);

        if (s3_without_foreign(k, op, err))
                return OP_AGAIN;
        if (op->stage == PART_PROBE && !strcmp(op->fault.code, "PreconditionFailed")) {
                s3_learn(k, S3_PART_IF, S3_HONORS);
                op->stage = PART_SEND;
                return OP_AGAIN;
        }
        if (err != -EIO || !op->src_match || s3_minds(k, S3_PART_IF) == S3_HONORS)
                return err;
        op->verify_err = err;
        op->refused = op->fault;
        op->refused.status = op->rq.status;
        op->stage = PART_REFUSED;
        return OP_AGAIN;
}

int s3_part_copy_parse(struct store_kind *k, struct op *op)
{
        if (op->stage >= PART_SOURCE)
                return sourced(k, op);
        if (!s3_ok(op) || s3_is_error_body(op))
                return part_refused(k, op);
        int err = read_part_copy(op);
        if (err)
                return err;
        if (op->stage == PART_PROBE)
                s3_learn(k, S3_PART_IF, S3_IGNORES);
        if (!op->src_match || s3_minds(k, S3_PART_IF) != S3_IGNORES)
                return 0;
        op->stage = PART_SOURCE;
        return OP_AGAIN;
}

int s3_abort_build(struct store_kind *k, struct op *op)
{
        CLEANUP(s3_msg_release) struct s3_msg m = S3_MSG(HTTP_DELETE, op->key);
        s3_query(&m, "uploadId", op->id);
        return s3_send(k, op, &m);
}

int s3_abort_parse(struct store_kind *k, struct op *op)
{
        return s3_gone(k, op); /* one that is gone is a success, too */
}

/* --- the parts the server holds --- */

int s3_parts_build(struct store_kind *k, struct op *op)
{
        CLEANUP(s3_msg_release) struct s3_msg m = S3_MSG(HTTP_GET, op->key);
        s3_query(&m, "uploadId", op->id);
        s3_query(&m, "max-parts", "1000");
        if (op->marker)
                s3_query(&m, "part-number-marker", op->marker);
        return s3_send(k, op, &m);
}

int s3_parts_parse(struct store_kind *k, struct op *op)
{
        return s3_ok(op) && !s3_is_error_body(op) ? s3_read_parts(op) : s3_fault(k, op);
}
