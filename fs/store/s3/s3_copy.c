/* SPDX-License-Identifier: Apache-2.0 */
/* s3_copy.c: copies of one object, and changes of metadata, which are copies of an object onto
 * itself.
 *
 * The vendor's servers honor If-None-Match and If-Match in a copy: "Copies the object only if the
 * object key name at the destination does not already exist" (API reference, CopyObject). What
 * another server does shows once, as in s3_delete.c: a target that a head found to be as the
 * condition says is copied to on the condition that it is a version that never was. A server that
 * honors conditions refuses; another one has made the copy. From then on the first kind is sent the
 * condition, and for the second kind a head of the target comes before each copy, also before one
 * that is sent again.
 *
 * The vendor's server answers a copy of some GiB after minutes. One of more than COPY_MAX bytes is
 * copied in parts instead. The size is asked for first where the ETag does not tell that the object
 * was written by one request, as large ones are not. A copy to a name that must not be there asks,
 * too: when its reply is lost, and another host changes the source before the copy is sent again,
 * nothing else would tell that what has the name is the copy.
 *
 * A copy that is given no metadata gets those of its source from the store, but for the storage
 * class and the redirect of a website: a head of the source tells them, and the copy is asked for
 * with them. Directory buckets have neither. */
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
        COPY_HEAD = S3_VERIFY + 1, /* of the source, before the copy */
        COPY_LOOK,                 /* a head of the target, before the copy */
        COPY_LOOK_AGAIN,           /* the same before a copy that is sent again */
        COPY_SEND,                 /* with the condition on the target */
        COPY_PROBE,                /* with one that never holds */
        COPY_PLAIN,                /* without one */
        COPY_REFUSED,              /* without the one that the server just refused */
        COPY_WHICH,                /* a head of the source: which condition did not hold? */
        COPY_PROBED,               /* the same after COPY_PROBE */
        COPY_SOURCE                /* the same after a copy whose reply was lost */
};

/* The vendor's words: "The specified copy source is larger than the maximum allowable size". */
static bool is_too_large(const struct op *op)
{
        return !strcmp(op->fault.code, "InvalidRequest") &&
               strstr(op->fault.message, "larger than");
}

static bool may_be_large(const struct store_kind *k, const struct op *op)
{
        return !op->src_match || k->session || etag_parts(op->src_match);
}

/* Whether the copy is to have what the store does not copy with the metadata. */
static bool completes_meta(const struct store_kind *k, const struct op *op)
{
        return !op->meta && !k->session;
}

bool s3_asks_first(const struct store_kind *k, const struct op *op)
{
        return may_be_large(k, op) || completes_meta(k, op) ||
               (op->verb == OP_COPY && op->if_absent);
}

/* Whether the copy has a condition on its target. A change of metadata has one on its source, which
 * is the same object and which every server honors. */
static bool has_condition(const struct op *op)
{
        return op->verb == OP_COPY && (op->if_absent || op->if_match);
}

static bool looks_first(const struct store_kind *k, const struct op *op)
{
        return has_condition(op) && s3_minds(k, S3_COPY_IF) != S3_HONORS;
}

static int first_stage(const struct store_kind *k, const struct op *op)
{
        if (looks_first(k, op))
                return COPY_LOOK;
        return s3_minds(k, S3_COPY_IF) == S3_IGNORES ? COPY_PLAIN : COPY_SEND;
}

/* op->expect is the source. */
static void headers_not_copied(const struct store_kind *k, const struct op *op, struct s3_msg *m)
{
        const char *class = store_meta_get(&op->expect.meta, ":" S3_CLASS);
        const char *redirect = store_meta_get(&op->expect.meta, ":" S3_REDIRECT);

        if (class && s3_hands_class_on(k, op, class))
                s3_header(m, S3_CLASS, class);
        if (redirect)
                s3_header(m, S3_REDIRECT, redirect);
}

static int send_copy(struct store_kind *k, struct op *op)
{
        CLEANUP(s3_msg_release) struct s3_msg m = S3_MSG(HTTP_PUT, op->key);
        CLEANUP(buf_release) struct buf source = BUF_INIT;

        int err = s3_copy_source(k, &m, op, op->src_match, &source);
        if (!err)
                err = op->stage == COPY_SEND ? s3_put_headers(k, &m, op, op->if_match)
                                             : s3_meta_headers(k, &m, op);
        if (err)
                return err;
        if (op->stage == COPY_PROBE)
                s3_header(&m, "If-Match", S3_NO_VERSION);
        s3_header(&m, "x-amz-metadata-directive", op->meta ? "REPLACE" : "COPY");
        if (completes_meta(k, op))
                headers_not_copied(k, op, &m);
        op->rq.once = op->stage != COPY_SEND && has_condition(op);
        return s3_send(k, op, &m);
}

