/* SPDX-License-Identifier: Apache-2.0 */
/* wfile_int.h: what wfile.c (the program's side), wfile_read.c, wfile_end.c, upload_part.c (parts
 * that are sent as they fill), commit.c (a commit's way through its phases), upload_request.c
 * (requests) and conflict_record.c (changes that lost) share.
 *
 * One function, wfile_advance_locked(), looks at the state and decides what comes next; every event
 * (a write, a commit, the end of a request) changes the state and calls it. What must not happen
 * under the lock (requests, giving memory back, telling callers) is collected in an outcome and
 * done by wfile_leave(). */
#ifndef CKPTFS_MOUNT_WFILE_INT_H
#define CKPTFS_MOUNT_WFILE_INT_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/container_of.h"
#include "base/mutex.h"
#include "mount/write/commit_phase.h"
#include "mount/write/extent_map.h"
#include "mount/write/wfile.h"
#include "mount/write/part_body.h"

enum upload_part_state {
        UPLOAD_PART_FILLING,
        UPLOAD_PART_FLYING, /* queued or on its way */
        UPLOAD_PART_SENT
};

/* A part of the upload that is sent as soon as it is full. */
struct upload_part {
        unsigned no;
        enum upload_part_state state;
        bool dropped; /* its bytes are no longer here */
        bool changed; /* after they were sent */
        uint32_t crc; /* of [off, sum_end) */
        uint64_t off, len;
        uint64_t have; /* bytes of it that are here */
        uint64_t sum_end;
};

enum upload_state {
        UPLOAD_NONE,
        UPLOAD_CREATING,
        UPLOAD_OPEN,
        UPLOAD_STALE /* begun under a name that is no longer the file's: to be aborted */
};

/* A version of an object: bytes [0, len) of the file are its where nothing was written. */
struct base {
        char *key;                  /* NULL: under the file's name, or none */
        struct store_object object; /* etag "": there is none */
        uint64_t len;
};

/* The upload of the next version. */
struct upload {
        enum upload_state state;
        struct store_upload *handle;
        char *key;           /* it was begun under another name than the file's: that; else NULL */
        struct list waiting; /* parts, until it is there */
        uint64_t metageneration; /* of the metadata that it was begun with; 0: not known */
};

/* The parts that are sent as they fill. */
struct upload_parts {
        struct part_plan plan;
        struct part_anchor *anchors;
        unsigned nanchors, maxanchors;
        struct plan_run run;   /* written last, without a break; while there is no anchor */
        struct upload_part *v; /* in order */
        size_t n, max;
        uint64_t resident; /* bytes of those that were sent and stay */
};

/* From SENDING on. */
struct sending {
        struct plan plan;
        size_t next;            /* step of it */
        bool recopy;            /* what was only named has another name now */
        unsigned fills, copies; /* steps under way that fetch and copy from the base: it keeps its
                                   name meanwhile */
        uint64_t fill_bytes;    /* that those fetch */
};

/* From LOOKING on: the version that the commit changes is gone. */
struct base_conflict {
        char gone[STORE_ETAG_MAX]; /* the version that was changed */
        struct base stands;        /* the one that does; size 0: none */
        uint64_t moved_most;
        unsigned looks;
};

/* The commit under way. */
struct commit {
        enum commit_phase phase; /* changed by commit_enter_locked() alone */
        int64_t begun_ns;        /* unless that is COMMIT_IDLE */
        struct waiters callers;
        struct sending sending;
        struct key_lock *key;           /* from LOCKING to the end of the final phases, or NULL */
        struct base_conflict *conflict; /* from LOOKING on, or NULL */
        bool no_append;                 /* the store refused one */
};

enum upload_request_kind {
        REQUEST_CREATE,
        REQUEST_PART,     /* a part that was sent as it filled */
        REQUEST_STEP,     /* a part of the commit's plan */
        REQUEST_COPY,     /* the same, of the base */
        REQUEST_LOCK,     /* the key that is about to change, which is no request to the store */
        REQUEST_PUT,      /* the file in one request, or what is new at its end */
        REQUEST_COMPLETE, /* the upload */
        REQUEST_CLONE,    /* a copy of all of another object */
        REQUEST_MOVE,     /* what was completed under the name that the upload was begun with */
        REQUEST_REMOVE,   /* what is left there */
        REQUEST_LOOK,     /* which version stands, when the base is gone */
        REQUEST_ABORT
};

/* What is under way for one version. When the version fails, its callers are told at once: its
 * requests end behind that, then its upload is aborted, while the file goes on with the version
 * before it. */
struct attempt {
        unsigned inflight;           /* requests that are not done */
        atomic_bool left;            /* it failed */
        struct store_upload *upload; /* then: to be aborted when they are done */
};

