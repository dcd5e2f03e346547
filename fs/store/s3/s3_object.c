/* SPDX-License-Identifier: Apache-2.0 */
/* s3_object.c: requests on one object: head, get, put. */
#include "store/s3/s3.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/text/digits.h"
#include "base/banned.h"

void s3_object(struct store_kind *k, const struct http_req *rq, struct store_object *out)
{
        static const char meta[] = "x-amz-meta-";
        const char *name, *value, *type = http_reply_header(rq, S3_CHECKSUM_TYPE);
        bool composite = type && strcmp(type, "FULL_OBJECT");

        *out = (struct store_object){.size = 0};
        for (size_t pos = 0; http_reply_next(rq, &pos, &name, &value);) {
                if (!strcmp(name, "content-length"))
                        out->size = digits_size(value);
                else if (!strcmp(name, "etag"))
                        s3_etag(value, out->etag);
                else if (!strcmp(name, "last-modified"))
                        out->mtime_ns = s3_time_http(value);
                else if (!strcmp(name, S3_CRC32C) && !composite)
                        out->has_crc = s3_crc(value, &out->crc32c);
                else if (!strcmp(name, S3_CRC64NVME)) /* always that of the whole */
                        out->has_crc64 = s3_crc64(value, &out->crc64nvme);
                else if (!strcmp(name, "x-rgw-object-type"))
                        __atomic_store_n(&k->radosgw, true, __ATOMIC_RELAXED);
                else if (!strcmp(name, "x-amz-tagging-count"))
                        out->tagged = strtoull(value, NULL, 10) > 0;
                else if (!strcmp(name, "x-amz-server-side-encryption"))
                        out->opaque |= strcmp(value, "AES256") != 0;
                else if (!strcmp(name, "x-amz-server-side-encryption-customer-algorithm"))
                        out->opaque = true;
                else if (!strcmp(name, "x-amz-missing-meta"))
                        out->meta.missing |= strtoull(value, NULL, 10) > 0;
                else if (!strncmp(name, meta, sizeof meta - 1))
                        out->meta.missing |=
                                meta_add_user(&out->meta, name + sizeof meta - 1, value) != 0;
                else
                        s3_keep_header(&out->meta, name, value);
        }
}

/* --- head and get --- */

/* A reply with a checksum of the bytes is asked for where requests have such. */
static void ask_for_sum(const struct store_kind *k, struct op *op, struct s3_msg *m)
{
        enum s3_sum sum = s3_sum(k, op);

        if (sum == S3_SUM_CRC32C || sum == S3_SUM_CRC64NVME)
                s3_header(m, "x-amz-checksum-mode", "ENABLED");
}

int s3_head(struct store_kind *k, struct op *op, const char *key)
{
        CLEANUP(s3_msg_release) struct s3_msg m = S3_MSG(HTTP_HEAD, key);
        if (op->head_status) { /* why was it refused? */
                m.method = HTTP_GET;
                s3_header(&m, "Range", "bytes=0-0");
        }
        ask_for_sum(k, op, &m);
        return s3_send(k, op, &m);
}

int s3_head_build(struct store_kind *k, struct op *op)
{
        return s3_head(k, op, op->key);
}

int s3_head_reply(struct store_kind *k, struct op *op, struct store_object *out)
{
        int refused = op->head_status;

        op->head_status = 0;
        if (refused && (s3_ok(op) || op->rq.status == 416)) /* for no reason that a get has */
                return status_errno(refused, false);
        if (!s3_ok(op))
                return s3_checksum_answer(k, op, s3_fault(k, op));
        s3_object(k, &op->rq, out);
        /* "A server MAY send a Content-Length header field in a response to a HEAD request" (RFC
         * 9110, section 8.6), and a proxy that compresses does not: the object is not empty. */
        if (!http_reply_header(&op->rq, "content-length"))
                return op_no_length(op);
        return s3_checksum_answer(k, op, 0);
}

int s3_head_parse(struct store_kind *k, struct op *op)
{
        return s3_head_reply(k, op, &op->obj);
}

