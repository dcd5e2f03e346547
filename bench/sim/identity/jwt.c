/* SPDX-License-Identifier: Apache-2.0 */
/* jwt.c: see jwt.h. */
#include "bench/sim/identity/jwt.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/text/json.h"
#include "base/banned.h"

enum { TOKEN_MAX = 16384 };

/* Base64 for URLs, without padding, of n characters. Returns the number of bytes or -1. */
static int decode(const char *p, size_t n, char *out, size_t max)
{
        char text[TOKEN_MAX + 4];

        if (n >= TOKEN_MAX)
                return -1;
        for (size_t i = 0; i < n; i++)
                text[i] = p[i] == '-' ? '+' : p[i] == '_' ? '/' : p[i];
        while (n % 4)
                text[n++] = '=';
        text[n] = 0;
        return base64_decode(text, out, max);
}

static int read_part(const char *p, size_t n, struct json **out)
{
        char text[TOKEN_MAX], why[128];
        int len = decode(p, n, text, sizeof text);

        return len < 0 ? -EINVAL : json_parse("token", text, (size_t)len, out, why, sizeof why);
}

static int verify(const char *key_file, const char *p, size_t n, const void *sig, size_t nsig)
{
        FILE *f = fopen(key_file, "re");
        EVP_PKEY *key = f ? PEM_read_PUBKEY(f, NULL, NULL, NULL) : NULL;
        EVP_MD_CTX *ctx = key ? EVP_MD_CTX_new() : NULL;
        bool good = ctx && EVP_DigestVerifyInit(ctx, NULL, EVP_sha256(), NULL, key) == 1 &&
                    EVP_DigestVerify(ctx, sig, nsig, (const unsigned char *)p, n) == 1;

        EVP_MD_CTX_free(ctx);
        EVP_PKEY_free(key);
        ERR_clear_error();
        if (f)
                fclose(f);
        return !key ? -ENOENT : good ? 0 : -EACCES;
}

int jwt_verify(const char *token, const char *key_file, struct json **claims)
{
        CLEANUP(json_freep) struct json *head = NULL, *body = NULL;
        const char *first = token ? strchr(token, '.') : NULL;
        const char *second = first ? strchr(first + 1, '.') : NULL;
        char sig[1024];

        if (!second)
                return -EINVAL;
        int nsig = decode(second + 1, strlen(second + 1), sig, sizeof sig);
        int err = nsig < 0 ? -EINVAL : read_part(token, (size_t)(first - token), &head);
        if (!err && strcmp(json_string(json_get(head, "alg"), ""), "RS256"))
                err = -EINVAL;
        if (!err)
                err = read_part(first + 1, (size_t)(second - first - 1), &body);
        if (!err && key_file)
                err = verify(key_file, token, (size_t)(second - token), sig, (size_t)nsig);
        if (!err)
                *claims = TAKE_PTR(body);
        return err;
}
