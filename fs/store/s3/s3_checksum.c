/* SPDX-License-Identifier: Apache-2.0 */
/* s3_checksum.c: which checksum a request bears beside its body.
 *
 * Servers that do not know the headers refuse a request for them, with 501 or, as Backblaze B2,
 * with 400 and the header's name. It is sent again without, and when it succeeds then, so are all
 * that follow. An upload of parts wants the checksum of the whole: some, as Cloudflare R2, have
 * that of CRC64NVME alone, which is tried before none.
 *
 * A server that is sent none may ask: "Content-MD5 OR x-amz-checksum- HTTP header is required for
 * Put Object requests with Object Lock parameters". It gets the MD5, which also the parts of an
 * upload that was begun without may have. */
#include "store/s3/s3.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/log.h"
#include "store/core/store_int.h"
#include "base/banned.h"

static unsigned bit(int sum)
{
        return 1U << sum;
}

static bool is_missing(unsigned sums, int sum)
{
        return sums & bit(sum);
}

static enum s3_sum choose(const struct store_kind *k, const struct op *op)
{
        unsigned refused = __atomic_load_n(&k->no_sums, __ATOMIC_RELAXED) | op->no_sums;

        if (k->checksums == STORE_CHECKSUMS_NONE || k->checksums == STORE_CHECKSUMS_WHEN_REQUIRED)
                return S3_SUM_NONE;
        if (op->verb == OP_APPEND && op->upload_sum != S3_SUM_ANY)
                return (enum s3_sum)op->upload_sum;
        if (op->up && op->up->sum != S3_SUM_ANY)
                return is_missing(refused, op->up->sum) ? S3_SUM_NONE : (enum s3_sum)op->up->sum;
        if (k->checksums == STORE_CHECKSUMS_CRC64NVME)
                return S3_SUM_CRC64NVME;
        bool of_whole = op->verb == OP_UPLOAD_CREATE;
        if (of_whole)
                refused |= __atomic_load_n(&k->no_upload_sums, __ATOMIC_RELAXED);
        if (!is_missing(refused, S3_SUM_CRC32C))
                return S3_SUM_CRC32C;
        return of_whole && !is_missing(refused, S3_SUM_CRC64NVME) ? S3_SUM_CRC64NVME : S3_SUM_NONE;
}

enum s3_sum s3_sum(const struct store_kind *k, struct op *op)
{
        bool wants = op->wants_sum || __atomic_load_n(&k->wants_sums, __ATOMIC_RELAXED);

        op->sum = choose(k, op);
        if (op->sum == S3_SUM_NONE && wants)
                op->sum = S3_SUM_MD5;
        return (enum s3_sum)op->sum;
}

static bool is_crc(int sum)
{
        return sum == S3_SUM_CRC32C || sum == S3_SUM_CRC64NVME;
}

/* --- of a body --- */

enum { PIECE = 64 << 10 };

/* The CRC64NVME of the body. Its CRC32C, which is that of the bytes when they were written, is
 * compared: no bit is flipped in between without being seen. */
static int sum_crc64nvme(struct op *op)
{
        CLEANUP(freep) char *piece = malloc(PIECE);
        uint32_t crc = 0;

        if (!piece)
                return -ENOMEM;
        op->sum64 = 0;
        for (uint64_t at = 0; at < op->body.len;) {
                size_t n = op->body.len - at < PIECE ? (size_t)(op->body.len - at) : PIECE;
                int err = op->body.read(op->body.arg, at, piece, n);
                if (err)
                        return err;
                op->sum64 = crc64nvme(op->sum64, piece, n);
                crc = crc32c(crc, piece, n);
                at += n;
        }
        if (crc != op->body.crc32c) {
                snprintf(op->fault.message, sizeof op->fault.message,
                         "CRC32C of what is to be sent is %08x, of what was written %08x", crc,
                         op->body.crc32c);
                return -EBADMSG;
        }
        op->has_sum64 = true;
        return 0;
}

