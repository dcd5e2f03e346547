/* SPDX-License-Identifier: Apache-2.0 */
/* s3_digest.c: whether a body is what its request says. */
#include <stdlib.h>
#include <string.h>

#include "bench/sim/s3/s3.h"
#include "base/banned.h"

const char *s3_sent_crc(const struct request *x)
{
        const char *sent = s3_in(x, "x-amz-checksum-crc32c");

        return sent ? sent : x->chunks.crc32c[0] ? x->chunks.crc32c : NULL;
}

/* Whether a body in chunks ended where it should. */
static bool is_cut(const struct request *x)
{
        const char *want = s3_in(x, "x-amz-decoded-content-length");

        if (!x->chunked)
                return false;
        return x->chunks.state != CHUNK_DONE || (want && strtoull(want, NULL, 10) != x->chunks.len);
}

bool s3_bad_digest(struct request *x)
{
        /* With Complete the checksum is that of the object, not of the request. */
        bool of_object = x->to == BODY_TEXT && *x->upload;
        struct said said = {.crc32c = of_object ? NULL : s3_sent_crc(x),
                            .crc64nvme = of_object ? NULL : s3_in(x, S3_CRC64NVME),
                            .md5 = s3_in(x, "content-md5"),
                            .sha256 = s3_in(x, "x-amz-content-sha256")};
        char text[80];
        int err;

        if (is_cut(x)) {
                s3_error(x, "IncompleteBody");
                return true;
        }
        if (x->google && !of_object)
                said_by_hash(&said, s3_in(x, "x-goog-hash"), text);
        const char *code = request_differs(x, &said, &err);
        if (err)
                s3_fail(x, err);
        else if (code)
                s3_error(x, code);
        return code;
}
