/* SPDX-License-Identifier: Apache-2.0 */
/* s3_digest.c: whether a body is what its request says. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "bench/sim/s3.h"
#include "base/banned.h"

/* SHA-256 of more would hold up the other connections of the thread for too long. */
enum { SHA256_BODY_MAX = 8 << 20 };

/* The name of the error that the bytes at p call for, or NULL. */
static const char *compare(const struct exchange *x, const void *p, size_t n, uint32_t crc)
{
        /* With Complete it is the checksum of the object, not of the request. */
        bool of_object = x->to == BODY_TEXT && *x->upload;
        const char *want_md5 = s3_in(x, "content-md5");
        const char *want_crc = of_object ? NULL : s3_sent_crc(x);
        const char *want_sha = s3_in(x, "x-amz-content-sha256");
        uint8_t sum[SHA256_LEN], want[SHA256_LEN];
        char text[2 * SHA256_LEN + 1];

        if (want_md5) {
                if (base64_decode(want_md5, want, sizeof want) != MD5_LEN)
                        return "InvalidDigest";
                md5(p, n, sum);
                if (memcmp(sum, want, MD5_LEN))
                        return "BadDigest";
        }
        if (want_crc) {
                crc32c_base64(crc, text);
                if (strcmp(text, want_crc))
                        return "BadDigest";
        }
        if (want_sha && strlen(want_sha) == 2 * SHA256_LEN && n <= SHA256_BODY_MAX) {
                sha256(p, n, sum);
                hex_encode(sum, sizeof sum, text);
                if (strcmp(text, want_sha))
                        return "XAmzContentSHA256Mismatch";
        }
        return NULL;
}

const char *s3_sent_crc(const struct exchange *x)
{
        const char *sent = s3_in(x, "x-amz-checksum-crc32c");

        return sent ? sent : x->chunks.crc32c[0] ? x->chunks.crc32c : NULL;
}

/* Whether a body in chunks ended where it should. */
static bool is_cut(const struct exchange *x)
{
        const char *want = s3_in(x, "x-amz-decoded-content-length");

        if (!x->chunked)
                return false;
        return x->chunks.state != CHUNK_DONE || (want && strtoull(want, NULL, 10) != x->chunks.len);
}

bool s3_bad_digest(struct exchange *x)
{
        const char *code;

        if (is_cut(x)) {
                s3_error(x, "IncompleteBody");
                return true;
        }
        if (x->to == BODY_TEXT) {
                code = compare(x, x->text.p, x->text.len, crc32c(0, x->text.p, x->text.len));
        } else if (x->to != BODY_INTAKE || data_is_null(x->intake.data)) {
                return false; /* the bytes are gone */
        } else {
                const void *p;
                int err = intake_map(&x->intake, &p);
                if (err) {
                        s3_fail(x, err);
                        return true;
                }
                code = compare(x, p, x->intake.len, x->intake.crc);
                intake_unmap(&x->intake, p);
        }
        if (code)
                s3_error(x, code);
        return code;
}
