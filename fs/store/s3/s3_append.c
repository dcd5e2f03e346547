/* SPDX-License-Identifier: Apache-2.0 */
/* s3_append.c: bytes added at the end of an object, which directory buckets do in one request.
 *
 * The vendor's rules (user guide, "Appending data to objects in directory buckets"; API reference,
 * PutObject): x-amz-write-offset-bytes "must be equal to the size of the existing object", metadata
 * cannot be given and stays, the checksum is of the algorithm that the object has, and an object
 * has at most 10,000 parts. So a head comes first: it tells the version, the metadata, and the
 * checksum by which a lost reply is found out. What cannot be added to is left to the caller
 * (-EOPNOTSUPP).
 *
 * A server that ignores the header would make the new bytes the whole object. Of one that is not
 * the vendor's it is found out once, at a name of ours where no object is: it has to refuse. */
#include "store/s3/s3.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/text/digits.h"
#include "store/core/store_int.h"
#include "base/banned.h"

#define OFFSET    "x-amz-write-offset-bytes"
#define PROBE_KEY ".ckptfs/append"

/* op->stage, beside S3_VERIFY. */
enum {
        APPEND_LOOK,                  /* a head */
        APPEND_PROBE = S3_VERIFY + 1, /* to a name where nothing is */
        APPEND_CLEAN,                 /* which is deleted where that made an object */
        APPEND_SEND
};

static int send_probe(struct store_kind *k, struct op *op)
{
        CLEANUP(freep) char *key = store_full_key(op->s, PROBE_KEY);
        bool put = op->stage == APPEND_PROBE;
        CLEANUP(s3_msg_release) struct s3_msg m = S3_MSG(put ? HTTP_PUT : HTTP_DELETE, key);

        if (!key)
                return -ENOMEM;
        buf_reset(&op->text);
        if (put && buf_addc(&op->text, '?'))
                return -ENOMEM;
        if (put) {
                s3_header(&m, OFFSET, "1");
                m.xml = &op->text;
        }
        return s3_send(k, op, &m);
}

int s3_append_build(struct store_kind *k, struct op *op)
{
        CLEANUP(s3_msg_release) struct s3_msg m = S3_MSG(HTTP_PUT, op->key);
        char off[24];

        if (op->stage == APPEND_LOOK || op->stage == S3_VERIFY)
                return s3_head_build(k, op);
        if (op->stage != APPEND_SEND)
                return send_probe(k, op);
        m.data = true;
        int err = s3_sum_header(k, op, &m);
        if (err)
                return err;
        snprintf(off, sizeof off, "%" PRIu64, op->off);
        s3_header(&m, OFFSET, off);
        s3_header(&m, "If-Match", op->if_match);
        return s3_send(k, op, &m);
}

static int go_on(struct op *op, int stage)
{
        op->stage = stage;
        op->maybe_done = false; /* nothing was added so far */
        return OP_AGAIN;
}

/* Whether the object can be added to: op->expect is what is there. */
static bool is_fit(struct store_kind *k, struct op *op)
{
        const struct store_object *now = &op->expect;

        op->upload_sum = now->has_crc     ? S3_SUM_CRC32C
                         : now->has_crc64 ? S3_SUM_CRC64NVME
                                          : S3_SUM_NONE;
        bool same_sum =
                op->upload_sum != S3_SUM_NONE && s3_sum(k, op) == (enum s3_sum)op->upload_sum;
        bool same_meta = !op->meta ||
                         (!now->meta.missing && !op->meta->missing &&
                          meta_has_all(&now->meta, op->meta) && meta_has_all(op->meta, &now->meta));

        return same_sum && same_meta && s3_minds(k, S3_APPEND) != S3_IGNORES;
}

static int looked(struct store_kind *k, struct op *op)
{
        int err = s3_head_reply(k, op, &op->expect);
        if (err)
                return err == -ENOENT ? -ESTALE : err;
        if (strcmp(op->expect.etag, op->if_match) || op->expect.size != op->off)
                return -ESTALE;
        if (!is_fit(k, op))
                return -EOPNOTSUPP;
        return go_on(op, s3_minds(k, S3_APPEND) == S3_HONORS ? APPEND_SEND : APPEND_PROBE);
}