int s3_sum_header(const struct store_kind *k, struct op *op, struct s3_msg *m)
{
        char *text = op->sum_text;
        uint8_t sum[MD5_LEN];
        int err = 0;

        switch (s3_sum(k, op)) {
        case S3_SUM_CRC32C:
                crc32c_base64(op->body.crc32c, text);
                s3_header(m, S3_CRC32C, text);
                break;
        case S3_SUM_CRC64NVME:
                err = op->has_sum64 ? 0 : sum_crc64nvme(op);
                crc64nvme_base64(op->sum64, text);
                s3_header(m, S3_CRC64NVME, text);
                break;
        case S3_SUM_MD5:
                err = md5_read(op->body.read, op->body.arg, op->body.len, sum);
                base64_encode(sum, sizeof sum, text);
                s3_header(m, "Content-MD5", text);
                break;
        default:
                break;
        }
        return err;
}

/* "This checksum is only present if the checksum was uploaded with the object" (API reference,
 * PutObject and UploadPart): of another server that does not tell it nobody knows that it looked.
 */
static void learn_checking(const struct op *op)
{
        struct store_kind *k = op->s->kind;
        const char *name = op->sum == S3_SUM_CRC32C ? S3_CRC32C : S3_CRC64NVME;

        if (is_crc(op->sum) && s3_minds(k, S3_CHECKSUMS) == S3_UNKNOWN)
                s3_learn(k, S3_CHECKSUMS,
                         http_reply_header(&op->rq, name) ? S3_HONORS : S3_IGNORES);
}

int s3_sum_differs(struct op *op)
{
        uint32_t crc;
        uint64_t crc64;

        learn_checking(op);
        if (s3_crc(http_reply_header(&op->rq, S3_CRC32C), &crc) && crc != op->body.crc32c)
                snprintf(op->fault.message, sizeof op->fault.message,
                         "CRC32C of what was stored is %08x, of what was sent %08x", crc,
                         op->body.crc32c);
        else if (op->has_sum64 && s3_crc64(http_reply_header(&op->rq, S3_CRC64NVME), &crc64) &&
                 crc64 != op->sum64)
                snprintf(op->fault.message, sizeof op->fault.message,
                         "CRC64NVME of what was stored is %016" PRIx64 ", of what was sent "
                         "%016" PRIx64,
                         crc64, op->sum64);
        else
                return 0;
        return -EBADMSG;
}

/* --- what the server makes of it --- */

static bool is_refused(const struct op *op, int err)
{
        const char *said = op->fault.message;

        if (err == -EOPNOTSUPP)
                return true;
        return op->rq.status == 400 &&
               (strstr(said, "Unsupported header 'x-amz-checksum-") ||
                (op->verb == OP_UPLOAD_CREATE && strcasestr(said, "checksum")));
}

static bool is_asked_for(const struct op *op)
{
        return (op->verb == OP_PUT || op->verb == OP_PART) && op->rq.status == 400 &&
               strstr(op->fault.message, "Content-MD5");
}

/* A request succeeded: so will others like it. */
static void learn(struct store_kind *k, const struct op *op)
{
        if (op->wants_sum && !__atomic_exchange_n(&k->wants_sums, true, __ATOMIC_RELAXED))
                log_info("store: bucket %s asks for a digest: what is written without a checksum "
                         "has its MD5 from now on",
                         k->bucket);
        if (!op->no_sums)
                return;
        bool some = is_crc(op->sum);
        unsigned *known = some ? &k->no_upload_sums : &k->no_sums;
        unsigned news = some ? op->no_sums : ~0U;
        if (__atomic_fetch_or(known, news, __ATOMIC_RELAXED) == news)
                return;
        log_info(some ? "store: %s knows no CRC32C of the parts of an upload together: uploads "
                        "have CRC64NVME from now on"
                      : "store: %s knows no checksums: requests have none from now on",
                 k->endpoint);
}

int s3_checksum_answer(struct store_kind *k, struct op *op, int err)
{
        if (k->checksums == STORE_CHECKSUMS_AUTO && k->endpoint && is_crc(op->sum) &&
            is_refused(op, err)) {
                op->no_sums |= bit(op->sum);
                buf_reset(&op->text);
                return OP_AGAIN;
        }
        if (k->checksums != STORE_CHECKSUMS_NONE && op->sum == S3_SUM_NONE && is_asked_for(op)) {
                op->wants_sum = true;
                return OP_AGAIN;
        }
        if (!err)
                learn(k, op);
        return err;
}
