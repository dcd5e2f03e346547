/* SPDX-License-Identifier: Apache-2.0 */
/* writer.c: see writer.h.
 *
 * One function, advance_locked(), looks at the state and starts what comes next; every event (a
 * write, a commit, the end of a request) changes the state and calls it. What must not happen under
 * the lock (giving memory back, telling callers) is collected in an outcome and done after it. */
#include "mount/writer.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/metrics.h"
#include "mount/part.h"

#include "base/banned.h"

/* Keeping a buffer for less than this wastes more memory than a copy costs. */
enum { KEEP_MIN = POOL_BUF_SIZE / 4 * 3 };

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
                bool touched;
                bool unlinked;   /* accept and forget */
                bool committing; /* writes wait */
                bool finishing;  /* the put or complete of this commit is on its way */
                bool spilling;   /* writes wait */
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

struct writer *writer_new(const struct writer_env *env, const char *key,
                          const struct store_meta *meta, bool if_absent)
{
        struct writer *w = calloc(1, sizeof *w);
        if (!w || !(w->key = strdup(key))) {
                free(w);
                return NULL;
        }
        atomic_init(&w->refs, 1);
        w->env = env;
        w->meta = *meta;
        w->if_absent = if_absent;
        pthread_mutex_init(&w->mtx, NULL);
        pthread_cond_init(&w->idle, NULL);
        w->locked.next_no = 1;
        w->locked.dirty = true;
        w->locked.pending_last = &w->locked.pending;
        w->locked.commits_last = &w->locked.commits;
        w->locked.deferred_last = &w->locked.deferred;
        return w;
}

struct writer *writer_ref(struct writer *w)
{
        atomic_fetch_add_explicit(&w->refs, 1, memory_order_relaxed);
        return w;
}

void writer_unref(struct writer *w)
{
        if (!w || atomic_fetch_sub_explicit(&w->refs, 1, memory_order_acq_rel) > 1)
                return;
        assert(!w->locked.inflight && !w->locked.upload);
        part_free(w->locked.cur, w->env->spill);
        pthread_cond_destroy(&w->idle);
        pthread_mutex_destroy(&w->mtx);
        free(w->key);
        free(w);
}

/* `queued` belongs to whoever moves the part on: its request's callbacks from here. */
static void not_queued(struct writer *w, struct part *p)
{
        if (!p->queued)
                return;
        p->queued = false;
        pool_started(w->env->pool, p->len);
}

static void free_parts(struct writer *w, struct part *list)
{
        while (list) {
                struct part *p = list;
                list = p->next;
                not_queued(w, p);
                part_free(p, w->env->spill);
        }
}

static void outcome_run(struct writer *w, struct outcome *out)
{
        free_parts(w, out->parts);
        while (out->commits) {
                struct writer_commit *c = out->commits;
                out->commits = c->next;
                c->done(c, out->err, out->err ? NULL : &out->obj);
        }
        while (out->deferred) {
                struct writer_deferred *d = out->deferred;
                out->deferred = d->next;
                d->retry(d);
        }
}

static void give_part(struct outcome *out, struct part *p)
{
        p->next = out->parts;
        out->parts = p;
}

static void drop_data_locked(struct writer *w, struct outcome *out)
{
        while (w->locked.pending) {
                struct part *p = w->locked.pending;
                w->locked.pending = p->next;
                give_part(out, p);
        }
        w->locked.pending_last = &w->locked.pending;
        if (w->locked.cur && !w->locked.finishing && !w->locked.spilling)
                give_part(out, TAKE_PTR(w->locked.cur));
}

static void wake_deferred_locked(struct writer *w, struct outcome *out)
{
        if (w->locked.committing || w->locked.spilling)
                return;
        out->deferred = w->locked.deferred;
        w->locked.deferred = NULL;
        w->locked.deferred_last = &w->locked.deferred;
}

static void finish_commit_locked(struct writer *w, struct outcome *out, int err,
                                 const struct store_object *obj)
{
        w->locked.committing = w->locked.finishing = false;
        if (!err)
                w->locked.dirty = false;
        out->err = w->locked.unlinked ? 0 : err;
        if (obj)
                out->obj = *obj;
        out->commits = w->locked.commits;
        w->locked.commits = NULL;
        w->locked.commits_last = &w->locked.commits;
        wake_deferred_locked(w, out);
}

static void set_error_locked(struct writer *w, int err)
{
        if (w->locked.err || !err)
                return;
        w->locked.err = err;
        if (!w->locked.unlinked)
                log_warn("%s: not published, the version before it stands: %s", w->key,
                         strerror(-err));
}

