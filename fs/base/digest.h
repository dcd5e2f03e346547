/* SPDX-License-Identifier: Apache-2.0 */
/* digest.h: checksums and the text forms that stores want of them.
 *
 * CRC32C (Castagnoli, reflected 0x82f63b78, RFC 3720 appendix B.4) comes from ISA-L, CRC64NVME
 * (reflected 0x9a6c9329ac4bc9b5, NVM Express NVM Command Set Specification, "64b CRC") from tables
 * here, at 2 GB/s a core; the others come from OpenSSL. All are pure and thread-safe. */
#ifndef CKPTFS_BASE_DIGEST_H
#define CKPTFS_BASE_DIGEST_H

#include <stddef.h>
#include <stdint.h>

enum { SHA256_LEN = 32, SHA1_LEN = 20, MD5_LEN = 16 };

/* The CRC32C of all bytes so far, given that of the bytes before (`crc` 0 at first). */
uint32_t crc32c(uint32_t crc, const void *p, size_t n);

/* The same with the polynomial of zip and gzip (reflected 0xedb88320, RFC 1952). */
uint32_t crc32(uint32_t crc, const void *p, size_t n);

/* The CRC32C of A followed by B, from both CRCs and the length of B, in time O(log len_b). */
uint32_t crc32c_combine(uint32_t crc_a, uint32_t crc_b, uint64_t len_b);

/* The same of CRC64NVME. */
uint64_t crc64nvme(uint64_t crc, const void *p, size_t n);
uint64_t crc64nvme_combine(uint64_t crc_a, uint64_t crc_b, uint64_t len_b);

void sha256(const void *p, size_t n, uint8_t out[SHA256_LEN]);
void hmac_sha256(const void *key, size_t nkey, const void *p, size_t n, uint8_t out[SHA256_LEN]);
void hmac_sha1(const void *key, size_t nkey, const void *p, size_t n, uint8_t out[SHA1_LEN]);
void sha1(const void *p, size_t n, uint8_t out[SHA1_LEN]);
void md5(const void *p, size_t n, uint8_t out[MD5_LEN]);
/* The same of `len` bytes that read() copies, piece by piece. 0, what read() returned, or -ENOMEM.
 */
int md5_read(int (*read)(void *arg, uint64_t off, void *dst, size_t n), void *arg, uint64_t len,
             uint8_t out[MD5_LEN]);
/* The version of the library that these come from. */
const char *digest_library(void);

/* FNV-1a of 64 bits, with the offset basis and prime of its authors: for tables, not for secrets.
 * Of all bytes so far, given that of the bytes before (FNV1A_BASIS at first). */
#define FNV1A_BASIS UINT64_C(0xcbf29ce484222325)
static inline uint64_t fnv1a(uint64_t hash, const void *bytes, size_t n)
{
        for (const unsigned char *p = (const unsigned char *)bytes; n; n--)
                hash = (hash ^ *p++) * UINT64_C(0x100000001b3);
        return hash;
}

/* Lower-case hexadecimal; `out` holds 2n+1 bytes. */
void hex_encode(const void *p, size_t n, char *out);

/* Base64 (RFC 4648, padded); `out` holds 4*((n+2)/3)+1 bytes. */
void base64_encode(const void *p, size_t n, char *out);

/* Decodes padded base64 into at most `max` bytes. Returns the number, or -1 for a bad text. */
int base64_decode(const char *text, void *out, size_t max);

/* The value of x-amz-checksum-crc32c and x-goog-hash: base64 of the big-endian CRC. */
void crc32c_base64(uint32_t crc, char out[9]);
/* The same of x-amz-checksum-crc64nvme. */
void crc64nvme_base64(uint64_t crc, char out[13]);

#endif