int s3_get_build(struct store_kind *k, struct op *op)
{
        CLEANUP(s3_msg_release) struct s3_msg m = S3_MSG(HTTP_GET, op->key);
        const char *version = op->seen && *op->obj.etag ? op->obj.etag : op->if_match;
        char range[OP_RANGE_MAX];

        if (op_get_range(op, range))
                s3_header(&m, "Range", range);
        if (version)
                s3_header(&m, "If-Match", version);
        ask_for_sum(k, op, &m);
        return s3_send(k, op, &m);
}

int s3_get_parse(struct store_kind *k, struct op *op)
{
        bool ok = s3_ok(op) || op->rq.status == 416;
        return s3_checksum_answer(k, op, ok ? 0 : s3_fault(k, op));
}

/* --- put --- */

/* An ETag is in quotes: "ETag = entity-tag", "opaque-tag = DQUOTE *etagc DQUOTE" (RFC 9110, section
 * 8.8.3). Ceph's gateway (16.2) compares the text of a put's If-Match with an ETag that has none,
 * and refuses each such put. So the first refusal is looked into: if the object is what it has to
 * be, the put is sent again with the bare ETag, which is as good a condition. */

/* Swift's middleware (2.38) knows no other condition of a put than that nothing is there, and
 * refuses If-Match with 501. Garage knows none and ignores them, which s3_check.c finds out. Then a
 * head of the name comes before each such put, also before one that is sent again. */

/* op->stage, beside S3_VERIFY. */
enum {
        PUT_LOOK = S3_VERIFY + 1, /* a head of the object that a condition did not hold for */
        PUT_BARE,                 /* without the quotes */
        PUT_NAME,                 /* a head of the name, before a put without the condition */
        PUT_NAME_AGAIN,           /* the same before one that is sent again */
        PUT_PLAIN                 /* without the condition */
};

static void choose_stage(const struct store_kind *k, struct op *op)
{
        bool looks = (op->if_match && s3_minds(k, S3_PUT_IF) >= S3_IGNORES) ||
                     (op->if_absent && s3_minds(k, S3_PUT_ABSENT) >= S3_IGNORES);

        if (!op->stage && looks)
                op->stage = PUT_NAME;
        if (op->stage == PUT_PLAIN && op->maybe_done)
                op->stage = PUT_NAME_AGAIN;
}

static bool is_quoted(const struct op *op)
{
        return op->if_match && *op->if_match == '"';
}

/* The condition, by what the server compares. */
static const char *put_match(const struct store_kind *k, const struct op *op,
                             char bare[STORE_ETAG_MAX])
{
        if (op->stage == PUT_PLAIN)
                return NULL;
        if (!is_quoted(op) || (op->stage != PUT_BARE && s3_minds(k, S3_PUT_QUOTED) != S3_IGNORES))
                return op->if_match;
        snprintf(bare, STORE_ETAG_MAX, "%s", op->if_match + 1);
        bare[strcspn(bare, "\"")] = 0;
        return bare;
}

int s3_put_build(struct store_kind *k, struct op *op)
{
        CLEANUP(s3_msg_release) struct s3_msg m = S3_MSG(HTTP_PUT, op->key);
        char bare[STORE_ETAG_MAX];

        choose_stage(k, op);
        if (op->stage == S3_VERIFY)
                return s3_verify_build(k, op);
        if (op->stage == PUT_LOOK || op->stage == PUT_NAME || op->stage == PUT_NAME_AGAIN)
                return s3_head_build(k, op);
        m.data = true;
        op->rq.once = op->stage == PUT_PLAIN;
        int err = s3_sum_header(k, op, &m);
        if (!err)
                err = s3_put_headers(k, &m, op, put_match(k, op, bare));
        return err ? err : s3_send(k, op, &m);
}

/* ETag of a body sent whole: its MD5. Read again here, for want of a checksum. */
static bool same_md5(const struct op *op, const struct store_object *found)
{
        uint8_t sum[MD5_LEN];
        char hex[2 * MD5_LEN + 1], etag[STORE_ETAG_MAX];

        if (md5_read(op->body.read, op->body.arg, op->body.len, sum))
                return false;
        hex_encode(sum, MD5_LEN, hex);
        s3_etag(hex, etag);
        return !strcmp(etag, found->etag);
}

