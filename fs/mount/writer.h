/* SPDX-License-Identifier: Apache-2.0 */
/* writer.h: one version of an object in the making, from sequential writes.
 *
 * Full parts leave for the store while the program writes on; a commit sends the rest and
 * publishes, or, when all of it fits one part, puts it in one request. Nothing here blocks; nothing
 * is visible before a commit succeeded. Thread-safe. Reference-counted: each pending callback holds
 * its own reference. */
#ifndef CKPTFS_MOUNT_WRITER_H
#define CKPTFS_MOUNT_WRITER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/pool.h"
#include "mount/plan.h"
#include "store.h"

struct writer;
struct spill;

/* How many writers have something at the store's hands, also those that no file shows any more. */
struct writer_tally {
        pthread_mutex_t mtx;
        pthread_cond_t none;
        size_t busy;
};
void writer_tally_init(struct writer_tally *t);
/* Waits until there is none: uploads of files that were given up are aborted then. Blocks; no
 * writer may be given work meanwhile. */
void writer_tally_wait(struct writer_tally *t);

struct writer_env {
        struct store *store;
        struct pool *pool;
        struct spill *spill;
        struct part_plan plan;
        struct writer_tally *tally;
};

/* A writer for an empty, unpublished version of `key`. `env` must outlive it. NULL: no memory. */
struct writer *writer_new(const struct writer_env *env, const char *key,
                          const struct store_meta *meta, bool if_absent);
struct writer *writer_ref(struct writer *w);
void writer_unref(struct writer *w);

/* Adds n bytes at `pos`, which must be the size so far. `whole`, when not NULL, is the pool buffer
 * that p lies in: the writer keeps a reference instead of a copy if that saves one, and sets *kept.
 * Returns 0, or -EAGAIN       a commit is under way: writer_defer() the same write -EOPNOTSUPP not
 * at the end (the version is then given up), or after a commit of more than one part -EFBIG beyond
 * what 10,000 parts hold -ENOMEM       no memory at all the error of an earlier part, once known */
int writer_write(struct writer *w, uint64_t pos, const void *p, size_t n, struct pool_buf *whole,
                 bool *kept);

/* A write that waits for a commit to end. The owner fills the fields; `buf` holds the bytes. */
struct writer_deferred {
        struct writer_deferred *next;
        void (*retry)(struct writer_deferred *d); /* the commit ended: write again */
};
/* Queues `d` and returns true while a commit is under way; else returns false. */
bool writer_defer(struct writer *w, struct writer_deferred *d);

/* Publishes what was written so far. done() runs once, on any thread, maybe before this returns,
 * with 0 and the object, or a negative errno; after an error the old version stands and nothing is
 * left at the store. */
struct writer_commit {
        struct writer_commit *next;
        void (*done)(struct writer_commit *c, int err, const struct store_object *obj);
};
void writer_commit(struct writer *w, struct writer_commit *c);

/* Forgets all that was not published: the upload is aborted as soon as its parts are out of flight.
 * Later writes and commits fail with `err`, or when err is 0 (the file was unlinked) succeed and
 * publish nothing. */
void writer_abort(struct writer *w, int err);

/* Gives memory back under pressure: sends the unfinished part early or spills it. Returns the bytes
 * that are or will soon be free. May block on the local disk. */
size_t writer_relieve(struct writer *w);
/* Bytes of the unfinished part in memory. */
size_t writer_idle_bytes(struct writer *w);

uint64_t writer_size(struct writer *w);
/* Whether a commit would have something to publish. */
bool writer_dirty(struct writer *w);
/* The end of the mount: lets a commit under way finish, aborts what is not published, and waits
 * until nothing of this writer is at the store's hands. Blocks. */
void writer_shutdown(struct writer *w);

#endif
