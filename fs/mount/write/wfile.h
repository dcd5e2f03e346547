/* SPDX-License-Identifier: Apache-2.0 */
/* wfile.h: a file that is being written: the version it began with, what was written since, and the
 * parts of the next version that the store has already. All handles of a node share it.
 *
 * Full parts leave for the store while programs write on; a commit finds the cheapest way to
 * publish what differs (part_plan.h). Nothing here blocks on the network; nothing is visible
 * elsewhere before a commit succeeded. Thread-safe. Reference-counted: each pending request holds
 * its own reference. */
#ifndef CKPTFS_MOUNT_WFILE_H
#define CKPTFS_MOUNT_WFILE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/mutex.h"
#include "base/pool.h"
#include "base/waiter.h"
#include "mount/write/part_plan.h"
#include "mount/read/reader.h"
#include "store.h"

struct key_lock;
struct left_uploads;
struct wfile;
struct spill;

/* How many files have something at the store's hands, also those that no node shows any more. */
struct wfile_tally {
        struct mutex mtx;
        pthread_cond_t none;
        size_t busy GUARDED_BY(&mtx);
};
void wfile_tally_init(struct wfile_tally *t);
/* Whether there is any: memory that it needs comes back by itself. */
bool wfile_tally_busy(struct wfile_tally *t);
/* Waits until there is none: uploads of files that were given up are aborted then. Blocks; no file
 * may be given work meanwhile. */
void wfile_tally_wait(struct wfile_tally *t);

struct wfile_env {
        struct store *store;
        struct pool *pool;
        struct spill *spill;
        struct part_plan plan;
        uint64_t size_max; /* no file gets longer */
        const struct reader_env *reader;
        struct wfile_tally *tally;
        struct left_uploads *left; /* uploads that could not be aborted */
        uint64_t resident;         /* bytes of a file that stay in memory after they were sent, see
                                    * docs/decisions/039 */
        void *owner;               /* passed to these: */
        /* Locks the key that a commit is about to change, alone or beside others who are not: 0, or
         * -EAGAIN and the waiter is told when *l is held, or -ENOMEM. No lock is held. */
        int (*lock)(void *owner, const char *key, bool alone, struct waiter *w,
                    struct key_lock **l);
        void (*unlock)(void *owner, struct key_lock *l);
        /* Of a key that is locked alone: a version is there on its way to the file's name, or,
         * NULL, has gone from there. No lock is held. */
        void (*passes)(void *owner, const char *key, const char *etag);
        /* The metadata of a version that is published now or, `early`, begun; 0 or a negative
         * errno. No lock is held. */
        int (*meta)(void *owner, void *who, bool early, struct store_meta *meta);
        /* Another host has changed the metadata of the version that the file began with: the next
         * meta() has those, but for what was changed here. 0 or a negative errno; no lock. */
        int (*merge)(void *owner, void *who, const struct store_object *obj);
        /* A version was published, as the store was asked to at `asked_ns` (CLOCK_MONOTONIC). No
         * lock is held; before done() of the commit. */
        void (*published)(void *owner, void *who, const struct store_object *obj, int64_t asked_ns);
        /* The version that the file is of is not what the store has: another host has replaced,
         * deleted or made the object (-ESTALE, -EEXIST); or the first version failed with `err`. No
         * lock is held; before who found out is told. */
        void (*gone)(void *owner, void *who, int err);
};

/* A file of no bytes that is not published yet, or with `base` that version of `key`. `who` is
 * for env->meta and must outlive every commit. `env` must outlive the file. NULL: no memory. */
struct wfile *wfile_new(const struct wfile_env *env, void *who, const char *key,
                        const struct store_object *base);
struct wfile *wfile_ref(struct wfile *f);
void wfile_unref(struct wfile *f);

/* What a handle remembers of the file. It is told of the failure of a version that it had written
 * to, or may have, by a mapping, and of no other. Guarded by the file's lock. */
struct wfile_user {
        bool wrote, maps;
        unsigned epoch, published; /* the version that it wrote to last */
        unsigned lost; /* versions of which mappings had written a part, and that had failed before
                        */
};

/* A handle begins, by which the file may be mapped to be written, or not. */
void wfile_user_init(struct wfile *f, struct wfile_user *u, bool maps);

/* The next version exists though nothing may have been written: it is to be published even if it is
 * empty; `if_absent` only if there is no object then. */
void wfile_create(struct wfile *f, struct wfile_user *u, bool if_absent);

/* It was made and has a name that nothing else had: the next version is published only if there is
 * no object then. */
void wfile_claim(struct wfile *f);

/* It has no name any more: nothing that is written to it is published. Before anything is. */
void wfile_unname(struct wfile *f);

/* Somebody may read too: from now on what is sent stays readable, in memory or in the spill. */
void wfile_read_too(struct wfile *f);

/* Puts n bytes at `pos`, or at the end. `whole`, when not NULL, is the pool buffer that p lies in:
 * a reference is kept instead of a copy if that saves one. Returns the bytes that are written, less
 * than n if memory ended in their middle, or, when nothing is changed,
 * -ENOMEM   no memory
 * -EAGAIN   something is under way: wfile_defer() the same write
 * -ENOSPC   neither memory nor the spill has room
 * -EBUSY    it goes into a part that was sent and is not kept
 * -EFBIG    beyond what 10,000 parts hold, or the store takes
 * or the error of the version that this handle wrote to */
