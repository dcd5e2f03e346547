/* SPDX-License-Identifier: Apache-2.0 */
/* sign_rs256.c: see sign_rs256.h. */
#include "base/sign/sign_rs256.h"

#include <errno.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <string.h>

#include "base/banned.h"

/* A key that wants a passphrase is not asked for one on the terminal. */
static int no_passphrase(char *buf, int size, int rw, void *arg)
{
        (void)buf;
        (void)size;
        (void)rw;
        (void)arg;
        return -1;
}

static EVP_PKEY *read_key(const char *pem)
{
        BIO *bio = BIO_new_mem_buf(pem, (int)strlen(pem));
        EVP_PKEY *key = bio ? PEM_read_bio_PrivateKey(bio, NULL, no_passphrase, NULL) : NULL;
        BIO_free(bio);
        if (key && EVP_PKEY_get_base_id(key) != EVP_PKEY_RSA) {
                EVP_PKEY_free(key);
                key = NULL;
        }
        ERR_clear_error();
        return key;
}

int sign_rs256(const char *pem, const void *p, size_t n, struct buf *signature)
{
        EVP_PKEY *key = read_key(pem);
        if (!key)
                return -EINVAL;
        EVP_MD_CTX *ctx = EVP_MD_CTX_new();
        size_t len = (size_t)EVP_PKEY_get_size(key);
        int err = -ENOMEM;
        if (ctx && !buf_grow(signature, len) &&
            EVP_DigestSignInit(ctx, NULL, EVP_sha256(), NULL, key) == 1 &&
            EVP_DigestSign(ctx, (unsigned char *)signature->p + signature->len, &len, p, n) == 1) {
                signature->len += len;
                signature->p[signature->len] = 0;
                err = 0;
        }
        EVP_MD_CTX_free(ctx);
        EVP_PKEY_free(key);
        ERR_clear_error();
        return err;
}
