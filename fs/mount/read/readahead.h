/* SPDX-License-Identifier: Apache-2.0 */
/* readahead.h: how far ahead of its readers a file is fetched. Pure policy: streams are told apart
 * by where they read, and each has a window that grows while its reader has to wait. Not
 * thread-safe: under the reader's lock. */
#ifndef CKPTFS_MOUNT_READAHEAD_H
#define CKPTFS_MOUNT_READAHEAD_H

#include <stdbool.h>
#include <stdint.h>

enum {
        READAHEAD_STREAMS = 32,    /* of one file at once; the one unused for longest makes room */
        READAHEAD_FIRST = 2 << 20, /* of a stream that begins a file */
        READAHEAD_SECOND = 16 << 20, /* of one that goes on; then it doubles */
        READAHEAD_TRUST = 4,         /* times what was read, of one that may not go on */
        READAHEAD_GAPS = 16,         /* bytes passed for one that is read: more are not fetched */
        READAHEAD_SLACK = 1 << 20, /* a request this far past the fetched end still belongs to it */
        READAHEAD_REQUEST = 1 << 20 /* smallest request of read-ahead */
};

struct stream {
        bool used;
        uint64_t start;   /* first byte ever asked for */
        uint64_t next;    /* one past the furthest byte asked for */
        uint64_t asked;   /* bytes asked for, without the gaps */
        uint64_t ahead;   /* one past the furthest byte requested from the store */
        uint64_t window;  /* how far `ahead` may lead `next` */
        uint64_t grow_at; /* `next` at which the window may double */
        uint64_t seq;     /* of the last hit */
};

struct readahead {
        struct stream v[READAHEAD_STREAMS];
        uint64_t seq;
        uint64_t max;       /* of all windows together */
        uint64_t read_size; /* largest request of read-ahead */
};

/* The stream that a read of [off, off+len) belongs to, made if there was none; *evicted is the
 * stream that had to make room for it, or has used=false. `waited`: the bytes were not there when
 * they were asked for. */
struct stream *readahead_hit(struct readahead *w, uint64_t off, uint64_t len, bool waited,
                             struct stream *evicted);

/* Bytes of the next read-ahead request of `s` in a file of `size` bytes: 0 for none now. */
uint64_t readahead_next(const struct readahead *w, const struct stream *s, uint64_t size);

#endif