ssize_t wfile_write(struct wfile *f, struct wfile_user *u, bool append, uint64_t pos, const void *p,
                    size_t n, struct pool_buf *whole);

/* Makes the file `size` bytes long. The same results. A larger size of a file that has no bytes yet
 * announces how large its parts should be. */
int wfile_truncate(struct wfile *f, struct wfile_user *u, uint64_t size);
/* Makes bytes [off, off+len) of the version `src` of `key` those of the file, of which they must be
 * the next: it is empty, or has nothing but the bytes before them. Nothing moves before a commit;
 * then the store copies. 0, -EAGAIN as wfile_write(), -EOPNOTSUPP when the file is not so. */
int wfile_clone(struct wfile *f, struct wfile_user *u, const char *key,
                const struct store_object *src, uint64_t off, uint64_t len);
/* It is cut by name, until the kernel has been told; calls count. The kernel would fill the rest of
 * a short read with zeros, up to the size that it knows: meanwhile a read finds the file as it was
 * or, when that is not at the store any more, waits. */
void wfile_cut_begin(struct wfile *f);
void wfile_cut_end(struct wfile *f);
/* Announces a size without making the file so long. */
void wfile_announce(struct wfile *f, uint64_t size);

/* Queues a change, which is to be tried again when it is told, and returns true while there is
 * something to wait for; else returns false. */
bool wfile_defer(struct wfile *f, struct waiter *w);

/* Reads as reader_read() does. -EBUSY: of bytes that were sent before anybody read this file. */
void wfile_read(struct wfile *f, struct read_op *op);

/* Publishes what was written so far and tells `w`, maybe before this returns; after an error the
 * old version stands and nothing is left at the store. `u` may be NULL. */
void wfile_commit(struct wfile *f, struct wfile_user *u, struct waiter *w);

/* Forgets all that was not published; those who wrote get `err` from now on. */
void wfile_abort(struct wfile *f, int err);

/* Bytes of a mapping could not be taken, and the kernel has no others: the version that they are
 * missing from fails with `err`, and whoever wrote by `u` is told. */
void wfile_lost(struct wfile *f, struct wfile_user *u, int err);

/* No request that publishes begins until wfile_resume(); `w` is told once none is under way. Pauses
 * count. */
void wfile_pause(struct wfile *f, struct waiter *w);
void wfile_resume(struct wfile *f);
/* Between the two: later commits go to `key`, where the version the file began with has `etag` now.
 * 0 or -ENOMEM. May be called with the tree's lock. */
int wfile_rename(struct wfile *f, const char *key, const char *etag);
/* The file, which is paused, has lost its name: it stays as it is for its handles and is published
 * nowhere. */
void wfile_forget(struct wfile *f);

/* Gives memory back under pressure: spills or drops what is only kept, sends an unfinished part
 * early, or spills. Returns the bytes that are or will soon be free, or a negative errno. May block
 * on the local disk. */
ssize_t wfile_reclaim(struct wfile *f);
/* The reader of the version that the file began with, with a reference, or NULL. */
struct reader *wfile_reader(struct wfile *f);
/* Bytes in memory that wfile_reclaim() could give back, about. */
size_t wfile_idle_bytes(struct wfile *f);

uint64_t wfile_size(struct wfile *f);
/* Whether it still has bytes of the version it began with. */
bool wfile_has_base(struct wfile *f);
/* Whether a commit would have something to publish. */
bool wfile_dirty(struct wfile *f);
/* What there is to tell of it. */
enum wfile_state {
        WFILE_CLEAN, /* as it was published last */
        WFILE_DIRTY,
        WFILE_UPLOADING, /* a commit is under way */
        WFILE_FAILED     /* what was written last is lost; nothing was written since */
};
enum wfile_state wfile_state(struct wfile *f);
/* The same with figures, for people. */
struct wfile_status {
        enum wfile_state state;
        uint64_t size;
        uint64_t sent;      /* about: bytes of the next version that the store has */
        int64_t changed_ns; /* monotonic: since when there is something to publish, or 0 */
        int64_t sending_ns; /* since when it is sent, or 0 */
        uint64_t rate;      /* bytes of it a second that the store took in the last seconds */
        int64_t commit_ns;  /* since when a close or fsync waits for it, or 0 */
        int err;            /* of the version that failed last, or 0 */
};
void wfile_status(struct wfile *f, struct wfile_status *out);
/* Whether an fsync by this handle, or by one that only reads (NULL), has something to publish, or
 * to tell: that what it wrote failed. */
bool wfile_owes(struct wfile *f, const struct wfile_user *u);
/* The same for a close: that publishes only for who wrote since the file was published last. What
 * no handle wrote, by a mapping or by name, is every close's. */
bool wfile_owes_close(struct wfile *f, const struct wfile_user *u);
/* Whether the end of an open, which has no close any more, has something to publish: what it wrote
 * that no close has published. */
bool wfile_owes_end(struct wfile *f, const struct wfile_user *u);
/* What an fsync that publishes nothing has to tell: the error of the version that was written last,
 * by whatever handle, while nothing was written since; else 0. */
int wfile_unsynced(struct wfile *f);
/* What follows is written by a mapping, whose handle the kernel does not tell. */
void wfile_note_mapped(struct wfile *f);
/* The end of the mount: lets a commit under way finish, aborts what is not published, and waits
 * until nothing of this file is at the store's hands. Blocks. */
void wfile_shutdown(struct wfile *f);
/* Whether it has ended so. */
bool wfile_is_over(struct wfile *f);

#endif