/* --- a server that is not the vendor's --- */

static int probed(struct store_kind *k, struct op *op)
{
        int err = s3_ok(op) ? 0 : s3_fault(k, op);
        if (err > 0)
                return err;
        bool refuses = !strcmp(op->fault.code, "InvalidWriteOffset");
        s3_learn(k, S3_APPEND, refuses ? S3_HONORS : S3_IGNORES);
        if (!err)
                return go_on(op, APPEND_CLEAN);
        return refuses ? go_on(op, APPEND_SEND) : -EOPNOTSUPP;
}

static int cleaned(struct store_kind *k, struct op *op)
{
        int err = s3_gone(k, op);
        return err > 0 ? err : -EOPNOTSUPP;
}

/* --- the request that adds --- */

/* What the object is to be. */
static struct store_object all_of(const struct op *op)
{
        struct store_object all = op->expect;
        uint64_t n = op->body.len;

        all.size += n;
        all.crc32c = crc32c_combine(all.crc32c, op->body.crc32c, n);
        all.has_crc64 = all.has_crc64 && op->has_sum64;
        all.crc64nvme = crc64nvme_combine(all.crc64nvme, op->sum64, n);
        return all;
}

static int same_whole(struct op *op, const struct store_object *found)
{
        const struct store_object all = all_of(op);

        if (found->size != all.size)
                return false;
        return found->has_crc && all.has_crc
                       ? found->crc32c == all.crc32c
                       : found->has_crc64 && all.has_crc64 && found->crc64nvme == all.crc64nvme;
}

/* "x-amz-object-size: [...] only present if you append to an object" (API reference, PutObject). */
static int added(struct store_kind *k, struct op *op)
{
        const char *text = http_reply_header(&op->rq, "x-amz-object-size");
        const struct store_object all = all_of(op);

        s3_object(k, &op->rq, &op->obj);
        bool other = op->obj.has_crc && all.has_crc && op->obj.crc32c != all.crc32c &&
                     op->obj.crc32c != op->body.crc32c;
        op->obj.size = all.size;
        op->obj.has_crc = all.has_crc;
        op->obj.crc32c = all.crc32c;
        op->obj.has_crc64 = all.has_crc64;
        op->obj.crc64nvme = all.crc64nvme;
        if (!other && (!text || digits_size(text) == all.size))
                return 0;
        snprintf(op->fault.message, sizeof op->fault.message,
                 "%" PRIu64 " bytes were added to %" PRIu64 ", and the object has %s%s",
                 op->body.len, op->off, text ? text : "those",
                 other ? " with another checksum" : "");
        return -EBADMSG;
}

/* What the server says of the request itself, and not of the moment: there are other ways. */
static bool is_refused(const struct op *op, int err)
{
        bool unknown =
                (op->rq.status == 400 || op->rq.status == 405) && !s3_code(op->fault.code, 0);
        return err == -EOPNOTSUPP || unknown;
}

int s3_append_parse(struct store_kind *k, struct op *op)
{
        switch (op->stage) {
        case APPEND_LOOK:
                return looked(k, op);
        case S3_VERIFY:
                return s3_verify_parse(k, op, same_whole);
        case APPEND_PROBE:
                return probed(k, op);
        case APPEND_CLEAN:
                return cleaned(k, op);
        default:
                break;
        }
        if (s3_ok(op))
                return added(k, op);
        int err = s3_fault(k, op);
        if (err > 0)
                return err;
        if (err == -EOPNOTSUPP)
                s3_learn(k, S3_APPEND, S3_IGNORES);
        if (!strcmp(op->fault.code, "InvalidWriteOffset") ||
            (err == -ENOENT && strcmp(op->fault.code, "NoSuchBucket") != 0))
                err = -ESTALE;
        else if (is_refused(op, err))
                err = -EOPNOTSUPP;
        bool lost = op_may_be_ours(op, err) || (op->maybe_done && err == -EOPNOTSUPP);
        return lost ? s3_verify_begin(op, err) : err;
}
