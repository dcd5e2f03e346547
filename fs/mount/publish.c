/* SPDX-License-Identifier: Apache-2.0 */
/* publish.c: how a version gets to the store: parts, put, complete, abort. See writer_int.h. */
#include "mount/writer_int.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/metrics.h"

#include "base/banned.h"

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

void writer_outcome_run(struct writer *w, struct outcome *out)
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

void writer_wake_deferred_locked(struct writer *w, struct outcome *out)
{
        if (w->locked.committing || w->locked.spilling)
                return;
        out->deferred = w->locked.deferred;
        w->locked.deferred = NULL;
        w->locked.deferred_last = &w->locked.deferred;
}

void writer_finish_commit_locked(struct writer *w, struct outcome *out, int err,
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
        writer_wake_deferred_locked(w, out);
}

void writer_set_error_locked(struct writer *w, int err)
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

/* The end of a request: `err` is its result, `p` its part or NULL. */
static void request_done_locked(struct writer *w, struct outcome *out, int err, struct part *p)
{
        assert(w->locked.inflight);
        w->locked.inflight--;
        if (p)
                give_part(out, p);
        writer_set_error_locked(w, err);
}

void writer_count_locked(struct writer *w)
{
        struct writer_tally *t = w->env->tally;
        bool busy = w->locked.inflight || w->locked.spilling;

        if (busy == w->locked.tallied)
                return;
        w->locked.tallied = busy;
        pthread_mutex_lock(&t->mtx);
        t->busy += busy ? 1 : (size_t)-1;
        if (!t->busy)
                pthread_cond_broadcast(&t->none);
        pthread_mutex_unlock(&t->mtx);
}

void writer_leave(struct writer *w, struct outcome *out)
{
        writer_count_locked(w);
        pthread_cond_broadcast(&w->idle);
        pthread_mutex_unlock(&w->mtx);
        writer_outcome_run(w, out);
}

/* Counts a request that was queued, or keeps the error of one that could not be. */
static bool queued_locked(struct writer *w, int err)
{
        if (err) {
                writer_set_error_locked(w, err);
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
        writer_advance_locked(w, &out);
        writer_leave(w, &out);
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
        writer_advance_locked(w, &out);
        writer_leave(w, &out);
        writer_unref(w);
}

void writer_close_part_locked(struct writer *w, struct outcome *out)
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
        writer_advance_locked(w, &out);
        writer_leave(w, &out);
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
                writer_finish_commit_locked(w, &out, 0, obj);
        } else {
                w->locked.finishing = false;
        }
        writer_advance_locked(w, &out);
        writer_leave(w, &out);
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
                writer_finish_commit_locked(w, out, w->locked.err, NULL);
}

void writer_advance_locked(struct writer *w, struct outcome *out)
{
        if (w->locked.err) {
                advance_failed_locked(w, out);
                return;
        }
        if (!w->locked.committing || w->locked.finishing || w->locked.spilling)
                return;
        if (w->locked.state == UPLOAD_OPEN && w->locked.cur)
                writer_close_part_locked(w, out);
        if (w->locked.state == UPLOAD_NONE || !w->locked.inflight)
                start_finish_locked(w);
        if (w->locked.err)
                advance_failed_locked(w, out);
}
