/* SPDX-License-Identifier: Apache-2.0 */
/* s3_complete.c: makes the parts of an upload the object, and finds out whether an answer that got
 * lost was a yes.
 *
 * The vendor's servers honor If-None-Match and If-Match here, as in a put. What another server does
 * shows once, as in s3_copy.c: where a head found that the condition holds, the upload is completed
 * on the condition that the object is a version that never was. A server that honors conditions
 * refuses, and the upload is still there; another one has completed it. From then on the first kind
 * is sent the condition, and for the second kind a head of the name comes before each completion,
 * also before one that is sent again. That kind is sent the condition, too: it may honor one that
 * the probe was none for. */
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

/* op->stage, beside S3_VERIFY. */
enum {
        COMPLETE_BEGIN,
        COMPLETE_LOOK = S3_VERIFY + 1, /* whether the upload is still there */
        COMPLETE_NAME,                 /* a head of the name, before the completion */
        COMPLETE_NAME_AGAIN,           /* the same before one that is sent again */
        COMPLETE_SEND,                 /* with the condition, if there is one */
        COMPLETE_PROBE,                /* with one that never holds */
        COMPLETE_AFTER_LOOK,           /* with the condition, which the server may ignore */
        COMPLETE_REFUSED,              /* without the one that the server refused */
        COMPLETE_ETAG                  /* a head of what was made, whose reply told no ETag */
};

static bool has_condition(const struct op *op)
{
        return op->if_absent || op->if_match;
}

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

static void choose_stage(const struct store_kind *k, struct op *op)
{
        bool asks = has_condition(op) && s3_minds(k, S3_COMPLETE_IF) != S3_HONORS;

        if (op->stage == COMPLETE_BEGIN)
                op->stage = asks ? COMPLETE_NAME : COMPLETE_SEND;
        bool unguarded = op->stage >= COMPLETE_PROBE && op->stage <= COMPLETE_REFUSED;
        if (op->maybe_done && unguarded)
                op->stage = COMPLETE_NAME_AGAIN;
}