/* A request that is to be made, then is under way. */
struct upload_request {
        struct list_item item;
        enum upload_request_kind kind;
        struct wfile *file;
        struct attempt *attempt;
        struct part_body *part;  /* REQUEST_PART, REQUEST_STEP, REQUEST_PUT */
        struct pool_share share; /* of the memory, for what is to be fetched */
        struct waiter for_key;   /* REQUEST_LOCK: of `src`, for this file alone, or `key` */
        struct key_lock *lock;   /* what it has brought; or NULL */
        int err;                 /* it could not be made whole: it ends with this */
        bool goes_on;            /* as another kind, once it has ended */
        bool filled;             /* what was to be fetched is here */
        bool recorded;           /* it lost to another host's, and is recorded */
        bool append;             /* REQUEST_PUT: to the version that has to be there */
        bool summed;             /* the part's checksum is known */
        bool early;              /* its metadata have no times: those of REQUEST_CREATE while
                                    programs write on, and those of what is appended to */
        bool copying;            /* ranges of the base will be parts of it, or may be */
        uint64_t size;           /* of the file; of those that publish it */
        unsigned no;             /* of the plan's step, and its bytes */
        uint64_t off, len;
        struct store_upload *upload;
        char *key, *src, *match; /* copies of what may change meanwhile */
        char *base;              /* what publishes: the version that has to be at `key`, or NULL */
        unsigned merges;         /* what publishes: of metadata that another host has changed */
        int failed;              /* REQUEST_REMOVE: what the commit ends with after it */
        bool stays;              /* REQUEST_MOVE: what is at `src`, which may not leave it */
        struct store_cond cond;
        struct store_meta meta;
        struct store_object obj; /* published by what it was before, */
        int64_t asked_ns;        /* when the store was asked for what publishes */
};

/* How much the store took in the last seconds. */
enum { RECENT_S = 8 };
struct recent {
        int64_t second[RECENT_S]; /* each place is of the last second that is its number's */
        uint64_t bytes[RECENT_S];
};

/* Of so many versions that failed it is known who had written to them; of older ones, all had. */
enum { FAILED_MOST = 8 };

struct wfile {
        atomic_uint refs;
        const struct wfile_env *env;
        void *who;
        struct mutex mtx; /* before the reader's, the pool's and the store's locks */
        pthread_cond_t idle;
        /* Memory for the next request that has to fetch bytes: the pool's while `share_waits`, else
         * guarded by mtx, and empty when that is free. */
        struct pool_share share;
        struct {
                char *key;
                uint64_t size;
                uint64_t discarded;    /* from here on bytes may be that are nowhere any more */
                struct base base;      /* the version that the file began with */
                struct base origin;    /* in its place, the object that the file is a copy of */
                struct reader *reader; /* of the base, once it was needed */
                struct extent_map data;
                struct upload_parts parts;
                struct upload upload;
                struct attempt *attempt; /* of this version; NULL until its first request */
                unsigned inflight;       /* requests that are not done, */
                unsigned leaving;        /* and those of versions that failed */
                int err;                 /* this version fails: it is being cleaned up */
                int last_err;            /* of the version that failed last */
                unsigned epoch;          /* counts those that failed, */
                unsigned published;      /* and those that did not */
                unsigned failed_after[FAILED_MOST]; /* epoch % FAILED_MOST: how many were published
                                                       before the one that failed then */
                bool anyones;  /* something of this one was written by no handle, */
                bool mapped;   /* and by a mapping */
                unsigned lost; /* counts those of the latter that failed */
                bool over;     /* the mount has ended: nothing is taken any more */
                unsigned pauses;
                struct reader *moving; /* `reader`, while there are pauses: reader_moving() */
                bool if_absent;
                bool spares; /* the first version failed: what has its name at the store stays */
                bool anew;   /* all of the base was given up: whatever stands is replaced */
                bool dirty;  /* differs from what was published last */
                bool unlinked;
                bool failed; /* the last version did, and there is no other since */
                bool read_too;
                bool rewritten;      /* bytes were written over, so others may be, too */
                bool flight_awaited; /* a change waits for requests to end */
                bool refused;        /* a write, for want of room, as the log has it */
                bool tallied;        /* counted in the tally */
                bool share_waits;    /* for memory, see `share` */
                struct commit commit;
                uint64_t sent;      /* bytes of this version that the store took, copied too */
                int64_t changed_ns; /* when it began to differ, if it does, */
                int64_t sending_ns; /* and when its first request was made; 0: none yet */
                struct recent recent;
                unsigned telling;        /* versions that env->published() has not been told yet */
                unsigned cuts;           /* that the kernel does not know of yet, */
                uint64_t uncut_size;     /* of the base, where nothing else has changed it, or 0, */
                struct waiters uncut;    /* and the reads that wait for their end */
                struct waiters deferred; /* changes, */
                struct waiters pausing;  /* and who has paused the file */
        } locked GUARDED_BY(&mtx);
};

