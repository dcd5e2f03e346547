/* SPDX-License-Identifier: Apache-2.0 */
/* chunked.h: bodies in chunks, as HTTP has them (Transfer-Encoding: chunked; RFC 9112 7.1) and as
 * the vendor has them once more inside (Content-Encoding: aws-chunked; SigV4 "Transferring payload
 * in multiple chunks" of the S3 API reference), with a checksum behind the data.
 *
 *      SIZE[;chunk-signature=...] CRLF DATA CRLF ... 0[;...] CRLF [NAME:VALUE CRLF]... CRLF
 *
 * SIZE is hexadecimal. What is behind it counts for nothing: signatures of chunks are not verified.
 * Pure. */
#ifndef CKPTFS_SIM_CHUNKED_H
#define CKPTFS_SIM_CHUNKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { CHUNK_TRAILERS_MAX = 64 };
enum chunked_state { CHUNK_SIZE, CHUNK_DATA, CHUNK_END, CHUNK_TRAILER, CHUNK_DONE };

/* Begins as all zero. */
struct chunked {
        enum chunked_state state;
        uint64_t left; /* of the chunk's data */
        uint64_t len;  /* of the data so far */
        unsigned ntrailers;
        size_t nline;
        char line[256];
        char crc32c[16]; /* the trailer x-amz-checksum-crc32c, "" for none */
};

/* Takes the next bytes as they came; data goes to fn, in place. 0, what fn returned, or -EBADMSG.
 */
typedef int chunked_fn(void *arg, char *p, size_t n);
int chunked_feed(struct chunked *c, char *p, size_t n, chunked_fn *fn, void *arg);

/* Takes bytes of the frame, up to the data of a chunk or to the end: how many it took, or -EBADMSG.
 */
ssize_t chunked_frame(struct chunked *c, const char *p, size_t n);

/* Takes n bytes of data unseen: at most `left`, in the state CHUNK_DATA. */
void chunked_skip(struct chunked *c, size_t n);

#endif
