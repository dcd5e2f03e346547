/* SPDX-License-Identifier: Apache-2.0 */
/* writer_int.h: what writer.c (the program's side) and publish.c (the store's side) share.
 *
 * One function, writer_advance_locked(), looks at the state and starts what comes next; every event
 * (a write, a commit, the end of a request) changes the state and calls it. What must not happen
 * under the lock (giving memory back, telling callers) is collected in an outcome and done by
 * writer_leave(). */
#ifndef CKPTFS_MOUNT_WRITER_INT_H
#define CKPTFS_MOUNT_WRITER_INT_H

#include <pthread.h>
#include <stdatomic.h>

#include "mount/part.h"
#include "mount/writer.h"

enum upload_state {
        UPLOAD_NONE,     /* all of the data is in `cur` */
        UPLOAD_CREATING, /* full parts are in `pending` */
        UPLOAD_OPEN,     /* parts are sent as they fill */
        UPLOAD_COMPLETE  /* published; nothing can be added */
};

struct writer {
        atomic_uint refs;
        const struct writer_env *env;
        char *key;
        struct store_meta meta;
        bool if_absent;
        pthread_mutex_t mtx; /* before the pool's and the store's locks */
        pthread_cond_t idle;
        struct {
                uint64_t size;
                unsigned next_no; /* of the part after `cur` */
                struct part *cur;
                struct part *pending, **pending_last;
                enum upload_state state;
                struct store_upload *upload;
                unsigned inflight; /* requests whose done() has not run */
                int err;           /* the first; final */
                bool dirty;        /* differs from what was published last */
                bool unlinked;     /* accept and forget */
                bool committing;   /* writes wait */
                bool finishing;    /* the put or complete of this commit is on its way */
                bool spilling;     /* writes wait */
                bool tallied;      /* counted in the tally */
                struct writer_commit *commits, **commits_last;
                struct writer_deferred *deferred, **deferred_last;
        } locked;
};

struct outcome {
        struct part *parts;
        struct writer_commit *commits;
        int err;
        struct store_object obj;
        struct writer_deferred *deferred;
};

/* Keeps the first error: the version will not be published. */
void writer_set_error_locked(struct writer *w, int err);
/* Starts what the state asks for. */
void writer_advance_locked(struct writer *w, struct outcome *out);
/* Takes the part out of `cur`: it is complete, and the next byte begins another. */
void writer_close_part_locked(struct writer *w, struct outcome *out);
/* Ends the commit under way with `err`; obj is NULL when nothing new was published. */
void writer_finish_commit_locked(struct writer *w, struct outcome *out, int err,
                                 const struct store_object *obj);
/* Lets the writes go on that waited, if nothing keeps them. */
void writer_wake_deferred_locked(struct writer *w, struct outcome *out);
/* Keeps the tally. */
void writer_count_locked(struct writer *w);
/* Unlocks, then does what was collected. */
void writer_leave(struct writer *w, struct outcome *out);
void writer_outcome_run(struct writer *w, struct outcome *out);

#endif