struct outcome {
        struct list begins, ended; /* requests to be started, and to be freed */
        struct pool_buf *garbage;
        struct reader *reader, *moved;
        struct pool_share share, small; /* not needed any more; not enough */
        struct key_lock *key;           /* not needed any more */
        struct waiters callers;         /* of a commit that ended with: */
        int err;
        bool published;
        int gone;                /* see wfile_env; or 0 */
        struct store_object obj; /* what was published, */
        int64_t asked_ns;        /* and when the store was asked to */
        struct waiters told;     /* what they waited for has ended */
};

/* --- what the file is of where nothing was written --- */

/* The version that it began with, or the object that it is a copy of, and its name. */
static inline const struct base *wfile_base_locked(const struct wfile *f) REQUIRES(&f->mtx)
{
        return f->locked.origin.key ? &f->locked.origin : &f->locked.base;
}

static inline const char *wfile_base_key_locked(const struct wfile *f) REQUIRES(&f->mtx)
{
        return f->locked.origin.key ? f->locked.origin.key : f->locked.key;
}

/* Whether ranges of it can be parts of an upload. */
static inline bool wfile_base_copies_locked(const struct wfile *f) REQUIRES(&f->mtx)
{
        return store_copies_parts(f->env->store, wfile_base_key_locked(f));
}

/* What the commit takes there: the same, or what stands in its place. */
static inline const struct base *commit_base_locked(const struct wfile *f) REQUIRES(&f->mtx)
{
        return f->locked.commit.conflict ? &f->locked.commit.conflict->stands
                                         : wfile_base_locked(f);
}

/* Whether nothing is written, nor sent. */
static inline bool wfile_is_bare_locked(const struct wfile *f) REQUIRES(&f->mtx)
{
        uint64_t from, to;
        return !f->locked.parts.n && f->locked.upload.state == UPLOAD_NONE &&
               !extent_map_run(&f->locked.data, 0, &from, &to);
}

/* Whether the file is all of another object and nothing else, and one copy can publish it. */
static inline bool wfile_is_clone_locked(const struct wfile *f) REQUIRES(&f->mtx)
{
        const struct base *origin = &f->locked.origin;
        return origin->key && wfile_is_bare_locked(f) && f->locked.size == origin->len &&
               f->locked.size == origin->object.size;
}

/* --- wfile.c --- */
/* Monotonic, and cheap. */
int64_t wfile_now_ns(void);
/* Forgets what is here, and the parts. */
void wfile_clear_locked(struct wfile *f) REQUIRES(&f->mtx);
/* The file is `size` bytes of the version that it began with, and nothing is written; data_stays:
 * what is here is bytes of that. */
void wfile_reset_locked(struct wfile *f, struct outcome *out, uint64_t size, bool data_stays)
        REQUIRES(&f->mtx);

/* --- wfile_end.c --- */
/* The store took so many bytes more. */
void recent_add(struct recent *r, uint64_t n);

/* --- upload_part.c --- */
/* The part that byte `pos` is in, made if need be. *end is where the bytes that belong to it, or
 * to none (*s is NULL), end. 0, -EFBIG or -ENOMEM. */
int upload_part_at_locked(struct wfile *f, uint64_t pos, struct upload_part **s, uint64_t *end)
        REQUIRES(&f->mtx);
/* Whether bytes [from, to) can be changed now: 0; -EAGAIN, when a part of them is on its way; or
 * -EBUSY, when the rest of a part is gone and would have to be sent again. */
int upload_parts_check(const struct upload_parts *p, uint64_t from, uint64_t to);
/* They were: a part whose bytes were gone is sent again, under its number. */
void upload_part_reopen(struct upload_part *s);
/* After bytes at `pos`, `fresh` of them new, were put. Sends what is full. */
void upload_part_filled_locked(struct wfile *f, struct outcome *out, struct upload_part *s,
                               uint64_t pos, const void *p, size_t n, uint64_t fresh)
        REQUIRES(&f->mtx);
/* The file is cut to `size`; what is sent of the rest will not be part of it. 0, -EAGAIN or -EBUSY
 * as upload_parts_check(). */
int upload_parts_cut_locked(struct wfile *f, uint64_t size) REQUIRES(&f->mtx);
/* Sends the last part though it is not full. False when it is too small or not whole. */
bool upload_parts_send_last_locked(struct wfile *f, struct outcome *out) REQUIRES(&f->mtx);
/* Begins to move bytes of parts that were sent to the spill, as extent_map_spill_begin(). */
int upload_parts_spill_locked(struct wfile *f, struct spilling **s) REQUIRES(&f->mtx);
/* Forgets bytes of parts that were sent, unless somebody reads or they are to be sent anew: how
 * many. */
