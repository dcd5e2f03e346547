/* SPDX-License-Identifier: Apache-2.0 */
/* pool.h: the one place where the data of files lies in memory, with a hard cap.
 *
 * Buffers are of one size, reference-counted, and given out last-in first-out so that a hot one is
 * used again. The cap has two marks: above the low one (seven eighths) POOL_TRY gets nothing and
 * writers wait for their reply; between the marks lies room for what is already on its way.
 * Thread-safe. */
#ifndef CKPTFS_BASE_POOL_H
#define CKPTFS_BASE_POOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/waiter.h"

enum {
        POOL_BUF_SIZE = 1 << 20, /* payload of the largest request of the kernel */
        POOL_BUF_TAIL = 8192     /* writable bytes behind it, so that a header may stand first */
};

struct pool;
struct pool_buf {
        struct pool *pool;
        struct pool_buf *next; /* free list; of the holder else */
        unsigned char *data;   /* POOL_BUF_SIZE + POOL_BUF_TAIL bytes, page aligned */
        atomic_uint refs;
};

enum pool_want {
        POOL_TRY,  /* read-ahead: NULL above the low mark */
        POOL_MUST, /* what was asked for: NULL at the cap */
        POOL_OVER  /* what cannot wait: NULL only without memory */
};

/* A pool of at most `cap` bytes (at least 8 buffers). NULL: no memory. Nothing is reserved yet. */
struct pool *pool_new(size_t cap);
/* Another cap from now on; what is above it comes back as it is given back. Nobody who waits is
 * told: pool_nudge() does that. */
void pool_set_cap(struct pool *p, size_t cap);
/* Every buffer must be back. NULL is fine. */
void pool_free(struct pool *p);

/* A buffer with one reference, or NULL. Never blocks. */
struct pool_buf *pool_get(struct pool *p, enum pool_want want);
/* n buffers with one reference each in v, and true; or none, and false. As it never has to give one
 * back, it may be called under a lock that a waiter takes. */
bool pool_get_many(struct pool *p, enum pool_want want, struct pool_buf **v, size_t n);
struct pool_buf *pool_ref(struct pool_buf *b);
/* The last reference gives the buffer back and may run waiters (never under the caller's lock).
 * NULL is fine. */
void pool_unref(struct pool_buf *b);
/* The same of a list. */
void pool_unref_list(struct pool_buf *list);

/* Gives up one reference without giving the buffer back: true when it was the last, and is now the
 * caller's, who passes it to pool_unref() when no lock is held. */
bool pool_drop(struct pool_buf *b);

/* Counts bytes that are queued for the store but not on their way yet. Above POOL_BACKLOG writers
 * wait as above the low mark: a longer queue would not be sent sooner, but every byte of it would
 * leave the cache, and memory be touched, for nothing. */
enum { POOL_BACKLOG = 32 << 20 };
void pool_queued(struct pool *p, size_t bytes);
void pool_started(struct pool *p, size_t bytes);

/* Queues `w`, to be told when memory is below the low mark again, and returns true when it is above
 * that; else returns false and does nothing. */
bool pool_wait(struct pool *p, struct waiter *w);

/* Names the guard: `fn` is called, in the thread that queues the waiter, whenever somebody begins
 * to wait. From then on the guard calls pool_nudge() again and again until that returns false: a
 * waiter never depends on a buffer that nobody gives back, or on one that went to somebody who had
 * no use for it. */
void pool_on_pressure(struct pool *p, void (*fn)(void *arg), void *arg);

/* Has the guard look for memory though nobody waits: somebody was refused, and may come again. */
void pool_press(struct pool *p);

/* Tells as many of those who wait as there are free buffers below the low mark: who was told before
 * may have had no use for one. Returns whether anybody still waits, for whatever reason; the guard
 * may rest only after a false. */
bool pool_nudge(struct pool *p);

/* Tells everybody who waits, memory or not: there will be none. */
void pool_tell_all(struct pool *p);
/* The same, and nobody waits from now on: the guard ends. */
void pool_unguard(struct pool *p);

/* Memory for what a commit has to fetch before it can send it: `n` buffers at once. Whoever has a
 * share waits for nothing but the store, or for a key (mount/rename/name_lock.h), whose owner waits
 * for the store alone: so shares always come back. Whoever waits for one has none. Shares may take
 * what is free below the low mark, an eighth of the pool in any case, and whatever its size one
 * when there is no other. They are given in the order in which they were asked for. */
struct pool_share {
        struct waiter waiter;
        size_t n;
        struct pool_buf *bufs; /* a list, one reference each; NULL: there is no memory */
};
/* Whether it is given at once; else the waiter is told when it is. */
bool pool_share_take(struct pool *p, struct pool_share *s);
/* Gives back what was given, if anything was; may tell others, as pool_unref(). */
void pool_share_end(struct pool *p, struct pool_share *s);

/* Bytes in use and the most there ever were. */
size_t pool_in_use(struct pool *p);
size_t pool_peak(struct pool *p);
/* Whether a writer has to wait now; and whether that is for memory. */
bool pool_busy(struct pool *p);
bool pool_full(struct pool *p);

#endif
