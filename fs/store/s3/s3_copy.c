/* SPDX-License-Identifier: Apache-2.0 */
/* s3_copy.c: copies of one object, and changes of metadata, which are copies of an object onto
 * itself.
 *
 * The vendor's server answers a copy of some GiB after minutes. One of more than COPY_MAX bytes is
 * copied in parts instead. The size is asked for first where the ETag does not tell that the object
 * was written by one request, as large ones are not. */
#include "store/s3/s3.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "store/s3/s3_etag.h"
#include "store/core/store_int.h"
#include "base/banned.h"

#define COPY_MAX (512ULL << 20) /* as copy_parts.c: a minute of a server that copies 10 MB/s */

/* op->stage, beside S3_VERIFY. */
enum {
        COPY_BEGIN,
        COPY_SIZE = S3_VERIFY + 1, /* a head of the source, before the copy */
        COPY_SEND,
        COPY_SOURCE /* a head of the source, after a copy whose reply was lost */
};

/* The vendor's words: "The specified copy source is larger than the maximum allowable size". */
static bool is_too_large(const struct op *op)
{
        return !strcmp(op->fault.code, "EntityTooLarge") ||
               (!strcmp(op->fault.code, "InvalidRequest") &&
                strstr(op->fault.message, "larger than"));
}

static bool may_be_large(const struct store_kind *k, const struct op *op)
{
        return !op->src_match || k->session || etag_parts(op->src_match);
}

static int send_copy(struct store_kind *k, struct op *op)
{
        CLEANUP(s3_msg_release) struct s3_msg m = S3_MSG(HTTP_PUT, op->key);
        CLEANUP(buf_release) struct buf source = BUF_INIT;

        int err = s3_copy_source(k, &m, op, &source);
        if (!err)
                err = s3_put_headers(&m, op);
        if (err)
                return err;
        s3_header(&m, "x-amz-metadata-directive", op->meta ? "REPLACE" : "COPY");
        return s3_send(k, op, &m);
}

int s3_copy_build(struct store_kind *k, struct op *op)
{
        if (op->stage == COPY_BEGIN)
                op->stage = may_be_large(k, op) ? COPY_SIZE : COPY_SEND;
        switch (op->stage) {
        case COPY_SIZE:
        case COPY_SOURCE:
                return s3_head(k, op, op->src);
        case S3_VERIFY:
                return s3_verify_build(k, op);
        default:
                return send_copy(k, op);
        }
}

/* The reply to a head of the source: op->expect is the version that is copied. */
static int read_source(struct store_kind *k, struct op *op)
{
        int err = s3_head_reply(k, op, &op->expect);
        if (err)
                return err;
        if (op->src_match && strcmp(op->src_match, op->expect.etag))
                return -ESTALE;
        return 0;
}

static int sized(struct store_kind *k, struct op *op)
{
        int err = read_source(k, op);
        if (err)
                return err;
        if (op->expect.size > COPY_MAX)
                return -EFBIG;
        op->stage = COPY_SEND;
        op->maybe_done = false;
        return OP_AGAIN;
}

/* Whether an object is the copy of op->expect: by its checksum; else by the ETag, which a copy
 * keeps when it is the MD5 of the bytes, and else by its size; and by the metadata. */
static int same_copy(struct op *op, const struct store_object *found)
{
        const struct store_kind *k = op->s->kind;
        const struct store_object *src = &op->expect;
        bool md5 = !k->session && !s3_opaque_etags(k) && !etag_parts(src->etag);

        if (found->size != src->size)
                return false;
        if (found->has_crc && src->has_crc && found->crc32c != src->crc32c)
                return false;
        if (!(found->has_crc && src->has_crc) && md5 && strcmp(found->etag, src->etag))
                return false;
        return meta_has_user(&found->meta, op->meta ? op->meta : &src->meta);
}

static int sourced(struct store_kind *k, struct op *op)
{
        int err = read_source(k, op);
        if (err > 0)
                return err;
        return err ? op->verify_err : s3_verify_begin(op, op->verify_err);
}

/* A condition that does not hold may be due to a try whose reply was lost. */
static int lost(struct op *op, int err)
{
        if (*op->expect.etag)
                return s3_verify_begin(op, err);
        op->stage = COPY_SOURCE;
        op->verify_err = err;
        return OP_AGAIN;
}

static int read_copy(struct op *op)
{
        struct s3_field f[] = {{"CopyObjectResult/ETag", BUF_INIT},
                               {"CopyObjectResult/LastModified", BUF_INIT},
                               {"CopyObjectResult/ChecksumCRC32C", BUF_INIT}};

        int err = s3_read(op, f, 3, NULL, NULL);
        if (!err && !f[0].text.len)
                err = -EBADMSG;
        if (!err) {
                s3_etag(f[0].text.p, op->obj.etag);
                op->obj.mtime_ns = s3_time_iso(f[1].text.p);
                op->obj.has_crc = s3_crc(f[2].text.p, &op->obj.crc32c);
        }
        s3_fields_release(f, 3);
        return err ? s3_unreadable(op, err) : 0;
}

/* The reply to the copy itself. */
static int copied(struct store_kind *k, struct op *op)
{
        if (s3_ok(op) && !s3_is_error_body(op))
                return read_copy(op);
        int err = s3_fault(k, op);
        return err == -EIO && is_too_large(op) ? -EFBIG : err;
}

static bool may_be_ours(const struct op *op, int err)
{
        return op->maybe_done && (err == -EEXIST || err == -ESTALE);
}

int s3_copy_parse(struct store_kind *k, struct op *op)
{
        if (op->stage == COPY_SIZE)
                return sized(k, op);
        if (op->stage == COPY_SOURCE)
                return sourced(k, op);
        if (op->stage == S3_VERIFY)
                return s3_verify_parse(k, op, same_copy);
        int err = copied(k, op);
        return may_be_ours(op, err) ? lost(op, err) : err;
}

/* --- metadata -----------------------------------------------------------------------------------
 */

static int same_meta(struct op *op, const struct store_object *found)
{
        return meta_has_all(&found->meta, op->meta);
}

int s3_set_meta_build(struct store_kind *k, struct op *op)
{
        return s3_copy_build(k, op);
}

int s3_set_meta_parse(struct store_kind *k, struct op *op)
{
        if (op->stage == COPY_SIZE)
                return sized(k, op);
        if (op->stage == S3_VERIFY)
                return s3_verify_parse(k, op, same_meta);
        int err = copied(k, op);
        return may_be_ours(op, err) ? s3_verify_begin(op, err) : err;
}
