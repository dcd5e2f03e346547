/* SPDX-License-Identifier: Apache-2.0 */
/* writer.c: see writer.h; the program's side: life, writes, commits, memory. */
#include "mount/writer_int.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/metrics.h"

#include "base/banned.h"

/* Keeping a buffer for less than this wastes more memory than a copy costs. */
enum { KEEP_MIN = POOL_BUF_SIZE / 4 * 3 };

void writer_tally_init(struct writer_tally *t)
{
        pthread_mutex_init(&t->mtx, NULL);
        pthread_cond_init(&t->none, NULL);
}

void writer_tally_wait(struct writer_tally *t)
{
        pthread_mutex_lock(&t->mtx);
        while (t->busy)
                pthread_cond_wait(&t->none, &t->mtx);
        pthread_mutex_unlock(&t->mtx);
}

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
                        writer_set_error_locked(w, (int)k); /* the version would lack these bytes */
                        break;
                }
                struct part *part = w->locked.cur;
                if (part->len == part_plan_bytes(&w->env->plan, part->no))
                        writer_close_part_locked(w, out);
                p += k;
                n -= (size_t)k;
        }
        if (w->locked.err)
                writer_advance_locked(w, out);
        return w->locked.err;
}

/* A version that lacks these bytes must not be published by the close that follows. */
static int refuse_locked(struct writer *w, struct outcome *out)
{
        w->locked.dirty = true; /* also when all before it was published */
        writer_set_error_locked(w, -EOPNOTSUPP);
        writer_advance_locked(w, out);
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
                w->locked.dirty = true;
                err = write_locked(w, &out, p, n, whole, kept);
        }
        writer_leave(w, &out);
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
        c->next = NULL;
        *w->locked.commits_last = c;
        w->locked.commits_last = &c->next;
        if (!w->locked.committing && !w->locked.dirty && !w->locked.err) {
                writer_finish_commit_locked(w, &out, 0, NULL); /* published already */
        } else {
                w->locked.committing = true;
                writer_advance_locked(w, &out);
        }
        writer_leave(w, &out);
}

void writer_abort(struct writer *w, int err)
{
        struct outcome out = {0};

        pthread_mutex_lock(&w->mtx);
        if (!err)
                w->locked.unlinked = true;
        if (w->locked.dirty || !err)
                writer_set_error_locked(w, err ? err : -ECANCELED);
        writer_advance_locked(w, &out);
        writer_leave(w, &out);
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
        if (w->locked.dirty && p->len >= STORE_PART_SIZE_MIN) {
                writer_close_part_locked(w, &out);
        } else if (freed) {
                w->locked.spilling = true;
                writer_count_locked(w);
                pthread_mutex_unlock(&w->mtx);
                err = part_spill(p, w->env->spill);
                METRIC_ADD(spilled_bytes, freed);
                pthread_mutex_lock(&w->mtx);
                w->locked.spilling = false;
                writer_set_error_locked(w, err);
                writer_wake_deferred_locked(w, &out);
        }
        writer_advance_locked(w, &out);
        writer_leave(w, &out);
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

void writer_shutdown(struct writer *w)
{
        struct outcome out = {0};

        pthread_mutex_lock(&w->mtx);
        while (w->locked.committing)
                pthread_cond_wait(&w->idle, &w->mtx);
        if (w->locked.dirty)
                writer_set_error_locked(w, -ESHUTDOWN);
        writer_advance_locked(w, &out);
        writer_count_locked(w);
        while (w->locked.inflight || w->locked.spilling)
                pthread_cond_wait(&w->idle, &w->mtx);
        pthread_mutex_unlock(&w->mtx);
        writer_outcome_run(w, &out);
}