int s3_copy_build(struct store_kind *k, struct op *op)
{
        if (op->stage == COPY_BEGIN)
                op->stage = s3_asks_first(k, op) ? COPY_HEAD : first_stage(k, op);
        bool guarded = op->stage == COPY_SEND || !has_condition(op);
        if (op->stage >= COPY_SEND && op->stage <= COPY_REFUSED && op->maybe_done && !guarded)
                op->stage = COPY_LOOK_AGAIN;
        switch (op->stage) {
        case COPY_HEAD:
        case COPY_WHICH:
        case COPY_PROBED:
        case COPY_SOURCE:
                return s3_head(k, op, op->src);
        case COPY_LOOK:
        case COPY_LOOK_AGAIN:
                return s3_head(k, op, op->key);
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

/* No copy was made so far. */
static int go_on(struct op *op, int stage)
{
        op->stage = stage;
        op->maybe_done = false;
        return OP_AGAIN;
}

static int headed(struct store_kind *k, struct op *op)
{
        int err = read_source(k, op);
        if (err)
                return err;
        uint64_t most = s3_misreads(k, op->src) ? STORE_PART_SIZE_MAX : COPY_MAX;
        return op->expect.size > most ? -EFBIG : go_on(op, first_stage(k, op));
}

/* Whether an object is the copy of op->expect: by its checksum; else by the ETag, which a copy
 * keeps when it is the MD5 of the bytes, and else by its size; and by the metadata. */
static int same_copy(struct op *op, const struct store_object *found)
{
        const struct store_object *src = &op->expect;
        bool opaque = op->s->kind->session || src->opaque || found->opaque || etag_parts(src->etag);
        bool same = true;

        if (found->has_crc && src->has_crc)
                same = found->crc32c == src->crc32c;
        else if (found->has_crc64 && src->has_crc64)
                same = found->crc64nvme == src->crc64nvme;
        else if (!opaque)
                same = !strcmp(found->etag, src->etag);
        if (!same || found->size != src->size)
                return false;
        return meta_has_user(&found->meta, op->meta ? op->meta : &src->meta);
}

static int sourced(struct store_kind *k, struct op *op)
{
        int err = read_source(k, op);
        if (err > 0)
                return err;
        return err ? op_refusal(op) : s3_verify_begin(op, op->verify_err);
}

/* A condition that does not hold, or a source that is gone, may be due to a try whose reply was
 * lost. */
static int lost(struct op *op, int err)
{
        if (*op->expect.etag)
                return s3_verify_begin(op, err);
        op->stage = COPY_SOURCE;
        op_look_into(op, err);
        return OP_AGAIN;
}

static int lost_condition(const struct op *op)
{
        return op->if_absent ? -EEXIST : -ESTALE;
}

/* The reply to a head of the target. */
static int looked(struct store_kind *k, struct op *op)
{
        struct store_object found;

        int err = s3_head_reply(k, op, &found);
        if (err && err != -ENOENT)
                return err;
        bool holds = op->if_absent ? err == -ENOENT : !err && !strcmp(found.etag, op->if_match);
        if (!holds)
                return op->stage == COPY_LOOK_AGAIN ? lost(op, lost_condition(op))
                                                    : lost_condition(op);
        return go_on(op, s3_minds(k, S3_COPY_IF) == S3_IGNORES ? COPY_PLAIN
                         : looks_first(k, op)                  ? COPY_PROBE
                                                               : COPY_SEND);
}

/* A condition did not hold, and the server did not say which: that on the target, if the source is
 * what it was. */
static int which(struct store_kind *k, struct op *op)
{
        int err = read_source(k, op);
        if (err)
                return err;
        if (op->stage == COPY_WHICH)
                return lost_condition(op);
        s3_learn(k, S3_COPY_IF, S3_HONORS);
        return go_on(op, COPY_SEND);
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

/* Then it is copied without. */
static bool refuses_condition(const struct op *op, int err)
{
        bool bears = op->stage == COPY_PROBE || (op->stage == COPY_SEND && op->if_match);
        return bears && s3_may_refuse_header(op, err);
}

/* What came of the copy itself, in which a condition on the target may have been. */
static int copied_if(struct store_kind *k, struct op *op)
{
        int err = copied(k, op);
        bool guarded = op->stage == COPY_SEND && has_condition(op);

        if (s3_without_foreign(k, op, err))
                return OP_AGAIN;
        if (!err && op->stage != COPY_SEND)
                s3_learn(k, S3_COPY_IF, S3_IGNORES);
        if (guarded && err == -EOPNOTSUPP) { /* it was thought to honor conditions */
                s3_learn(k, S3_COPY_IF, S3_IGNORES);
                return go_on(op, COPY_LOOK);
        }
        return !guarded && refuses_condition(op, err) ? go_on(op, COPY_REFUSED) : err;
}

int s3_copy_parse(struct store_kind *k, struct op *op)
{
        switch (op->stage) {
        case COPY_HEAD:
                return headed(k, op);
        case COPY_LOOK:
        case COPY_LOOK_AGAIN:
                return looked(k, op);
        case COPY_WHICH:
        case COPY_PROBED:
                return which(k, op);
        case COPY_SOURCE:
                return sourced(k, op);
        case S3_VERIFY:
                return s3_verify_parse(k, op, same_copy);
        default:
                break;
        }
        int err = copied_if(k, op);
        if (op_may_be_ours(op, err) || (op->maybe_done && err == -ENOENT && *op->expect.etag))
                return lost(op, err);
        bool unclear = err == -EEXIST || err == -ESTALE || err == -ENOENT;
        if (has_condition(op) && unclear && !op->of_source)
                return go_on(op, op->stage == COPY_PROBE ? COPY_PROBED : COPY_WHICH);
        return err;
}

/* --- metadata --- */

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
        if (op->stage == COPY_HEAD)
                return headed(k, op);
        if (op->stage == S3_VERIFY)
                return s3_verify_parse(k, op, same_meta);
        int err = copied_if(k, op);
        return op_may_be_ours(op, err) ? s3_verify_begin(op, err) : err;
}
