/* SPDX-License-Identifier: Apache-2.0 */
/* fetch_range.h: bytes of one request to the store, in pool buffers, while they are on their way or
 * waiting to be read. Inner part of the reader: fields are guarded by its lock except where said.
 */
#ifndef CKPTFS_MOUNT_FETCH_RANGE_H
#define CKPTFS_MOUNT_FETCH_RANGE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/pool.h"

struct reader;

struct fetch_range {
        struct fetch_range *next;
        struct reader *reader;
        uint64_t off, len; /* constant */
        struct pool_buf **
                bufs; /* len / POOL_BUF_SIZE, rounded up; bytes from `filled` on: I/O thread only */
        uint64_t filled;    /* bytes that may be read */
        uint64_t consumed;  /* bytes handed to readers; of one that is cached, to the page cache */
        uint64_t read_last; /* when, as cached_ranges.h counts */
        unsigned refs;      /* the list's, the request's, one a reply under way */
        unsigned tries;
        unsigned turn;                /* the reader's, when it was requested */
        uint32_t crc;                 /* of all bytes; known when it flies no more */
        struct fetch_range *deferred; /* the next one, see reader_moving() */
        bool hold;      /* the whole object: nothing is read before the store's checksum agreed */
        bool flying;    /* its last byte is not read yet */
        bool admitted;  /* crc is in the reader's chain */
        bool cacheable; /* who read it last has no page cache that keeps the bytes */
        bool cached;    /* among the ranges that stay, no more in the list */
        bool dead;      /* out of the list; its request stops at the next byte */
        int err;
};

/* A range with buffers for all of its bytes and one reference; NULL when the pool does not give
 * them. */
struct fetch_range *fetch_range_new(struct pool *pool, uint64_t off, uint64_t len,
                                    enum pool_want want);
/* Gives the buffers back: not under the reader's lock. */
void fetch_range_free(struct fetch_range *g);

/* Bytes of its buffers. */
size_t fetch_range_memory(const struct fetch_range *g);

/* Copies n arriving bytes to `at`, counted from the start of the range. */
void fetch_range_fill(struct fetch_range *g, uint64_t at, const void *p, size_t n);

/* Copies bytes of the file from `off` on, at most n and as far as this range holds them; returns
 * how many. */
size_t fetch_range_get(const struct fetch_range *g, uint64_t off, void *dst, size_t n);

/* Points iov at bytes [off, off+len) of the file as far as this range holds them; returns the
 * number of entries. */
int fetch_range_iov(const struct fetch_range *g, uint64_t off, uint64_t len, struct iovec *iov);

#endif
