/* SPDX-License-Identifier: Apache-2.0 */
/* s3_complete.c: makes the parts of an upload the object, and finds out whether an answer that got
 * lost was a yes. */
#include "store/s3/s3.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/text/xml.h"
#include "store/s3/s3_etag.h"
#include "store/core/store_int.h"
#include "base/banned.h"

enum { COMPLETE_LOOK = S3_VERIFY + 1 }; /* whether the upload is still there */

struct composer {
        struct op *op;
        struct etag_sum sum;
        bool bears, all_crc, all_crc64;
};

static int add_part(void *arg, unsigned partno, const struct upload_part *part)
{
        struct composer *c = arg;
        struct op *op = c->op;
        char crc[13];

        buf_addf(&op->text, "<Part><PartNumber>%u</PartNumber><ETag>", partno);
        xml_escape(&op->text, part->etag);
        buf_adds(&op->text, "</ETag>");
        if (part->has_crc && c->bears) {
                crc32c_base64(part->crc32c, crc);
                buf_addf(&op->text, "<ChecksumCRC32C>%s</ChecksumCRC32C>", crc);
        }
        if (part->has_crc64 && c->bears) {
                crc64nvme_base64(part->crc64nvme, crc);
                buf_addf(&op->text, "<ChecksumCRC64NVME>%s</ChecksumCRC64NVME>", crc);
        }
        buf_adds(&op->text, "</Part>");

        c->all_crc = c->all_crc && part->has_crc;
        c->all_crc64 = c->all_crc64 && part->has_crc64;
        op->expect.crc32c = crc32c_combine(op->expect.crc32c, part->crc32c, part->size);
        op->expect.crc64nvme = crc64nvme_combine(op->expect.crc64nvme, part->crc64nvme, part->size);
        op->expect.size += part->size;
        op->nparts++;
        op->gaps |= partno != op->nparts;
        etag_sum_add(&c->sum, part->etag);
        return op->text.failed ? -ENOMEM : 0;
}

