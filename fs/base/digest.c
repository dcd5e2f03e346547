/* SPDX-License-Identifier: Apache-2.0 */
/* digest.c: see digest.h. */
#include "base/digest.h"

#include <endian.h>
#include <errno.h>
#include <isa-l/crc.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/provider.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#include "base/banned.h"

#define CRC32C_POLY    0x82f63b78U
#define CRC64NVME_POLY 0x9a6c9329ac4bc9b5ULL

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

/* What 8 bytes at once come to: row k is that of one byte with k of zero behind it. */
static uint64_t crc64_rows[8][256];

static void fill_crc64_rows(void)
{
        for (unsigned i = 0; i < 256; i++) {
                uint64_t crc = i;
                for (int bit = 0; bit < 8; bit++)
                        crc = (crc & 1) ? (crc >> 1) ^ CRC64NVME_POLY : crc >> 1;
                crc64_rows[0][i] = crc;
        }
        for (int k = 1; k < 8; k++)
                for (unsigned i = 0; i < 256; i++) {
                        uint64_t before = crc64_rows[k - 1][i];
                        crc64_rows[k][i] = crc64_rows[0][before & 255] ^ before >> 8;
                }
}

uint64_t crc64nvme(uint64_t crc, const void *p, size_t n)
{
        static pthread_once_t once = PTHREAD_ONCE_INIT;
        const uint8_t *s = p;

        pthread_once(&once, fill_crc64_rows);
        crc = ~crc;
        for (; n >= 8; s += 8, n -= 8) {
                uint64_t v;
                memcpy(&v, s, sizeof v);
                v = le64toh(v) ^ crc;
                crc = crc64_rows[7][v & 255] ^ crc64_rows[6][v >> 8 & 255] ^
                      crc64_rows[5][v >> 16 & 255] ^ crc64_rows[4][v >> 24 & 255] ^
                      crc64_rows[3][v >> 32 & 255] ^ crc64_rows[2][v >> 40 & 255] ^
                      crc64_rows[1][v >> 48 & 255] ^ crc64_rows[0][v >> 56];
        }
        for (; n; s++, n--)
                crc = crc64_rows[0][(crc ^ *s) & 255] ^ crc >> 8;
        return ~crc;
}

/* Polynomials modulo one of a CRC: `poly`, and x^0, which is the highest bit of a reflected one. */
struct crc_field {
        uint64_t poly, one;
};
static const struct crc_field crc32c_field = {CRC32C_POLY, 1ULL << 31};
static const struct crc_field crc64nvme_field = {CRC64NVME_POLY, 1ULL << 63};

static uint64_t mul_mod(const struct crc_field *f, uint64_t a, uint64_t b)
{
        uint64_t product = 0;
        for (uint64_t bit = f->one; bit; bit >>= 1) {
                if (a & bit)
                        product ^= b;
                b = (b & 1) ? (b >> 1) ^ f->poly : b >> 1;
        }
        return product;
}

/* Bytes of zero behind A multiply its CRC by x^8 each; x^(8 len) comes by squaring. The inversions
 * before and after cancel out (as in zlib's crc32_combine()). */
static uint64_t combine(const struct crc_field *f, uint64_t crc_a, uint64_t crc_b, uint64_t len_b)
{
        uint64_t shift = f->one, square = f->one >> 8;
        for (; len_b; len_b >>= 1) {
                if (len_b & 1)
                        shift = mul_mod(f, shift, square);
                square = mul_mod(f, square, square);
        }
        return mul_mod(f, crc_a, shift) ^ crc_b;
}

uint32_t crc32c_combine(uint32_t crc_a, uint32_t crc_b, uint64_t len_b)
{
        return (uint32_t)combine(&crc32c_field, crc_a, crc_b, len_b);
}

uint64_t crc64nvme_combine(uint64_t crc_a, uint64_t crc_b, uint64_t len_b)
{
        return combine(&crc64nvme_field, crc_a, crc_b, len_b);
}

static EVP_MD *own_sha256;

static void fetch_sha256(void)
{
        own_sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
}

/* Fetched once: EVP_sha256() is looked up again each time it is used. Never freed. */
static const EVP_MD *sha256_kind(void)
{
        static pthread_once_t once = PTHREAD_ONCE_INIT;
        pthread_once(&once, fetch_sha256);
        return own_sha256;
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
        digest(sha256_kind(), p, n, out, SHA256_LEN);
}

void sha1(const void *p, size_t n, uint8_t out[SHA1_LEN])
{
        digest(EVP_sha1(), p, n, out, SHA1_LEN);
}

static const EVP_MD *md5_kind(void)
{
        static pthread_once_t once = PTHREAD_ONCE_INIT;
        pthread_once(&once, fetch_md5);
        return own_md5;
}

void md5(const void *p, size_t n, uint8_t out[MD5_LEN])
{
        digest(md5_kind(), p, n, out, MD5_LEN);
}

int md5_read(int (*read)(void *arg, uint64_t off, void *dst, size_t n), void *arg, uint64_t len,
             uint8_t out[MD5_LEN])
{
        enum { PIECE = 64 << 10 };
        CLEANUP(freep) char *piece = malloc(PIECE);
        EVP_MD_CTX *sum = EVP_MD_CTX_new();
        const EVP_MD *kind = md5_kind();
        int err = piece && sum && kind && EVP_DigestInit_ex(sum, kind, NULL) ? 0 : -ENOMEM;

        for (uint64_t at = 0; !err && at < len;) {
                size_t n = len - at < PIECE ? (size_t)(len - at) : PIECE;
                err = read(arg, at, piece, n);
                if (!err && !EVP_DigestUpdate(sum, piece, n))
                        err = -ENOMEM;
                at += n;
        }
        if (!err && !EVP_DigestFinal_ex(sum, out, NULL))
                err = -ENOMEM;
        EVP_MD_CTX_free(sum);
        return err;
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
        uint32_t be = htobe32(crc);
        base64_encode(&be, sizeof be, out);
}

void crc64nvme_base64(uint64_t crc, char out[13])
{
        uint64_t be = htobe64(crc);
        base64_encode(&be, sizeof be, out);
}

const char *digest_library(void)
{
        return OpenSSL_version(OPENSSL_VERSION_STRING);
}
