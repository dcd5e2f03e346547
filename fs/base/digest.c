/* SPDX-License-Identifier: Apache-2.0 */
/* digest.c: see digest.h. */
#include "base/digest.h"

#include <isa-l/crc.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/provider.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "base/banned.h"

#define CRC32C_POLY 0x82f63b78U

uint32_t crc32(uint32_t crc, const void *p, size_t n)
{
        return crc32_gzip_refl(crc, p, n);
}

uint32_t crc32c(uint32_t crc, const void *p, size_t n)
{
        const unsigned char *s = p;

        /* crc32_iscsi() neither inverts nor takes more than an int. */
        crc = ~crc;
        while (n > 0) {
                size_t now = n < (1U << 30) ? n : 1U << 30;
                crc = crc32_iscsi((unsigned char *)s, (int)now, crc);
                s += now;
                n -= now;
        }
        return ~crc;
}

/* The product of two polynomials modulo the CRC's; the highest bit is the coefficient of x^0. */
static uint32_t mul_mod(uint32_t a, uint32_t b)
{
        uint32_t product = 0;
        for (uint32_t bit = 1U << 31; bit; bit >>= 1) {
                if (a & bit)
                        product ^= b;
                b = (b & 1) ? (b >> 1) ^ CRC32C_POLY : b >> 1;
        }
        return product;
}

/* Bytes of zero behind A multiply its CRC by x^8 each; x^(8 len) comes by squaring. The inversions
 * before and after cancel out (as in zlib's crc32_combine()). */
uint32_t crc32c_combine(uint32_t crc_a, uint32_t crc_b, uint64_t len_b)
{
        uint32_t shift = 1U << 31, square = 1U << (31 - 8);
        for (; len_b; len_b >>= 1) {
                if (len_b & 1)
                        shift = mul_mod(shift, square);
                square = mul_mod(square, square);
        }
        return mul_mod(crc_a, shift) ^ crc_b;
}

/* OpenSSL fails only without memory; zeros then make a digest that matches nothing. */
static void digest(const EVP_MD *kind, const void *p, size_t n, uint8_t *out, size_t len)
{
        if (!kind || !EVP_Digest(p, n, out, NULL, kind, NULL))
                memset(out, 0, len);
}

/* Stores want MD5 as a checksum, on which no secret depends; where the machine's OpenSSL is set to
 * FIPS, which has none, it comes from a library context of its own. Never freed: used until exit.
 */
static EVP_MD *own_md5;

static void fetch_md5(void)
{
        OSSL_LIB_CTX *lib = OSSL_LIB_CTX_new();
        if (lib && OSSL_PROVIDER_load(lib, "default"))
                own_md5 = EVP_MD_fetch(lib, "MD5", "provider=default");
        if (!own_md5)
                OSSL_LIB_CTX_free(lib);
}

void sha256(const void *p, size_t n, uint8_t out[SHA256_LEN])
{
        digest(EVP_sha256(), p, n, out, SHA256_LEN);
}

void sha1(const void *p, size_t n, uint8_t out[SHA1_LEN])
{
        digest(EVP_sha1(), p, n, out, SHA1_LEN);
}

void md5(const void *p, size_t n, uint8_t out[MD5_LEN])
{
        static pthread_once_t once = PTHREAD_ONCE_INIT;
        pthread_once(&once, fetch_md5);
        digest(own_md5, p, n, out, MD5_LEN);
}

void hmac_sha256(const void *key, size_t nkey, const void *p, size_t n, uint8_t out[SHA256_LEN])
{
        if (!HMAC(EVP_sha256(), key, (int)nkey, p, n, out, NULL))
                memset(out, 0, SHA256_LEN);
}

void hmac_sha1(const void *key, size_t nkey, const void *p, size_t n, uint8_t out[SHA1_LEN])
{
        if (!HMAC(EVP_sha1(), key, (int)nkey, p, n, out, NULL))
                memset(out, 0, SHA1_LEN);
}

void hex_encode(const void *p, size_t n, char *out)
{
        static const char digits[] = "0123456789abcdef";
        const uint8_t *s = p;
        for (size_t i = 0; i < n; i++) {
                *out++ = digits[s[i] >> 4];
                *out++ = digits[s[i] & 15];
        }
        *out = 0;
}

static const char base64_digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_encode(const void *p, size_t n, char *out)
{
        const uint8_t *s = p;
        for (size_t i = 0; i < n; i += 3) {
                size_t have = n - i < 3 ? n - i : 3;
                uint32_t v = (uint32_t)s[i] << 16;
                if (have > 1)
                        v |= (uint32_t)s[i + 1] << 8;
                if (have > 2)
                        v |= s[i + 2];
                *out++ = base64_digits[v >> 18];
                *out++ = base64_digits[v >> 12 & 63];
                *out++ = have > 1 ? base64_digits[v >> 6 & 63] : '=';
                *out++ = have > 2 ? base64_digits[v & 63] : '=';
        }
        *out = 0;
}

/* Four characters to at most three bytes. Returns how many, or -1; only the last group may pad. */
static int decode_group(const char *text, bool last, uint8_t out[3])
{
        uint32_t v = 0;
        int pad = 0;
        for (int i = 0; i < 4; i++) {
                const char *at = text[i] ? strchr(base64_digits, text[i]) : NULL;
                v <<= 6;
                if (text[i] == '=' && last && i >= 2)
                        pad++;
                else if (!at || pad)
                        return -1;
                else
                        v |= (uint32_t)(at - base64_digits);
        }
        out[0] = (uint8_t)(v >> 16);
        out[1] = (uint8_t)(v >> 8);
        out[2] = (uint8_t)v;
        return 3 - pad;
}

int base64_decode(const char *text, void *out, size_t max)
{
        size_t n = strlen(text), len = 0;
        if (n % 4)
                return -1;
        for (size_t i = 0; i < n; i += 4) {
                uint8_t group[3];
                int got = decode_group(text + i, i + 4 == n, group);
                if (got < 0 || len + (size_t)got > max)
                        return -1;
                memcpy((char *)out + len, group, (size_t)got);
                len += (size_t)got;
        }
        return (int)len;
}

void crc32c_base64(uint32_t crc, char out[9])
{
        const uint8_t be[4] = {(uint8_t)(crc >> 24), (uint8_t)(crc >> 16), (uint8_t)(crc >> 8),
                               (uint8_t)crc};
        base64_encode(be, sizeof be, out);
}

const char *digest_library(void)
{
        return OpenSSL_version(OPENSSL_VERSION_STRING);
}