/* Writes the body to op->text and what the object will be to op->expect. */
static int compose(struct op *op)
{
        enum s3_sum sum = s3_sum(op->s->kind, op);
        bool bears = sum == S3_SUM_CRC32C || sum == S3_SUM_CRC64NVME;
        struct composer c = {.op = op, .bears = bears, .all_crc = bears, .all_crc64 = bears};

        op->expect = (struct store_object){.size = 0};
        op->nparts = 0;
        op->gaps = false;
        buf_reset(&op->text);
        etag_sum_init(&c.sum);
        buf_adds(&op->text, "<CompleteMultipartUpload "
                            "xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">");
        int err = upload_each(op->up, add_part, &c);
        if (!err)
                err = buf_adds(&op->text, "</CompleteMultipartUpload>");
        op->expect.has_crc = c.all_crc;
        op->expect.has_crc64 = c.all_crc64;
        etag_sum_end(&c.sum, op->expect.etag);
        return err;
}

int s3_complete_build(struct store_kind *k, struct op *op)
{
        CLEANUP(s3_msg_release) struct s3_msg m = S3_MSG(HTTP_POST, op->key);
        char crc[13];

        if (op->stage == S3_VERIFY)
                return s3_verify_build(k, op);
        if (op->stage == COMPLETE_LOOK)
                return s3_parts_build(k, op);
        int err = op->text.len ? 0 : compose(op);
        if (!err)
                err = s3_put_headers(k, &m, op);
        if (err)
                return err;
        s3_query(&m, "uploadId", op->id);
        s3_header(&m, "Content-Type", "application/xml");
        if (op->expect.has_crc) {
                crc32c_base64(op->expect.crc32c, crc);
                s3_header(&m, S3_CRC32C, crc);
        } else if (op->expect.has_crc64) {
                crc64nvme_base64(op->expect.crc64nvme, crc);
                s3_header(&m, S3_CRC64NVME, crc);
        }
        if (op->expect.has_crc || op->expect.has_crc64)
                s3_header(&m, S3_CHECKSUM_TYPE, "FULL_OBJECT");
        m.xml = &op->text;
        return s3_send(k, op, &m);
}

/* By the checksum, else by the ETag that S3 makes of the parts' MD5 sums, else (parts whose ETags
 * are no MD5 sums) by size and number of parts. */
static int same_parts(struct op *op, const struct store_object *found)
{
        if (found->size != op->expect.size)
                return false;
        if (found->has_crc && op->expect.has_crc)
                return found->crc32c == op->expect.crc32c;
        if (found->has_crc64 && op->expect.has_crc64)
                return found->crc64nvme == op->expect.crc64nvme;
        if (*op->expect.etag && !found->opaque)
                return !strcmp(found->etag, op->expect.etag);
        return etag_parts(found->etag) == op->nparts;
}

/* The version before, or another host's, may have as many bytes in as many parts. */
static bool is_certain(const struct op *op, const struct store_object *found)
{
        return (found->has_crc && op->expect.has_crc) ||
               (found->has_crc64 && op->expect.has_crc64) || (*op->expect.etag && !found->opaque);
}

/* Nobody else completes the upload: one that is still there was refused, indeed. */
static int verified(struct store_kind *k, struct op *op)
{
        bool gone = op->refused.status == 404;

        int err = s3_verify_parse(k, op, same_parts);
        if (err || gone || !op->refused.status || is_certain(op, &op->obj))
                return err;
        op->stage = COMPLETE_LOOK;
        return OP_AGAIN;
}

static int looked(struct store_kind *k, struct op *op)
{
        if (s3_ok(op) && !s3_is_error_body(op))
                return op_refusal(op);
        int err = s3_fault(k, op);
        if (err > 0)
                return err;
        return err == -ENOENT ? 0 : op_refusal(op);
}

static bool may_be_ours(const struct op *op, int err)
{
        return op_may_be_ours(op, err) || (op->maybe_done && err == -ENOENT);
}

/* The answer if an upload that is gone was not made ours: after a conflict the other one won. */
static int not_ours(const struct op *op, int err)
{
        if (err != -ENOENT)
                return err;
        return !op->conflict ? upload_gone(op) : op->if_absent ? -EEXIST : -ESTALE;
}

/* "If a multipart upload request is completed with nonconsecutive part numbers, S3 generates an
 * HTTP 500 Internal Server Error" (user guide, "Checking object integrity for data uploads"): it
 * stays that. */
static int refused_for_gaps(struct op *op)
{
        snprintf(op->fault.message, sizeof op->fault.message,
                 "the numbers of the parts have gaps, which the server does not take");
        return -EIO;
}

int s3_complete_parse(struct store_kind *k, struct op *op)
{
        struct s3_field f[] = {{"CompleteMultipartUploadResult/ETag", BUF_INIT},
                               {"CompleteMultipartUploadResult/ChecksumCRC32C", BUF_INIT},
                               {"CompleteMultipartUploadResult/ChecksumType", BUF_INIT}};
        uint32_t crc;

        if (op->stage == S3_VERIFY)
                return verified(k, op);
        if (op->stage == COMPLETE_LOOK)
                return looked(k, op);
        if (!s3_ok(op) || s3_is_error_body(op)) {
                int err = s3_checksum_answer(k, op, s3_fault(k, op));
                if (err == OP_RETRY && op->rq.status == 500 && op->gaps)
                        return refused_for_gaps(op);
                op->conflict |= err == OP_RETRY && op->rq.status == 409;
                if (may_be_ours(op, err))
                        return s3_verify_begin(op, not_ours(op, err));
                return op->conflict ? not_ours(op, err) : err;
        }
        s3_checksum_answer(k, op, 0);
        int err = s3_read(op, f, 3, NULL, NULL);
        if (!err && !f[0].text.len)
                err = -EBADMSG;
        s3_etag(f[0].text.p, op->obj.etag);
        bool full = strcmp(f[2].text.p, "COMPOSITE") && s3_crc(f[1].text.p, &crc);
        s3_fields_release(f, 3);
        if (err)
                return s3_unreadable(op, err);
        op->obj.size = op->expect.size;
        op->obj.has_crc = full;
        op->obj.crc32c = full ? crc : 0;
        if (full && op->expect.has_crc && crc != op->expect.crc32c) {
                snprintf(op->fault.message, sizeof op->fault.message,
                         "CRC32C of the object is %08x, of its parts %08x", crc, op->expect.crc32c);
                return -EBADMSG;
        }
        return 0;
}
