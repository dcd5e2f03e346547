/* SPDX-License-Identifier: Apache-2.0 */
/* s3_checksum.c: the vendor's rules of checksums beside a body, and CRC64NVME, which is kept with
 * an object that was sent with it; CRC32C is known of every object. */
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "bench/sim/store/data.h"
#include "bench/sim/store/object.h"
#include "bench/sim/s3/s3.h"
#include "base/banned.h"

/* Kept with an object or part, and with an upload. */
#define CRC64     ":crc64nvme"
#define ALGORITHM ":checksum-algorithm"
#define TYPE      ":checksum-type"

static const char prefix[] = "x-amz-checksum-";
static const char *const algorithms[] = {"CRC32", "CRC32C", "CRC64NVME", "SHA1", "SHA256"};
enum { NALGORITHMS = sizeof algorithms / sizeof *algorithms };

/* The algorithm that `name` is, "CRC32C" for "crc32c"; NULL for none. */
static const char *algorithm(const char *name)
{
        for (size_t i = 0; i < NALGORITHMS; i++)
                if (!strcasecmp(algorithms[i], name))
                        return algorithms[i];
        return NULL;
}

/* The algorithm of the checksum that the request bears, before its body or behind it. */
static const char *sent(const struct request *x, unsigned *count)
{
        const char *found = NULL, *trailer = s3_in(x, "x-amz-trailer");

        *count = 0;
        if (trailer && !strncasecmp(trailer, prefix, sizeof prefix - 1) &&
            (found = algorithm(trailer + sizeof prefix - 1)))
                ++*count;
        for (unsigned i = 0; i < x->rq.nheaders; i++) {
                const char *name = x->rq.headers[i].name;
                if (strncasecmp(name, prefix, sizeof prefix - 1) ||
                    !algorithm(name + sizeof prefix - 1))
                        continue;
                found = algorithm(name + sizeof prefix - 1);
                ++*count;
        }
        return found;
}

static bool names_any(const struct request *x)
{
        for (unsigned i = 0; i < x->rq.nheaders; i++)
                if (!strncasecmp(x->rq.headers[i].name, prefix, sizeof prefix - 1))
                        return true;
        return false;
}

bool s3_bad_checksums(const struct service *s, struct request *x)
{
        bool put = !strcmp(x->op, "PutObject"), part = !strcmp(x->op, "UploadPart");
        /* "The Content-MD5 request header or a additional checksum request header [...] is required
         * for all Multi-Object Delete requests" (API reference, DeleteObjects). */
        bool many = !strcmp(x->op, "DeleteObjects");
        unsigned count;
        const char *is = sent(x, &count);
        char why[128];

        if (s->s3->checksums == CHECKSUMS_NONE && names_any(x)) {
                s3_error(x, "NotImplemented");
        } else if (count > 1) {
                s3_refuse(x, 400, "InvalidRequest",
                          "Expecting a single x-amz-checksum- header. Multiple checksum Types are "
                          "not allowed.");
        } else if (s->s3->object_lock && (put || part) && !is && !s3_in(x, "content-md5")) {
                snprintf(why, sizeof why,
                         "Content-MD5 OR x-amz-checksum- HTTP header is required for Put %s "
                         "requests with Object Lock parameters",
                         put ? "Object" : "Part");
                s3_refuse(x, 400, "InvalidRequest", why);
        } else if (many && !x->google && !is && !s3_in(x, "content-md5")) {
                s3_refuse(x, 400, "InvalidRequest",
                          "Missing required header for this request: Content-MD5 OR "
                          "x-amz-checksum-*");
        }
        return x->status != 0;
}

/* --- uploads --- */

/* "Full object [...] CRC64NVME: Yes, CRC32: Yes, CRC32C: Yes, SHA-1: No, SHA-256: No. Composite
 * [...] CRC64NVME: No" (user guide, "Checking object integrity for data uploads"). */
static bool fits(const char *algorithm, bool whole)
{
        return whole ? strncmp(algorithm, "SHA", 3) != 0 : strcmp(algorithm, "CRC64NVME") != 0;
}

bool s3_bad_algorithm(const struct service *s, struct request *x, struct object *o)
{
        const char *name = s3_in(x, "x-amz-checksum-algorithm");
        const char *type = s3_in(x, "x-amz-checksum-type");
        const char *is = name ? algorithm(name) : NULL;
        bool composite = type && !strcasecmp(type, "COMPOSITE");

        if (!name && !type)
                return false;
        if (!is || (type && !composite && strcasecmp(type, "FULL_OBJECT"))) {
                s3_error(x, "InvalidRequest");
                return true;
        }
        bool whole = type ? !composite : !strcmp(is, "CRC64NVME");
        if (!fits(is, whole))
                s3_refuse(x, 400, "InvalidRequest",
                          "The checksum type cannot be used with the checksum algorithm.");
        else if (whole && s->s3->checksums == CHECKSUMS_CRC64NVME && strcmp(is, "CRC64NVME"))
                s3_error(x, "NotImplemented");
        else if (object_meta_add(o, ALGORITHM, is) ||
                 object_meta_add(o, TYPE, whole ? "FULL_OBJECT" : "COMPOSITE"))
                s3_error(x, "InternalError");
        if (x->status)
                return true;
        s3_header(x, "x-amz-checksum-algorithm", is);
        s3_header(x, "x-amz-checksum-type", whole ? "FULL_OBJECT" : "COMPOSITE");
        return false;
}