int s3_complete_build(struct store_kind *k, struct op *op)
{
        CLEANUP(s3_msg_release) struct s3_msg m = S3_MSG(HTTP_POST, op->key);
        char crc[13];

        choose_stage(k, op);
        switch (op->stage) {
        case S3_VERIFY:
                return s3_verify_build(k, op);
        case COMPLETE_LOOK:
                return s3_parts_build(k, op);
        case COMPLETE_NAME:
        case COMPLETE_NAME_AGAIN:
        case COMPLETE_ETAG:
                return s3_head_build(k, op);
        default:
                break;
        }
        int err = op->text.len ? 0 : compose(op);
        if (!err && op->stage == COMPLETE_PROBE)
                s3_header(&m, "If-Match", S3_NO_VERSION);
        else if (!err && op->stage != COMPLETE_REFUSED)
                err = s3_put_headers(k, &m, op, op->if_match);
        if (err)
                return err;
        op->rq.once = op->stage != COMPLETE_SEND;
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

static int lost_condition(const struct op *op)
{
        return op->if_absent ? -EEXIST : -ESTALE;
}

/* The answer if an upload that is gone was not made ours: after a conflict the other one won. */
static int not_ours(const struct op *op, int err)
{
        if (err != -ENOENT)
                return err;
        return op->conflict ? lost_condition(op) : upload_gone(op);
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

/* --- whether the server honors the condition --- */

static int go_on(struct op *op, int stage)
{
        op->stage = stage;
        op->maybe_done = false; /* the upload was not completed so far */
        return OP_AGAIN;
}

/* The reply to a head of the name. */
static int named(struct store_kind *k, struct op *op)
{
        struct store_object found;
        bool again = op->stage == COMPLETE_NAME_AGAIN;

        int err = s3_head_reply(k, op, &found);
        if (err < 0 && err != -ENOENT && !again) /* who may not look may complete */
                return go_on(op, COMPLETE_SEND);
        if (err && err != -ENOENT)
                return err;
        bool holds = op->if_absent ? err == -ENOENT : !err && !strcmp(found.etag, op->if_match);
        if (!holds) /* what was completed before its reply was lost has the name, too */
                return again ? s3_verify_begin(op, lost_condition(op)) : lost_condition(op);
        return go_on(op, s3_minds(k, S3_COMPLETE_IF) == S3_UNKNOWN ? COMPLETE_PROBE
                                                                   : COMPLETE_AFTER_LOOK);
}

/* Then it is completed without. */
static bool refuses_condition(const struct op *op, int err)
{
        bool bears = op->stage == COMPLETE_PROBE || op->stage == COMPLETE_AFTER_LOOK;
        return bears && s3_may_refuse_header(op, err);
}

/* What a server that completed nothing made of the condition. */
static int answered(struct store_kind *k, struct op *op, int err)
{
        bool holds_not = err == -EEXIST || err == -ESTALE || !strcmp(op->fault.code, "NoSuchKey");

        if (op->stage == COMPLETE_PROBE && holds_not) {
                s3_learn(k, S3_COMPLETE_IF, S3_HONORS);
                return go_on(op, COMPLETE_SEND);
        }
        if (err == -EOPNOTSUPP && op->stage == COMPLETE_SEND && has_condition(op) && k->endpoint) {
                s3_learn(k, S3_COMPLETE_IF, S3_IGNORES); /* it was thought to honor conditions */
                return go_on(op, COMPLETE_NAME);
        }
        return err;
}

/* --- the reply --- */

static int refused(struct store_kind *k, struct op *op)
{
        int err = s3_fault(k, op);

        if (refuses_condition(op, err)) /* before the checksum is taken for what it refuses */
                return go_on(op, COMPLETE_REFUSED);
        err = s3_checksum_answer(k, op, err);
        if (err == OP_RETRY && op->rq.status == 500 && op->gaps)
                return refused_for_gaps(op);
        op->conflict |= err == OP_RETRY && op->rq.status == 409;
        if (may_be_ours(op, err))
                return s3_verify_begin(op, not_ours(op, err));
        return op->conflict ? not_ours(op, err) : answered(k, op, err);
}

/* The reply to a head of what was made; another host may have replaced it since. */
static int read_etag(struct store_kind *k, struct op *op)
{
        struct store_object found;

        int err = s3_head_reply(k, op, &found);
        if (err > 0)
                return err;
        if (!err && same_parts(op, &found))
                op->obj = found;
        else
                memcpy(op->obj.etag, op->expect.etag, sizeof op->obj.etag);
        return *op->obj.etag ? 0 : err ? err : -EIO;
}

/* Ceph's gateway (16.2) tells an ETag when the same upload is completed a second time. */
static int ask_for_etag(struct op *op)
{
        op->stage = COMPLETE_ETAG;
        return OP_AGAIN;
}

static int read_reply(struct op *op)
{
        struct s3_field f[] = {{"CompleteMultipartUploadResult/ETag", BUF_INIT},
                               {"CompleteMultipartUploadResult/ChecksumCRC32C", BUF_INIT},
                               {"CompleteMultipartUploadResult/ChecksumType", BUF_INIT},
                               {"CompleteMultipartUploadResult/Key", BUF_INIT}};
        uint32_t crc;

        int err = s3_read(op, f, 4, NULL, NULL);
        bool told = f[0].text.len, made = f[3].text.len;
        s3_etag(f[0].text.p, op->obj.etag);
        bool full = strcmp(f[2].text.p, "COMPOSITE") && s3_crc(f[1].text.p, &crc);
        s3_fields_release(f, 4);
        if (!err && !told && !made)
                err = -EBADMSG;
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
        return told ? 0 : ask_for_etag(op);
}

int s3_complete_parse(struct store_kind *k, struct op *op)
{
        switch (op->stage) {
        case S3_VERIFY:
                return verified(k, op);
        case COMPLETE_LOOK:
                return looked(k, op);
        case COMPLETE_NAME:
        case COMPLETE_NAME_AGAIN:
                return named(k, op);
        case COMPLETE_ETAG:
                return read_etag(k, op);
        default:
                break;
        }
        if (!s3_ok(op) || s3_is_error_body(op))
                return refused(k, op);
        if (op->stage == COMPLETE_PROBE || op->stage == COMPLETE_REFUSED)
                s3_learn(k, S3_COMPLETE_IF, S3_IGNORES);
        s3_checksum_answer(k, op, 0);
        return read_reply(op);
}
