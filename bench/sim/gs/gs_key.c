/* SPDX-License-Identifier: Apache-2.0 */
/* gs_key.c: keys of the customer's, as far as a client sees them: which one an object was stored
 * with is remembered, and demanded again. Nothing is encrypted. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/digest.h"
#include "bench/sim/gs/gs.h"
#include "base/banned.h"

enum { KEY_LEN = 32, SUM_TEXT_LEN = 48 };
#define KEY_SHA256 "x-goog-encryption-key-sha256"

static const char *header(const struct request *x, bool of_source, const char *name)
{
        char text[80];

        snprintf(text, sizeof text, "x-goog-%sencryption-%s", of_source ? "copy-source-" : "",
                 name);
        return http_header(&x->rq, text);
}

/* The hash that the request gives of its key, NULL without one. True when the reply is set. */
static bool bad_key(struct request *x, bool of_source, const char **sum)
{
        const char *key = header(x, of_source, "key");
        const char *algorithm = header(x, of_source, "algorithm");
        uint8_t bytes[KEY_LEN + 1], is[SHA256_LEN];
        char text[SUM_TEXT_LEN];

        *sum = header(x, of_source, "key-sha256");
        if (!key && !algorithm && !*sum)
                return false;
        if (!algorithm || strcmp(algorithm, "AES256"))
                gs_refuse(x, 400, "customerEncryptionAlgorithmIsInvalid", NULL);
        else if (!key || base64_decode(key, bytes, sizeof bytes) != KEY_LEN)
                gs_refuse(x, 400, "customerEncryptionKeyFormatIsInvalid", NULL);
        if (x->status)
                return true;
        sha256(bytes, KEY_LEN, is);
        base64_encode(is, sizeof is, text);
        if (!*sum || strcmp(*sum, text))
                gs_refuse(x, 400, "customerEncryptionKeySha256IsInvalid", NULL);
        return x->status != 0;
}

/* "Cloud Storage enforces the encryption configuration for all actions that create a new object,
 * such as uploading an object, copying an object, composing objects" ("Enforce or restrict the
 * encryption types for a bucket"). The reply is the vendor's, whose reason is that of a condition
 * that does not hold. */
static void check_kind(const struct service *s, struct request *x, const struct object *o)
{
        const char *kind = object_meta(o, KEY_SHA256)   ? "csek"
                           : object_meta(o, GS_KMS_KEY) ? "cmek"
                                                        : "google";

        if (s->gs->forbidden && !strcmp(s->gs->forbidden, kind))
                gs_refuse(x, 412, "conditionNotMet",
                          "Requested encryption type for object is not compliant with the bucket's "
                          "encryption enforcement configuration.");
}

bool gs_bad_encryption(const struct service *s, struct request *x, struct object *o)
{
        const char *sum;

        if (bad_key(x, false, &sum))
                return true;
        object_meta_remove(o, KEY_SHA256);
        if (sum && object_meta(o, GS_KMS_KEY))
                gs_refuse(x, 400, "invalid", "There are two keys.");
        else if (sum && object_meta_add(o, KEY_SHA256, sum))
                gs_fail(x, -ENOMEM);
        else
                check_kind(s, x, o);
        return x->status != 0;
}

bool gs_key_is_wrong(struct request *x, const struct object *o, bool of_source, bool *missing)
{
        const char *want = object_meta(o, KEY_SHA256), *given;

        *missing = false;
        if (bad_key(x, of_source, &given))
                return true;
        *missing = want && !given;
        if (want && given && strcmp(want, given))
                gs_refuse(x, 400, "customerEncryptionKeyIsIncorrect",
                          "The provided encryption key is incorrect.");
        else if (!want && given)
                gs_refuse(x, 400, "resourceNotEncryptedWithCustomerEncryptionKey",
                          "The target object is not encrypted by a customer-supplied key.");
        return x->status != 0;
}

bool gs_key_is_missing(struct request *x, const struct object *o, bool of_source)
{
        bool missing;

        if (gs_key_is_wrong(x, o, of_source, &missing))
                return true;
        if (missing)
                gs_refuse(x, 400, "resourceIsEncryptedWithCustomerEncryptionKey",
                          "The target object is encrypted by a customer-supplied encryption key.");
        return missing;
}
