/* SPDX-License-Identifier: Apache-2.0 */
/* s3_options.c: what the user may ask of S3 for every request: who pays, whose the bucket is, and
 * how it encrypts. */
#include "store/s3/s3.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "store/core/customer_key.h"

#include "base/banned.h"

static bool given(const char *text)
{
        return text && *text;
}

bool s3_is_account(const char *text)
{
        enum { DIGITS = 12 };
        return strlen(text) == DIGITS && strspn(text, "0123456789") == DIGITS;
}

/* "a=b&c=d" in the letters that a URL has. */
static bool are_tags(const char *text)
{
        enum { TAGS_MAX = 10 };
        size_t n = 1;

        if (strspn(text,
                   "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~*+%=&/:@") !=
                    strlen(text) ||
            *text == '=' || *text == '&')
                return false;
        for (const char *p = text; (p = strchr(p, '&')); n++, p++)
                if (p[1] == '&' || p[1] == '=' || !p[1])
                        return false;
        return n <= TAGS_MAX;
}

/* Objects of these classes cannot be read until they are restored. */
static bool is_archive(const char *class)
{
        return !strcmp(class, "GLACIER") || !strcmp(class, "DEEP_ARCHIVE");
}

/* "Directory buckets only support EXPRESS_ONEZONE [...] in Availability Zones and ONEZONE_IA [...]
 * in Dedicated Local Zones" (API reference, PutObject). Their names do not tell which for certain.
 */
static bool is_of_directory(const char *class)
{
        return !strcmp(class, "EXPRESS_ONEZONE") || !strcmp(class, "ONEZONE_IA");
}

