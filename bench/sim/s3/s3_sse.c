/* SPDX-License-Identifier: Apache-2.0 */
/* s3_sse.c: encryption, as far as a client sees it: what a request asks for is remembered and said,
 * and the customer's key is demanded again. Nothing is encrypted. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/digest.h"
#include "bench/sim/gs/gs.h"
#include "bench/sim/s3/s3.h"
#include "base/banned.h"

#define SSE     "x-amz-server-side-encryption"
#define KMS_KEY "-aws-kms-key-id"
#define SSE_C   SSE "-customer-"
#define SSE_MD5 SSE_C "key-md5"

enum { KEY_LEN = 32 };

static const char *const sse_headers[] = {SSE, SSE KMS_KEY, SSE "-bucket-key-enabled",
                                          SSE_C "algorithm", SSE_MD5};

static const char *key_header(const struct request *x, const char *prefix, const char *name)
{
        char header[96];

        snprintf(header, sizeof header, "%s%s%s", prefix, &SSE_C[6], name);
        return s3_in(x, header);
}

/* Whether the customer's key is no key, or not that of its MD5. */
static bool bad_key(struct request *x, const char *prefix)
{
        const char *key = key_header(x, prefix, "key"), *said = key_header(x, prefix, "key-MD5");
        const char *algorithm = key_header(x, prefix, "algorithm");
        uint8_t bytes[KEY_LEN + 1], sum[MD5_LEN];
        char text[32];

        if (!key && !said && !algorithm)
                return false;
        bool bad = !key || !said || !algorithm || strcmp(algorithm, "AES256") ||
                   base64_decode(key, bytes, sizeof bytes) != KEY_LEN;
        if (!bad) {
                md5(bytes, KEY_LEN, sum);
                base64_encode(sum, sizeof sum, text);
                bad = strcmp(text, said);
        }
        if (bad)
                s3_refuse(x, 400, "InvalidArgument",
                          "The secret key, its MD5 or the algorithm is missing or wrong.");
        return bad;
}

/* "For directory buckets, there are only two supported options for server-side encryption: [...]
 * AES256 and [...] aws:kms", the latter with a key (API reference, CreateSession). */
static bool is_unfit_for_directory(struct request *x)
{
        const char *mode = s3_in(x, SSE);
        bool kms = mode && !strcmp(mode, "aws:kms");

        if (!s3_is_express(x))
                return false;
        if (s3_in(x, SSE_C "algorithm") || (mode && !kms && strcmp(mode, "AES256")))
                s3_refuse(x, 400, "InvalidRequest", "Directory buckets encrypt otherwise.");
        else if (kms && !s3_in(x, SSE KMS_KEY))
                s3_refuse(x, 400, "InvalidRequest", "The KMS key is missing.");
        return x->status != 0;
}

bool s3_bad_session_encryption(struct request *x, struct session_terms *terms)
{
        const char *mode = s3_in(x, SSE), *key = s3_in(x, SSE KMS_KEY);

        snprintf(terms->sse, sizeof terms->sse, "%s", mode ? mode : "");
        snprintf(terms->kms_key, sizeof terms->kms_key, "%s", key ? key : "");
        return is_unfit_for_directory(x);
}

/* "The encryption request headers must match the encryption settings that are specified in the
 * CreateSession request" (API reference, PutObject). */
static bool differs_from_session(struct request *x)
{
        const char *mode = s3_in(x, SSE), *key = s3_in(x, SSE KMS_KEY);

        if (!s3_in(x, "x-amz-s3session-token") || (!mode && !key))
                return false;
        if ((mode && strcmp(mode, x->session.sse)) || (key && strcmp(key, x->session.kms_key)))
                s3_refuse(x, 400, "InvalidRequest", "The session was begun for other encryption.");
        return x->status != 0;
}

/* The value of a header, or what the session says in its place. */
static const char *wanted(const struct request *x, const char *name)
{
        const char *value = s3_in(x, name), *terms = "";

        if (!value && !strcmp(name, SSE))
                terms = x->session.sse;
        else if (!value && !strcmp(name, SSE KMS_KEY))
                terms = x->session.kms_key;
        return value ? value : *terms ? terms : NULL;
}

/* "Starting April 2026, Amazon S3 automatically disables server-side encryption with
 * customer-provided keys (SSE-C) for all new general purpose buckets [...] any PutObject,
 * CopyObject, PostObject, Multipart Upload, or replication request that specifies SSE-C encryption
 * will be rejected with an HTTP 403 AccessDenied error. Existing SSE-C encrypted objects in the
 * bucket are unaffected" (user guide, "Blocking or unblocking SSE-C for a general purpose bucket").
 */
static bool is_blocked(const struct service *s, struct request *x)
{
        if (s->s3->allow_sse_c || !s3_in(x, SSE_C "algorithm"))
                return false;
        s3_error(x, "AccessDenied");
        return true;
}

bool s3_bad_encryption(const struct service *s, struct request *x, struct object *o)
{
        const char *mode = s3_in(x, SSE);

        if (x->google)
                return gs_bad_encryption(s, x, o);
        if (is_unfit_for_directory(x) || differs_from_session(x))
                return true;
        if (mode && strcmp(mode, "AES256") && strcmp(mode, "aws:kms") &&
            strcmp(mode, "aws:kms:dsse")) {
                s3_refuse(x, 400, "InvalidArgument", "The encryption method is not known.");
                return true;
        }
        if (s3_in(x, SSE KMS_KEY) && (!mode || strncmp(mode, "aws:kms", 7))) {
                s3_refuse(x, 400, "InvalidArgument", "A KMS key needs the method aws:kms.");
                return true;
        }
        if (bad_key(x, "x-amz-") || is_blocked(s, x))
                return true;
        for (size_t i = 0; i < sizeof sse_headers / sizeof *sse_headers; i++) {
                const char *value = wanted(x, sse_headers[i]);
                object_meta_remove(o, sse_headers[i]);
                if (value && object_meta_add(o, sse_headers[i], value)) {
                        s3_error(x, "InternalError");
                        return true;
                }
        }
        return false;
}

bool s3_key_is_missing(struct request *x, const struct object *o, bool of_source)
{
        const char *prefix = of_source ? "x-amz-copy-source-" : "x-amz-";
        const char *want = object_meta(o, SSE_MD5), *given = key_header(x, prefix, "key-MD5");

        if (x->google)
                return gs_key_is_missing(x, o, of_source);
        if (bad_key(x, prefix))
                return true;
        if (want && !given)
                s3_refuse(x, 400, "InvalidRequest",
                          "The object was stored using a form of Server Side Encryption. The "
                          "correct parameters must be provided to retrieve the object.");
        else if (want && strcmp(want, given))
                s3_error(x, "AccessDenied");
        else if (!want && given)
                s3_refuse(x, 400, "InvalidRequest",
                          "The encryption parameters are not applicable to this object.");
        return x->status != 0;
}

void s3_encryption_headers(struct request *x, const struct object *o)
{
        for (size_t i = 0; i < sizeof sse_headers / sizeof *sse_headers; i++) {
                const char *value = object_meta(o, sse_headers[i]);
                if (value)
                        s3_header(x, sse_headers[i], value);
        }
}
