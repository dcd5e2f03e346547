/* SPDX-License-Identifier: Apache-2.0 */
/* reader_int.h: what reader.c (what to fetch), reply.c (whom to hand it to) and reader_cache.c
 * (what stays) share. */
#ifndef CKPTFS_MOUNT_READER_INT_H
#define CKPTFS_MOUNT_READER_INT_H

#include "base/mutex.h"
#include "mount/read/cached_ranges.h"
#include "mount/read/crc_combine.h"
#include "mount/read/fetch_range.h"
#include "mount/read/reader.h"
#include "mount/read/readahead.h"
#include "mount/read/version_cache.h"

struct reader {
        atomic_uint refs;
        const struct reader_env *env;
        struct cached_version version; /* listed as long as `cached` has any */
        struct store_object obj;       /* etag: guarded as key */
        struct mutex mtx;              /* before the pool's and the store's locks */
        char *key; /* changed by reader_rename(), with the tree's lock and mtx */
        struct {
                unsigned turn;   /* how often it was renamed */
                unsigned moving; /* see reader_moving() */
                struct fetch_range *deferred;
                unsigned opens;
                int err; /* final: the object is not what it should be */
                struct readahead windows;
                struct crc_combine chain;
                struct fetch_range *ranges;  /* disjoint, newest first */
                struct cached_ranges cached; /* disjoint from them */
                bool lacks;                  /* memory for read-ahead */
                struct read_op *pending;     /* wait for bytes */
                struct fetch_range *garbage; /* to be freed once unlocked */
        } locked GUARDED_BY(&mtx);
};

/* A read that is ready: where its bytes are, and the ranges that must stay meanwhile. */
struct reply {
        int err;
        bool cacheable; /* as the read's */
        int niov;
        struct iovec iov[READ_IOV_MAX];
        int nranges;
        struct {
                struct fetch_range *range;
                uint64_t len;
        } from[READ_IOV_MAX];
        unsigned char *copy; /* the bytes, when they lie in too many pieces; else NULL */
};

enum op_state { OP_WAITS, OP_READY, OP_LACKS, OP_SCATTERED };

/* Unlocks, then frees the ranges that nobody needs. */
void reader_unlock(struct reader *r) RELEASE(&r->mtx);
/* The same for who makes room: makes none. */
void reader_unlock_only(struct reader *r) RELEASE(&r->mtx);

/* Drops one reference to the range. */
void reader_put_range_locked(struct reader *r, struct fetch_range *g) REQUIRES(&r->mtx);
/* Takes the range out of the list, or the cache; its request stops. */
void reader_drop_range_locked(struct reader *r, struct fetch_range *g) REQUIRES(&r->mtx);
/* The range that byte `at` is in, or NULL. */
struct fetch_range *reader_find_range_locked(struct reader *r, uint64_t at) REQUIRES(&r->mtx);
/* The range was read: it goes into the cache, or is dropped. */
void reader_finish_range_locked(struct reader *r, struct fetch_range *g) REQUIRES(&r->mtx);
/* Puts a range into the cache, which the caller takes out of the list; false when it does not
 * belong there, or there is no memory. */
bool reader_cache_locked(struct reader *r, struct fetch_range *g) REQUIRES(&r->mtx);
/* What is read from now on of the cache counts for the checksum of the whole once more. */
void reader_count_again_locked(struct reader *r) REQUIRES(&r->mtx);
/* Takes the range out of the cache: the caller drops it. */
void reader_uncache_locked(struct reader *r, struct fetch_range *g) REQUIRES(&r->mtx);
/* Drops all that is cached. */
void reader_forget_locked(struct reader *r) REQUIRES(&r->mtx);
/* The reader is used. */
void reader_touch_locked(struct reader *r) REQUIRES(&r->mtx);
/* Makes room where the cache has too much, or read-ahead too little. Without a lock. */
void reader_trim(struct reader *r, bool lacks);

/* Whether every byte of `op` is there; fills `rep` when it is and they fit. */
enum op_state reader_look_locked(struct reader *r, const struct read_op *op, struct reply *rep)
        REQUIRES(&r->mtx);
/* Puts a read among the pending ones after requesting what it lacks. */
void reader_start_locked(struct reader *r, struct read_op *op) REQUIRES(&r->mtx);
/* Answers every read whose bytes are there. Drops the lock around each answer. */
void reader_reply_locked(struct reader *r) REQUIRES(&r->mtx);
/* Fails the reads that wait for a byte of [off, off+len). Drops the lock around each answer. */
void reader_fail_locked(struct reader *r, uint64_t off, uint64_t len, int err) REQUIRES(&r->mtx);

#endif
