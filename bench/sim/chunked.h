/* SPDX-License-Identifier: Apache-2.0 */
/* chunked.h: bodies in the vendor's own chunks (Content-Encoding: aws-chunked), which carry a
 * checksum behind the data: SigV4 "Transferring payload in multiple chunks" of the S3 API
 * reference.
 *
 *      SIZE[;chunk-signature=...] CRLF DATA CRLF ... 0[;...] CRLF [NAME:VALUE CRLF]... CRLF
 *
 * SIZE is hexadecimal. Signatures of chunks are not verified. Pure. */
#ifndef CKPTFS_SIM_CHUNKED_H
#define CKPTFS_SIM_CHUNKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum chunked_state { CHUNK_SIZE, CHUNK_DATA, CHUNK_END, CHUNK_TRAILER, CHUNK_DONE };

/* Begins as all zero. */
struct chunked {
        enum chunked_state state;
        uint64_t left; /* of the chunk's data */
        uint64_t len;  /* of the data so far */
        size_t nline;
        char line[256];
        char crc32c[16]; /* the trailer x-amz-checksum-crc32c, "" for none */
};

/* Takes the next bytes as they came; data goes to fn, in place. 0, what fn returned, or -EBADMSG.
 */
typedef int chunked_fn(void *arg, char *p, size_t n);
int chunked_feed(struct chunked *c, char *p, size_t n, chunked_fn *fn, void *arg);

/* Takes n bytes of data unseen: at most `left`, in the state CHUNK_DATA. */
void chunked_skip(struct chunked *c, size_t n);

#endif