size_t upload_parts_drop_locked(struct wfile *f) REQUIRES(&f->mtx);
/* The request of a part has ended. */
void upload_part_sent(struct upload_parts *p, unsigned no);
/* The upload is gone. */
void upload_parts_reset(struct upload_parts *p);
/* Whether bytes of [from, to) were sent and are no longer here. */
bool upload_parts_lack(const struct upload_parts *p, uint64_t from, uint64_t to);
/* Whether everything is still here, so that it can be sent anew. */
bool upload_parts_are_here(const struct upload_parts *p);

/* --- commit.c --- */
/* Locks, with an empty outcome. */
void wfile_enter(struct wfile *f, struct outcome *out) ACQUIRE(&f->mtx);
/* Cleans up after a version that failed, unlocks, then does what was collected. */
void wfile_leave(struct wfile *f, struct outcome *out) RELEASE(&f->mtx);
/* Keeps the first error: this version will not be published. */
void wfile_set_error_locked(struct wfile *f, int err) REQUIRES(&f->mtx);
/* Whether a version has failed that is this handle's, too. NULL: that of nobody. */
bool wfile_has_failed_locked(const struct wfile *f, const struct wfile_user *u) REQUIRES(&f->mtx);
/* Starts what the state asks for. */
void wfile_advance_locked(struct wfile *f, struct outcome *out) REQUIRES(&f->mtx);
/* Whether a commit is under way, */
bool commit_is_under_way_locked(const struct wfile *f) REQUIRES(&f->mtx);
/* and whether changes have to wait, for that or something else. */
bool commit_blocks_locked(const struct wfile *f) REQUIRES(&f->mtx);
/* Goes to the phase. A step that the table of the phases lacks is not taken: the commit fails with
 * EIO, and false is returned. */
bool commit_enter_locked(struct wfile *f, enum commit_phase to) REQUIRES(&f->mtx);
/* A request of the version has ended: what follows. */
void commit_request_ended_locked(struct wfile *f, struct outcome *out, struct upload_request *t,
                                 int err, const struct store_object *obj) REQUIRES(&f->mtx);

/* --- upload_request.c --- */
/* A request to be made when the lock is left: counted, or NULL and the error is set. */
struct upload_request *upload_request_new_locked(struct wfile *f, struct outcome *out,
                                                 enum upload_request_kind kind) REQUIRES(&f->mtx);
/* The next one of a commit, in the same way: `step` is that of a REQUEST_STEP or REQUEST_COPY. What
 * has to be fetched for a step or a REQUEST_PUT goes into the file's share of the memory. */
void upload_request_make_locked(struct wfile *f, struct outcome *out, enum upload_request_kind kind,
                                const struct plan_step *step) REQUIRES(&f->mtx);
/* Begins the upload. */
void upload_request_create_locked(struct wfile *f, struct outcome *out) REQUIRES(&f->mtx);
/* Aborts the upload, if there is one. */
void upload_request_abort_locked(struct wfile *f, struct outcome *out) REQUIRES(&f->mtx);
/* This version failed: what is under way of it ends behind the answer. */
void attempt_leave_locked(struct wfile *f, struct outcome *out) REQUIRES(&f->mtx);
/* Starts the requests that begin, then frees those that have ended. No lock is held. */
void upload_requests_run(struct outcome *out);
/* Whether a REQUEST_MOVE takes the first name away; else it copies, and REQUEST_REMOVE follows. */
bool upload_request_renames(const struct upload_request *t);
/* The request has ended, with what the store said. */
void upload_request_end(struct upload_request *t, int err, const struct store_object *obj,
                        struct store_upload *up);
/* The bytes of its part, read as they are sent. */
struct store_body upload_request_body(struct upload_request *t);

/* --- wfile_read.c --- */
/* Whoever has paused the file may be about to give its base another place or version: what finds
 * the old one gone waits until the file goes on. */
void wfile_note_moving_locked(struct wfile *f) REQUIRES(&f->mtx);
/* The base is another one from now on. */
void wfile_drop_reader_locked(struct wfile *f, struct outcome *out) REQUIRES(&f->mtx);

/* --- conflict_record.c --- */
/* The version that was changed is gone, but all of the new one is at hand: it is recorded in place
 * of being published. 0, then the request ends with that; or -ESTALE. */
int conflict_record(struct upload_request *t);
/* Whether it is not to be published, but recorded. */
bool conflict_is_recorded(struct upload_request *t);

#endif