bool s3_bad_type(struct request *x, const struct object *head)
{
        const char *want = object_meta(head, TYPE), *said = s3_in(x, "x-amz-checksum-type");

        if (want && said && strcasecmp(want, said))
                s3_error(x, "BadDigest");
        return x->status != 0;
}

bool s3_has_algorithm(const struct object *head)
{
        return object_meta(head, ALGORITHM);
}

static bool mismatches(struct request *x, const char *want, const char *is)
{
        char why[128];

        if (!strcmp(want, is))
                return false;
        snprintf(why, sizeof why,
                 "Checksum Type mismatch occurred, expected checksum Type: %s, actual checksum "
                 "Type: %s",
                 want, is);
        s3_refuse(x, 400, "InvalidRequest", why);
        return true;
}

bool s3_bad_part_checksum(struct request *x, const struct object *head)
{
        const char *want = object_meta(head, ALGORITHM);
        unsigned count;
        const char *is = sent(x, &count);

        return mismatches(x, want ? want : "null", is ? is : "null");
}

static const char *or_default(const char *algorithm)
{
        return algorithm ? algorithm : "CRC64NVME";
}

int s3_keep_algorithm(const struct request *x, struct object *o)
{
        unsigned count;

        return object_meta_add(o, ALGORITHM, or_default(sent(x, &count)));
}

int s3_copy_algorithm(const struct object *from, struct object *o)
{
        const char *is = object_meta(from, ALGORITHM);

        return is ? object_meta_add(o, ALGORITHM, is) : 0;
}

bool s3_bad_append_checksum(struct request *x, const struct object *o)
{
        unsigned count;

        return mismatches(x, or_default(object_meta(o, ALGORITHM)), or_default(sent(x, &count)));
}

/* --- CRC64NVME --- */

static int record(struct object *o, const char *text)
{
        return text ? object_meta_add(o, CRC64, text) : 0;
}

int s3_keep_crc64(const struct request *x, struct object *o)
{
        return record(o, s3_in(x, S3_CRC64NVME));
}

int s3_copy_sums(const struct object *from, struct object *o)
{
        int err = record(o, s3_crc64(from));

        return err ? err : s3_copy_algorithm(from, o);
}

const char *s3_crc64(const struct object *o)
{
        return object_meta(o, CRC64);
}

bool s3_add_crc64(const struct object *part, uint64_t *crc)
{
        const char *text = s3_crc64(part);
        uint64_t be;

        if (!text || base64_decode(text, &be, sizeof be) != sizeof be)
                return false;
        *crc = crc64nvme_combine(*crc, be64toh(be), part->size);
        return true;
}

int s3_set_crc64(struct object *o, uint64_t crc)
{
        char text[13];

        crc64nvme_base64(crc, text);
        return record(o, text);
}

int s3_append_sums(struct object *whole, const struct object *from, const struct object *o)
{
        uint64_t crc = 0;
        int err = s3_copy_algorithm(from, whole);

        if (!err && s3_add_crc64(from, &crc) && s3_add_crc64(o, &crc))
                err = s3_set_crc64(whole, crc);
        return err;
}

static int sum_seg(const struct seg *s, uint64_t *crc)
{
        enum { STEP = 256 << 10 };
        CLEANUP(closep) int fd = blob_open(s->blob);
        CLEANUP(freep) void *p = malloc(STEP);

        if (fd < 0 || !p)
                return fd < 0 ? fd : -ENOMEM;
        for (uint64_t at = 0; at < s->len;) {
                uint64_t left = s->len - at;
                ssize_t k = pread(fd, p, left < STEP ? (size_t)left : STEP, (off_t)(s->off + at));
                if (k <= 0)
                        return k ? -errno : -EIO;
                *crc = crc64nvme(*crc, p, (size_t)k);
                at += (uint64_t)k;
        }
        return 0;
}

static int sum_crc64(struct object *o)
{
        uint64_t crc = 0;

        for (unsigned i = 0; i < o->nsegs; i++) {
                int err = o->segs[i].blob ? sum_seg(&o->segs[i], &crc) : 0;
                if (err)
                        return err;
        }
        return s3_set_crc64(o, crc);
}

int s3_sum_copied_part(const struct object *head, struct object *part)
{
        const char *is = object_meta(head, ALGORITHM);

        return is && !strcmp(is, "CRC64NVME") ? sum_crc64(part) : 0;
}

int s3_sum_by_default(struct object *o)
{
        const char *is = object_meta(o, ALGORITHM);

        return s3_crc64(o) || (is && strcmp(is, "CRC64NVME")) ? 0 : sum_crc64(o);
}