/* --- requests
 * -------------------------------------------------------------------------------------- */

static void advance_locked(struct writer *w, struct outcome *out);

/* The end of a request: `err` is its result, `p` its part or NULL. */
static void request_done_locked(struct writer *w, struct outcome *out, int err, struct part *p)
{
        assert(w->locked.inflight);
        w->locked.inflight--;
        if (p)
                give_part(out, p);
        set_error_locked(w, err);
}

static void leave(struct writer *w, struct outcome *out)
{
        pthread_cond_broadcast(&w->idle);
        pthread_mutex_unlock(&w->mtx);
        outcome_run(w, out);
}

/* Counts a request that was queued, or keeps the error of one that could not be. */
static bool queued_locked(struct writer *w, int err)
{
        if (err) {
                set_error_locked(w, err);
                return false;
        }
        w->locked.inflight++;
        writer_ref(w);
        return true;
}

static int read_part(void *arg, uint64_t off, void *dst, size_t n)
{
        struct part *p = arg;
        struct writer *w = p->owner;
        not_queued(w, p);
        return part_read(p, w->env->spill, off, dst, n);
}

static struct store_body part_body(struct writer *w, struct part *p)
{
        p->owner = w;
        return (struct store_body){.read = read_part, .arg = p, .len = p->len, .crc32c = p->crc};
}

static void part_sent(void *arg, int err, const struct store_object *obj)
{
        struct part *p = arg;
        struct writer *w = p->owner;
        struct outcome out = {0};
        (void)obj;

        pthread_mutex_lock(&w->mtx);
        request_done_locked(w, &out, err, p);
        advance_locked(w, &out);
        leave(w, &out);
        writer_unref(w);
}

static void send_part_locked(struct writer *w, struct outcome *out, struct part *p)
{
        struct store_body body = part_body(w, p);
        if (!queued_locked(w, store_upload_part(w->locked.upload, p->no, &body, part_sent, p)))
                give_part(out, p);
}

static void upload_created(void *arg, int err, struct store_upload *up)
{
        struct writer *w = arg;
        struct outcome out = {0};

        pthread_mutex_lock(&w->mtx);
        request_done_locked(w, &out, err, NULL);
        if (!err) {
                w->locked.state = UPLOAD_OPEN;
                w->locked.upload = up;
        }
        while (!w->locked.err && w->locked.pending) {
                struct part *p = w->locked.pending;
                w->locked.pending = p->next;
                if (!p->next)
                        w->locked.pending_last = &w->locked.pending;
                send_part_locked(w, &out, p);
        }
        advance_locked(w, &out);
        leave(w, &out);
        writer_unref(w);
}

/* Takes the part out of `cur`: it is complete, and the next byte begins another. */
static void close_part_locked(struct writer *w, struct outcome *out)
{
        struct part *p = TAKE_PTR(w->locked.cur);

        p->queued = true;
        pool_queued(w->env->pool, p->len);
        if (w->locked.state == UPLOAD_OPEN) {
                send_part_locked(w, out, p);
                return;
        }
        p->next = NULL;
        *w->locked.pending_last = p;
        w->locked.pending_last = &p->next;
        if (w->locked.state == UPLOAD_NONE) {
                w->locked.state = UPLOAD_CREATING;
                queued_locked(
                        w, store_upload_create(w->env->store, w->key, &w->meta, upload_created, w));
        }
}

static void upload_aborted(void *arg, int err, const struct store_object *obj)
{
        struct writer *w = arg;
        struct outcome out = {0};
        (void)obj;

        pthread_mutex_lock(&w->mtx);
        w->locked.inflight--;
        if (err)
                log_warn("%s: its unfinished upload could not be aborted and stays at the store",
                         w->key);
        store_upload_free(TAKE_PTR(w->locked.upload));
        advance_locked(w, &out);
        leave(w, &out);
        writer_unref(w);
}

/* The end of the put or complete of a commit. */
static void published(void *arg, int err, const struct store_object *obj)
{
        struct writer *w = arg;
        struct outcome out = {0};

        pthread_mutex_lock(&w->mtx);
        request_done_locked(w, &out, err, NULL);
        if (!err) {
                w->if_absent = false; /* ours now */
                if (!w->locked.upload) {
                        METRIC_ADD(puts, 1);
                } else {
                        METRIC_ADD(uploads_committed, 1);
                        w->locked.state = UPLOAD_COMPLETE;
                        store_upload_free(TAKE_PTR(w->locked.upload));
                }
                finish_commit_locked(w, &out, 0, obj);
        } else {
                w->locked.finishing = false;
        }
        advance_locked(w, &out);
        leave(w, &out);
        writer_unref(w);
}