/* Directory buckets have one class, and no tags. */
static int open_storage(struct store_kind *k, const struct store_config *cfg, char *why,
                        size_t nwhy)
{
        const char *class = cfg->storage_class;
        bool directory = s3_is_express(k->bucket);

        if (given(class) &&
            (is_archive(class) || class[strspn(class, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")])) {
                snprintf(why, nwhy,
                         "storage_class %s cannot be read back: give one that can, as GLACIER_IR",
                         class);
                return -EINVAL;
        }
        if (given(cfg->tags) && !are_tags(cfg->tags)) {
                snprintf(why, nwhy,
                         "tags '%s' are none: give at most 10, as a=b&c=d, escaped as in a URL",
                         cfg->tags);
                return -EINVAL;
        }
        if (directory && (given(cfg->tags) || (given(class) && !is_of_directory(class)))) {
                snprintf(why, nwhy,
                         "a directory bucket has no tags and one storage class, EXPRESS_ONEZONE "
                         "or, in a Local Zone, ONEZONE_IA: give neither");
                return -EINVAL;
        }
        if ((given(class) && !(k->storage_class = strdup(class))) ||
            (given(cfg->tags) && !(k->tags = strdup(cfg->tags))))
                return -ENOMEM;
        return 0;
}

int s3_options_open(struct store_kind *k, const struct store_config *cfg, char *why, size_t nwhy)
{
        const char *sse = given(cfg->sse) && strcmp(cfg->sse, "default") != 0 ? cfg->sse : NULL;

        k->requester_pays = cfg->requester_pays;
        k->checksums = cfg->checksums;
        if (k->checksums == STORE_CHECKSUMS_AUTO && cred_chain_sums_when_required(k->creds))
                k->checksums = STORE_CHECKSUMS_WHEN_REQUIRED;
        if (given(cfg->sse_kms_key) && (!sse || strncmp(sse, "aws:kms", 7) != 0)) {
                snprintf(why, nwhy, "sse_kms_key is given but sse is %s: add sse=aws:kms",
                         sse ? sse : "default");
                return -EINVAL;
        }
        if (given(cfg->sse_c_key_file) && sse) {
                snprintf(why, nwhy, "sse_c_key_file and sse are both given: give one");
                return -EINVAL;
        }
        if (s3_is_express(k->bucket) &&
            (given(cfg->sse_c_key_file) ||
             (sse && strcmp(sse, "AES256") && strcmp(sse, "aws:kms")))) {
                snprintf(why, nwhy,
                         "a directory bucket encrypts by sse=AES256 or sse=aws:kms: give one, or "
                         "none");
                return -EINVAL;
        }
        if (s3_is_express(k->bucket) && sse && !strcmp(sse, "aws:kms") &&
            !given(cfg->sse_kms_key)) {
                snprintf(
                        why, nwhy,
                        "a directory bucket has no key of the account's: give sse_kms_key, the one "
                        "that the bucket is set to");
                return -EINVAL;
        }
        if (given(cfg->bucket_owner) && !s3_is_account(cfg->bucket_owner)) {
                snprintf(why, nwhy, "bucket_owner %s is no account: give its 12 digits",
                         cfg->bucket_owner);
                return -EINVAL;
        }
        int err = open_storage(k, cfg, why, nwhy);
        if (err)
                return err;
        if (cfg->bucket_key && (!sse || strncmp(sse, "aws:kms", 7) != 0)) {
                snprintf(why, nwhy, "bucket_key is on but sse is %s: add sse=aws:kms",
                         sse ? sse : "default");
                return -EINVAL;
        }
        k->bucket_key = cfg->bucket_key;
        if (given(cfg->bucket_owner) && !(k->bucket_owner = strdup(cfg->bucket_owner)))
                return -ENOMEM;
        if (sse && !(k->sse = strdup(sse)))
                return -ENOMEM;
        if (given(cfg->sse_kms_key) && !(k->sse_kms_key = strdup(cfg->sse_kms_key)))
                return -ENOMEM;
        if (!given(cfg->sse_c_key_file))
                return 0;
        return customer_key_read("sse_c_key_file", cfg->sse_c_key_file, k->endpoint,
                                 (struct customer_digest){md5, MD5_LEN}, &k->sse_c, why, nwhy);
}

void s3_options_close(struct store_kind *k)
{
        free(k->bucket_owner);
        free(k->sse);
        free(k->sse_kms_key);
        free(k->storage_class);
        free(k->tags);
        explicit_bzero(&k->sse_c, sizeof k->sse_c);
}

static void customer_key(const struct store_kind *k, struct s3_msg *m, bool of_source)
{
        static const char *const names[2][3] = {
                {"x-amz-server-side-encryption-customer-algorithm",
                 "x-amz-server-side-encryption-customer-key",
                 "x-amz-server-side-encryption-customer-key-MD5"},
                {"x-amz-copy-source-server-side-encryption-customer-algorithm",
                 "x-amz-copy-source-server-side-encryption-customer-key",
                 "x-amz-copy-source-server-side-encryption-customer-key-MD5"},
        };
        s3_header(m, names[of_source][0], "AES256");
        s3_header(m, names[of_source][1], k->sse_c.key);
        s3_header(m, names[of_source][2], k->sse_c.digest);
}

/* Whether the options ask for the storage class of what op makes. */
static bool sets_class(const struct store_kind *k, const struct op *op)
{
        bool writes = op->verb == OP_PUT || op->verb == OP_UPLOAD_CREATE || op->verb == OP_COPY ||
                      op->verb == OP_RENAME;
        /* The object keeps the class that it is known to have; STANDARD is not told. */
        const char *class = op->meta ? store_meta_get(op->meta, ":" S3_CLASS) : NULL;
        bool unknown = op->verb == OP_SET_META && op->meta && (!class || is_archive(class));

        return k->storage_class && (writes || unknown);
}

bool s3_hands_class_on(const struct store_kind *k, const struct op *op, const char *class)
{
        return !sets_class(k, op) && !is_archive(class);
}

void s3_option_headers(const struct store_kind *k, const struct op *op, struct s3_msg *m)
{
        bool head = m->method == HTTP_HEAD || op->head_status;
        bool asks = head || m->method == HTTP_GET; /* before it writes */
        /* Metadata is changed by a copy onto itself, and a marker renamed by a copy. */
        bool copies_all = !head && s3_is_copy(m) && op->verb != OP_PART_COPY;
        bool begins = copies_all || (!asks && (op->verb == OP_PUT || op->verb == OP_UPLOAD_CREATE));
        bool copies = copies_all || (!head && op->verb == OP_PART_COPY);
        /* The vendor asks for the key again where parts have checksums. */
        bool of_upload = op->verb == OP_PART || op->verb == OP_PARTS || op->verb == OP_COMPLETE;
        bool touches = head || begins || copies || of_upload || op->verb == OP_GET;

        if (k->requester_pays)
                s3_header(m, "x-amz-request-payer", "requester");
        if (k->bucket_owner)
                s3_header(m, "x-amz-expected-bucket-owner", k->bucket_owner);
        if (k->bucket_owner && copies)
                s3_header(m, "x-amz-source-expected-bucket-owner", k->bucket_owner);
        if (begins && sets_class(k, op))
                s3_header(m, S3_CLASS, k->storage_class);
        const char *tags = op->src ? op->tags : k->tags; /* a copy has those of its source */
        if (begins && !copies_all && tags)
                s3_header(m, "x-amz-tagging", tags);
        /* "The encryption request headers must match the encryption settings that are specified in
         * the CreateSession request", which need not be told again (API reference, PutObject);
         * copies are not of the session. */
        begins = begins && (!k->session || copies_all);
        if (begins && k->sse)
                s3_header(m, "x-amz-server-side-encryption", k->sse);
        if (begins && k->sse_kms_key)
                s3_header(m, "x-amz-server-side-encryption-aws-kms-key-id", k->sse_kms_key);
        if (begins && k->bucket_key && !k->session) /* a session always has one */
                s3_header(m, "x-amz-server-side-encryption-bucket-key-enabled", "true");
        if (*k->sse_c.key && touches)
                customer_key(k, m, false);
        if (*k->sse_c.key && copies)
                customer_key(k, m, true);
}
