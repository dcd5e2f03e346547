/* SPDX-License-Identifier: Apache-2.0 */
/* s3_object.c: requests on one object: head, get, put. */
#include "store/s3/s3.h"

#include <errno.h>
#include <inttypes.h>
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
        const char *name, *value, *type = http_reply_header(rq, "x-amz-checksum-type");
        bool composite = type && strcmp(type, "FULL_OBJECT");
        (void)k;

        *out = (struct store_object){.size = 0};
        for (size_t pos = 0; http_reply_next(rq, &pos, &name, &value);) {
                if (!strcmp(name, "content-length"))
                        out->size = digits_size(value);
                else if (!strcmp(name, "etag"))
                        s3_etag(value, out->etag);
                else if (!strcmp(name, "last-modified"))
                        out->mtime_ns = s3_time_http(value);
                else if (!strcmp(name, "x-amz-checksum-crc32c") && !composite)
                        out->has_crc = s3_crc(value, &out->crc32c);
                else if (!strcmp(name, "x-amz-missing-meta"))
                        out->meta.missing |= strtoull(value, NULL, 10) > 0;
                else if (!strncmp(name, meta, sizeof meta - 1))
                        out->meta.missing |=
                                meta_add_user(&out->meta, name + sizeof meta - 1, value) != 0;
                else
                        s3_keep_header(&out->meta, name, value);
        }
}

/* --- head and get -------------------------------------------------------------------------------
 */

int s3_head(struct store_kind *k, struct op *op, const char *key)
{
        CLEANUP(s3_msg_release) struct s3_msg m = S3_MSG(HTTP_HEAD, key);
        if (op->head_status) { /* why was it refused? */
                m.method = HTTP_GET;
                s3_header(&m, "Range", "bytes=0-0");
        }
        if (s3_bears_checksum(k, op))
                s3_header(&m, "x-amz-checksum-mode", "ENABLED");
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
        return s3_checksum_answer(k, op, 0);
}

int s3_head_parse(struct store_kind *k, struct op *op)
{
        return s3_head_reply(k, op, &op->obj);
}

int s3_get_build(struct store_kind *k, struct op *op)
{
        CLEANUP(s3_msg_release) struct s3_msg m = S3_MSG(HTTP_GET, op->key);
        uint64_t from = op->off + op->got, to = op->off + op->len - 1;
        const char *version = op->seen && *op->obj.etag ? op->obj.etag : op->if_match;
        char range[64];

        if (from) /* else all of it is asked for, or as much as there is */
                snprintf(range, sizeof range, "bytes=%" PRIu64 "-", from);
        if (op->off + op->len < INT64_MAX)
                snprintf(range, sizeof range, "bytes=%" PRIu64 "-%" PRIu64, from, to);
        if (from || op->off + op->len < INT64_MAX)
                s3_header(&m, "Range", range);
        if (version)
                s3_header(&m, "If-Match", version);
        if (s3_bears_checksum(k, op))
                s3_header(&m, "x-amz-checksum-mode", "ENABLED");
        return s3_send(k, op, &m);
}

int s3_get_parse(struct store_kind *k, struct op *op)
{
        bool ok = s3_ok(op) || op->rq.status == 416;
        return s3_checksum_answer(k, op, ok ? 0 : s3_fault(k, op));
}

/* --- put ----------------------------------------------------------------------------------------
 */

int s3_put_build(struct store_kind *k, struct op *op)
{
        CLEANUP(s3_msg_release) struct s3_msg m = S3_MSG(HTTP_PUT, op->key);
        char crc[9];

        if (op->stage == S3_VERIFY)
                return s3_verify_build(k, op);
        m.data = true;
        crc32c_base64(op->body.crc32c, crc);
        if (s3_bears_checksum(k, op))
                s3_header(&m, "x-amz-checksum-crc32c", crc);
        int err = s3_put_headers(k, &m, op);
        return err ? err : s3_send(k, op, &m);
}

/* ETag of a body sent whole: its MD5. Read again here, for want of a checksum. */
static bool same_md5(const struct op *op, const struct store_object *found)
{
        enum { READ_AGAIN_MAX = 64 << 20 };
        CLEANUP(freep) char *copy = NULL;
        uint8_t sum[MD5_LEN];
        char hex[2 * MD5_LEN + 1], etag[STORE_ETAG_MAX];

        if (op->body.len > READ_AGAIN_MAX || !(copy = malloc(op->body.len + 1)) ||
            (op->body.len && op->body.read(op->body.arg, 0, copy, op->body.len)))
                return false;
        md5(copy, op->body.len, sum);
        hex_encode(sum, MD5_LEN, hex);
        s3_etag(hex, etag);
        return !strcmp(etag, found->etag);
}

/* Another host may have made one of the same bytes, such as an empty one: its times tell. */
static int same_body(struct op *op, const struct store_object *found)
{
        if (found->size != op->body.len || (op->meta && !meta_has_user(&found->meta, op->meta)))
                return false;
        return found->has_crc ? found->crc32c == op->body.crc32c : same_md5(op, found);
}

int s3_put_parse(struct store_kind *k, struct op *op)
{
        uint32_t crc;

        if (op->stage == S3_VERIFY)
                return s3_verify_parse(k, op, same_body);
        if (!s3_ok(op)) {
                int err = s3_checksum_answer(k, op, s3_fault(k, op));
                bool lost = op->maybe_done && (err == -EEXIST || err == -ESTALE);
                return lost ? s3_verify_begin(op, err) : err;
        }
        s3_checksum_answer(k, op, 0);
        s3_object(k, &op->rq, &op->obj);
        op->obj.size = op->body.len;
        if (s3_crc(http_reply_header(&op->rq, "x-amz-checksum-crc32c"), &crc) &&
            crc != op->body.crc32c) {
                snprintf(op->fault.message, sizeof op->fault.message,
                         "CRC32C of what was stored is %08x, of what was sent %08x", crc,
                         op->body.crc32c);
                return -EBADMSG;
        }
        return 0;
}