static int start_put_locked(struct writer *w)
{
        struct store_cond cond = {.if_absent = w->if_absent};
        struct store_body body = store_body_mem(NULL, 0);
        if (w->locked.cur)
                body = part_body(w, w->locked.cur);
        return store_put(w->env->store, w->key, &body, &w->meta, &cond, published, w);
}

static void start_finish_locked(struct writer *w)
{
        struct store_cond cond = {.if_absent = w->if_absent};
        int err;

        w->locked.finishing = true;
        if (w->locked.state == UPLOAD_NONE)
                err = start_put_locked(w);
        else
                err = store_upload_complete(w->locked.upload, &cond, published, w);
        if (!queued_locked(w, err))
                w->locked.finishing = false;
}

/* What a failed or abandoned version still needs: its requests ended, its upload aborted, its
 * callers told. */
static void advance_failed_locked(struct writer *w, struct outcome *out)
{
        drop_data_locked(w, out);
        if (w->locked.inflight || w->locked.spilling)
                return; /* a part that is on its way could outlive the abort */
        if (w->locked.upload) {
                METRIC_ADD(uploads_aborted, 1);
                int err = store_upload_abort(w->locked.upload, upload_aborted, w);
                if (!err) {
                        w->locked.inflight++;
                        writer_ref(w);
                        return;
                }
                store_upload_free(TAKE_PTR(w->locked.upload));
        }
        if (w->locked.committing)
                finish_commit_locked(w, out, w->locked.err, NULL);
}

static void advance_locked(struct writer *w, struct outcome *out)
{
        if (w->locked.err) {
                advance_failed_locked(w, out);
                return;
        }
        if (!w->locked.committing || w->locked.finishing || w->locked.spilling)
                return;
        if (w->locked.state == UPLOAD_OPEN && w->locked.cur)
                close_part_locked(w, out);
        if (w->locked.state == UPLOAD_NONE || !w->locked.inflight)
                start_finish_locked(w);
        if (w->locked.err)
                advance_failed_locked(w, out);
}

/* --- what the program does
 * --------------------------------------------------------------------------- */

/* Adds the next bytes, up to the end of the part being filled; returns how many, or a negative
 * errno. */
static ssize_t add_some_locked(struct writer *w, const void *p, size_t n, struct pool_buf *whole,
                               bool *kept)
{
        struct part *part = w->locked.cur;
        if (!part) {
                if (w->locked.next_no > STORE_PART_MAX)
                        return -EFBIG;
                part = w->locked.cur = part_new(w->locked.next_no);
                if (!part)
                        return -ENOMEM;
                w->locked.next_no++;
        }
        uint64_t room = part_plan_bytes(&w->env->plan, part->no) - part->len;
        size_t k = n < room ? n : (size_t)room;
        bool keep = whole && (*kept || n >= KEEP_MIN);
        int err = keep ? part_add_buf(part, whole, p, k) : part_add_copy(part, w->env->pool, p, k);
        if (err)
                return err;
        *kept |= keep;
        w->locked.size += k;
        return (ssize_t)k;
}

static int write_locked(struct writer *w, struct outcome *out, const unsigned char *p, size_t n,
                        struct pool_buf *whole, bool *kept)
{
        while (n) {
                ssize_t k = add_some_locked(w, p, n, whole, kept);
                if (k < 0) {
                        set_error_locked(w, (int)k); /* the version would lack these bytes */
                        break;
                }
                struct part *part = w->locked.cur;
                if (part->len == part_plan_bytes(&w->env->plan, part->no))
                        close_part_locked(w, out);
                p += k;
                n -= (size_t)k;
        }
        if (w->locked.err)
                advance_failed_locked(w, out);
        return w->locked.err;
}

/* A version that lacks these bytes must not be published by the close that follows. */
static int refuse_locked(struct writer *w, struct outcome *out)
{
        set_error_locked(w, -EOPNOTSUPP);
        advance_failed_locked(w, out);
        return -EOPNOTSUPP;
}