/* Another host may have made one of the same bytes, such as an empty one: its times tell. */
static int same_body(struct op *op, const struct store_object *found)
{
        if (found->size != op->body.len || (op->meta && !meta_has_user(&found->meta, op->meta)))
                return false;
        if (found->has_crc)
                return found->crc32c == op->body.crc32c;
        if (found->has_crc64 && op->has_sum64)
                return found->crc64nvme == op->sum64;
        if (found->opaque)
                return op->meta && op->meta->len;
        return same_md5(op, found);
}

/* Whether the quotes may be what an If-Match was refused for. */
static bool may_be_quotes(const struct store_kind *k, const struct op *op, int err)
{
        return err == -ESTALE && is_quoted(op) && op->stage != PUT_BARE &&
               s3_minds(k, S3_PUT_QUOTED) == S3_UNKNOWN;
}

/* Nothing was put so far. */
static int go_on(struct op *op, int stage)
{
        op->stage = stage;
        op->maybe_done = false;
        return OP_AGAIN;
}

static int look_at_refused(struct op *op, int err)
{
        op->stage = PUT_LOOK;
        op_look_into(op, err);
        return OP_AGAIN;
}

static int looked(struct store_kind *k, struct op *op)
{
        struct store_object found;

        int err = s3_head_reply(k, op, &found);
        if (err > 0)
                return err;
        if (err || strcmp(found.etag, op->if_match))
                return op_refusal(op);
        return go_on(op, PUT_BARE);
}

/* The reply to a head of the name. */
static int named(struct store_kind *k, struct op *op)
{
        struct store_object found;
        bool again = op->stage == PUT_NAME_AGAIN;
        int lost = op->if_absent ? -EEXIST : -ESTALE;

        int err = s3_head_reply(k, op, &found);
        if (err && err != -ENOENT)
                return err;
        bool holds = op->if_absent ? err == -ENOENT : !err && !strcmp(found.etag, op->if_match);
        if (!holds) /* what was put has the name, too */
                return again ? s3_verify_begin(op, lost) : lost;
        return go_on(op, PUT_PLAIN);
}

/* The condition may be what was refused. A put without it has the checksum again, which the server
 * may take. */
static int without_condition(struct op *op)
{
        op->no_sums = 0;
        return go_on(op, PUT_NAME);
}

static int verified(struct store_kind *k, struct op *op)
{
        int err = s3_verify_parse(k, op, same_body);
        return may_be_quotes(k, op, err) ? look_at_refused(op, err) : err;
}

int s3_put_parse(struct store_kind *k, struct op *op)
{
        if (op->stage == S3_VERIFY)
                return verified(k, op);
        if (op->stage == PUT_LOOK)
                return looked(k, op);
        if (op->stage == PUT_NAME || op->stage == PUT_NAME_AGAIN)
                return named(k, op);
        if (!s3_ok(op)) {
                int err = s3_checksum_answer(k, op, s3_fault(k, op));
                if (err == -EOPNOTSUPP && op->if_match && op->stage != PUT_PLAIN && k->endpoint)
                        return without_condition(op);
                if (op_may_be_ours(op, err))
                        return s3_verify_begin(op, err);
                return may_be_quotes(k, op, err) ? look_at_refused(op, err) : err;
        }
        s3_checksum_answer(k, op, 0);
        if (op->stage == PUT_PLAIN)
                s3_learn(k, op->if_match ? S3_PUT_IF : S3_PUT_ABSENT, S3_IGNORES);
        if (is_quoted(op) && op->stage != PUT_PLAIN && s3_minds(k, S3_PUT_QUOTED) == S3_UNKNOWN)
                s3_learn(k, S3_PUT_QUOTED, op->stage == PUT_BARE ? S3_IGNORES : S3_HONORS);
        s3_object(k, &op->rq, &op->obj);
        op->obj.size = op->body.len;
        return s3_sum_differs(op);
}