int writer_write(struct writer *w, uint64_t pos, const void *p, size_t n, struct pool_buf *whole,
                 bool *kept)
{
        struct outcome out = {0};
        int err = 0;

        *kept = false;
        pthread_mutex_lock(&w->mtx);
        if (w->locked.unlinked)
                ;
        else if (w->locked.err)
                err = w->locked.err;
        else if (w->locked.committing || w->locked.spilling)
                err = -EAGAIN;
        else if (w->locked.state == UPLOAD_COMPLETE)
                err = -EOPNOTSUPP;
        else if (pos != w->locked.size)
                err = refuse_locked(w, &out);
        else if (n) {
                w->locked.dirty = w->locked.touched = true;
                err = write_locked(w, &out, p, n, whole, kept);
        }
        leave(w, &out);
        return err;
}

bool writer_defer(struct writer *w, struct writer_deferred *d)
{
        pthread_mutex_lock(&w->mtx);
        bool wait = w->locked.committing || w->locked.spilling;
        if (wait) {
                d->next = NULL;
                *w->locked.deferred_last = d;
                w->locked.deferred_last = &d->next;
        }
        pthread_mutex_unlock(&w->mtx);
        return wait;
}

void writer_commit(struct writer *w, struct writer_commit *c)
{
        struct outcome out = {0};

        pthread_mutex_lock(&w->mtx);
        w->locked.touched = true;
        c->next = NULL;
        *w->locked.commits_last = c;
        w->locked.commits_last = &c->next;
        if (!w->locked.committing && !w->locked.dirty && !w->locked.err) {
                finish_commit_locked(w, &out, 0, NULL); /* published already */
        } else {
                w->locked.committing = true;
                advance_locked(w, &out);
        }
        leave(w, &out);
}

void writer_abort(struct writer *w, int err)
{
        struct outcome out = {0};

        pthread_mutex_lock(&w->mtx);
        if (!err)
                w->locked.unlinked = true;
        if (w->locked.dirty || !err)
                set_error_locked(w, err ? err : -ECANCELED);
        advance_locked(w, &out);
        leave(w, &out);
}

size_t writer_idle_bytes(struct writer *w)
{
        pthread_mutex_lock(&w->mtx);
        bool idle = w->locked.cur && !w->locked.committing && !w->locked.spilling;
        size_t n = idle ? part_in_memory(w->locked.cur) : 0;
        pthread_mutex_unlock(&w->mtx);
        return n;
}

size_t writer_relieve(struct writer *w)
{
        struct outcome out = {0};
        size_t freed = 0;
        int err = 0;

        pthread_mutex_lock(&w->mtx);
        struct part *p = w->locked.cur;
        if (!p || w->locked.committing || w->locked.spilling || w->locked.err) {
                pthread_mutex_unlock(&w->mtx);
                return 0;
        }
        freed = part_in_memory(p);
        if (p->len >= STORE_PART_SIZE_MIN) {
                close_part_locked(w, &out);
        } else if (w->env->spill && freed) {
                w->locked.spilling = true;
                pthread_mutex_unlock(&w->mtx);
                err = part_spill(p, w->env->spill);
                METRIC_ADD(spilled_bytes, freed);
                pthread_mutex_lock(&w->mtx);
                w->locked.spilling = false;
                set_error_locked(w, err);
                wake_deferred_locked(w, &out);
        } else {
                freed = 0;
        }
        advance_locked(w, &out);
        leave(w, &out);
        return err ? 0 : freed;
}

uint64_t writer_size(struct writer *w)
{
        pthread_mutex_lock(&w->mtx);
        uint64_t size = w->locked.size;
        pthread_mutex_unlock(&w->mtx);
        return size;
}

bool writer_dirty(struct writer *w)
{
        pthread_mutex_lock(&w->mtx);
        bool dirty = w->locked.dirty && !w->locked.unlinked;
        pthread_mutex_unlock(&w->mtx);
        return dirty;
}

bool writer_touched(struct writer *w)
{
        pthread_mutex_lock(&w->mtx);
        bool touched = w->locked.touched;
        pthread_mutex_unlock(&w->mtx);
        return touched;
}

void writer_shutdown(struct writer *w)
{
        struct outcome out = {0};

        pthread_mutex_lock(&w->mtx);
        while (w->locked.committing)
                pthread_cond_wait(&w->idle, &w->mtx);
        if (w->locked.dirty)
                set_error_locked(w, -ESHUTDOWN);
        advance_locked(w, &out);
        while (w->locked.inflight || w->locked.spilling)
                pthread_cond_wait(&w->idle, &w->mtx);
        pthread_mutex_unlock(&w->mtx);
        outcome_run(w, &out);
}
