/* SPDX-License-Identifier: Apache-2.0 */
/* wfile.c: see wfile.h; the program's side: life, what it is of where nothing was written, changes.
 */
#include "mount/write/wfile_int.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/mutex.h"
#include "base/log.h"
#include "mount/write/spill.h"

#include "base/banned.h"

/* Keeping a buffer for less than this wastes more memory than a copy costs. */
enum { OWN_MIN = POOL_BUF_SIZE / 4 * 3 };

void wfile_tally_init(struct wfile_tally *t)
{
        mutex_init(&t->mtx, LOCK_TALLY);
        pthread_cond_init(&t->none, NULL);
}

bool wfile_tally_busy(struct wfile_tally *t)
{
        mutex_lock(&t->mtx);
        bool busy = t->busy > 0;
        mutex_unlock(&t->mtx);
        return busy;
}

void wfile_tally_wait(struct wfile_tally *t)
{
        mutex_lock(&t->mtx);
        while (t->busy)
                mutex_wait(&t->none, &t->mtx);
        mutex_unlock(&t->mtx);
}

struct wfile *wfile_new(const struct wfile_env *env, void *who, const char *key,
                        const struct store_object *base)
{
        struct wfile *f = calloc(1, sizeof *f);

        if (!f)
                return NULL;
        mutex_unshared(&f->mtx);
        f->locked.key = strdup(key);
        if (!f->locked.key) {
                free(f);
                return NULL;
        }
        atomic_init(&f->refs, 1);
        f->env = env;
        f->who = who;
        mutex_init(&f->mtx, LOCK_WFILE);
        pthread_cond_init(&f->idle, NULL);
        extent_map_init(&f->locked.data, env->pool, env->spill);
        f->locked.parts.plan = env->plan;
        f->locked.discarded = UINT64_MAX;
        if (base) {
                f->locked.base = (struct base){.object = *base, .len = base->size};
                f->locked.size = base->size;
        }
        return f;
}

struct wfile *wfile_ref(struct wfile *f)
{
        atomic_fetch_add_explicit(&f->refs, 1, memory_order_relaxed);
        return f;
}

void wfile_unref(struct wfile *f)
{
        if (!f || atomic_fetch_sub_explicit(&f->refs, 1, memory_order_acq_rel) > 1)
                return;
        mutex_unshared(&f->mtx);
        assert(!f->locked.inflight && !f->locked.leaving && !f->locked.upload.handle);
        free(f->locked.attempt);
        wfile_clear_locked(f);
        pool_unref_list(f->locked.data.garbage);
        reader_end(f->locked.reader);
        plan_release(&f->locked.commit.sending.plan);
        free(f->locked.commit.conflict);
        pthread_cond_destroy(&f->idle);
        mutex_destroy(&f->mtx);
        free(f->locked.parts.anchors);
        free(f->locked.parts.v);
        free(f->locked.origin.key);
        free(f->locked.upload.key);
        free(f->locked.key);
        free(f);
}

/* --- what it is of where nothing was written --- */

static void cut_base_locked(struct wfile *f, uint64_t size) REQUIRES(&f->mtx)
{
        struct base *b = f->locked.origin.key ? &f->locked.origin : &f->locked.base;
        if (size < b->len)
                b->len = size;
}

static void forget_origin_locked(struct wfile *f, struct outcome *out) REQUIRES(&f->mtx)
{
        if (!f->locked.origin.key)
                return;
        free(TAKE_PTR(f->locked.origin.key));
        wfile_drop_reader_locked(f, out);
}

void wfile_clear_locked(struct wfile *f) REQUIRES(&f->mtx)
{
        extent_map_clear(&f->locked.data);
        upload_parts_reset(&f->locked.parts);
}

void wfile_reset_locked(struct wfile *f, struct outcome *out, uint64_t size, bool data_stays)
        REQUIRES(&f->mtx)
{
        forget_origin_locked(f, out);
        if (!data_stays)
                extent_map_clear(&f->locked.data);
        upload_parts_reset(&f->locked.parts);
        f->locked.parts.plan = f->env->plan;
        f->locked.sent = 0;
        f->locked.sending_ns = 0;
        f->locked.anew = false;
        f->locked.recent = (struct recent){.second = {0}};
        f->locked.size = f->locked.base.len = size;
        f->locked.discarded = UINT64_MAX;
}

static bool is_origin_locked(const struct wfile *f, const char *key, const struct store_object *src)
        REQUIRES(&f->mtx)
{
        const struct base *origin = &f->locked.origin;
        return origin->key && !strcmp(origin->key, key) && !strcmp(origin->object.etag, src->etag);
}

/* Whether the file holds bytes [0, off) of that version of `key`, and nothing else. */
static bool follows_locked(const struct wfile *f, const char *key, const struct store_object *src,
                           uint64_t off) REQUIRES(&f->mtx)
{
        if (!wfile_is_bare_locked(f) || f->locked.size != off || wfile_base_locked(f)->len != off)
                return false;
        return !off || is_origin_locked(f, key, src);
}

static int clone_locked(struct wfile *f, struct outcome *out, const char *key,
                        const struct store_object *src, uint64_t end) REQUIRES(&f->mtx)
{
        if (!is_origin_locked(f, key, src)) {
                char *copy = strdup(key);
                if (!copy)
                        return -ENOMEM;
                forget_origin_locked(f, out);
                wfile_drop_reader_locked(f, out); /* of the base */
                f->locked.origin = (struct base){.key = copy, .object = *src};
        }
        f->locked.size = f->locked.origin.len = end;
        return 0;
}

/* --- what programs do --- */

void wfile_user_init(struct wfile *f, struct wfile_user *u, bool maps)
{
        mutex_lock(&f->mtx);
        *u = (struct wfile_user){.maps = maps, .lost = f->locked.lost};
        mutex_unlock(&f->mtx);
}

/* Why this handle may not change the file now, or 0. */
static int wfile_refusal_locked(struct wfile *f, const struct wfile_user *u) REQUIRES(&f->mtx)
{
        if (wfile_has_failed_locked(f, u))
                return f->locked.last_err;
        if (f->locked.over)
                return -EROFS;
        return commit_blocks_locked(f) ? -EAGAIN : 0;
}

int64_t wfile_now_ns(void)
{
        struct timespec ts;
        clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
        return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* The file differs from what was published. */
static void wfile_note_change_locked(struct wfile *f, struct wfile_user *u) REQUIRES(&f->mtx)
{
        if (!f->locked.dirty)
                f->locked.changed_ns = wfile_now_ns();
        f->locked.dirty = true;
        f->locked.uncut_size = 0;
        f->locked.anyones = f->locked.anyones || !u;
        if (!u)
                return;
        u->wrote = true;
        u->epoch = f->locked.epoch;
        u->published = f->locked.published;
}

/* What was sent and is gone cannot be had from the store before it is published, which only a close
 * or an fsync may do: the change is refused. */
static int note_refusal_locked(struct wfile *f, int err) REQUIRES(&f->mtx)
{
        if (err == -EAGAIN)
                f->locked.flight_awaited = true;
        return err;
}

/* Whether there is no place for more: the spill takes nothing, and no request is under way, of this
 * file or another, that would give memory back when it ends. What the spill said before memory had
 * room again is old: it is asked anew. */
static bool is_full_locked(const struct wfile *f) REQUIRES(&f->mtx)
{
        bool full = spill_is_full(f->env->spill);

        if (full && !pool_busy(f->env->pool)) {
                spill_forget_full(f->env->spill);
                return false;
        }
        return full && !f->locked.inflight && !wfile_tally_busy(f->env->tally);
}

static int no_room_locked(struct wfile *f) REQUIRES(&f->mtx)
{
        if (!f->locked.refused)
                log_warn_of(
                        LOG_ABOUT(.operation = "write", .file = f->locked.key,
                                  .remedy = "give more memory= or spill=, or room in spill_dir="),
                        "%s: a write is refused, since memory is full and the spill file takes "
                        "nothing",
                        f->locked.key);
        f->locked.refused = true;
        return -ENOSPC;
}

/* A refusal changes nothing. Where memory ends in the middle, what was put before that is written:
 * the bytes, or a negative errno if there are none. */
static ssize_t write_locked(struct wfile *f, struct outcome *out, struct wfile_user *u,
                            uint64_t pos, const unsigned char *p, size_t n, struct pool_buf *whole)
        REQUIRES(&f->mtx)
{
        struct pool_buf *own = whole && n >= OWN_MIN ? whole : NULL;
        int err = note_refusal_locked(f, upload_parts_check(&f->locked.parts, pos, pos + n));
        ssize_t done = 0;

        while (!err && n) {
                struct upload_part *s;
                uint64_t end, fresh = 0;
                err = upload_part_at_locked(f, pos, &s, &end);
                if (err)
                        break;
                size_t k = end - pos < n ? (size_t)(end - pos) : n;
                err = extent_map_put(&f->locked.data, pos, p, k, own, &fresh);
                if (err)
                        break;
                wfile_note_change_locked(f, u);
                upload_part_reopen(s);
                f->locked.rewritten = f->locked.rewritten || fresh < k;
                if (pos + k > f->locked.size)
                        f->locked.size = pos + k;
                upload_part_filled_locked(f, out, s, pos, p, k, fresh);
                pos += k;
                p += k;
                n -= k;
                done += (ssize_t)k;
        }
        return done ? done : err;
}

/* Whether these bytes need not be kept: the file has no name, and no handle that reads. As long as
 * it is small they are, since what /proc/PID/fd leads to may be opened to be read. */
static bool is_discarded_locked(const struct wfile *f, uint64_t pos, uint64_t end) REQUIRES(&f->mtx)
{
        return f->locked.unlinked && !f->locked.read_too &&
               (end > f->env->resident || end > f->locked.discarded || is_full_locked(f) ||
                upload_parts_check(&f->locked.parts, pos, end));
}

static void discard_write_locked(struct wfile *f, struct wfile_user *u, uint64_t pos, uint64_t end)
        REQUIRES(&f->mtx)
{
        extent_map_drop(&f->locked.data, pos, end);
        if (pos < f->locked.discarded)
                f->locked.discarded = pos;
        if (end > f->locked.size)
                f->locked.size = end;
        wfile_note_change_locked(f, u);
}

ssize_t wfile_write(struct wfile *f, struct wfile_user *u, bool append, uint64_t pos, const void *p,
                    size_t n, struct pool_buf *whole)
{
        struct outcome out;
        bool full = false;
        ssize_t done = (ssize_t)n;

        wfile_enter(f, &out);
        int err = wfile_refusal_locked(f, u);
        if (!err && append)
                pos = f->locked.size;
        if (!err && (pos > f->env->size_max || n > f->env->size_max - pos))
                err = -EFBIG;
        if (!err && n && is_discarded_locked(f, pos, pos + n))
                discard_write_locked(f, u, pos, pos + n);
        else if (!err && n && (full = is_full_locked(f)))
                err = no_room_locked(f);
        else if (!err && n)
                done = write_locked(f, &out, u, pos, p, n, whole);
        wfile_leave(f, &out);
        if (full) /* who tries again may find that the disk has room by then */
                pool_press(f->env->pool);
        return err ? err : done;
}

/* From nothing: as a file that is written anew. */
static int empty_locked(struct wfile *f, struct outcome *out) REQUIRES(&f->mtx)
{
        if (f->locked.inflight) {
                f->locked.flight_awaited = true;
                return -EAGAIN;
        }
        upload_request_abort_locked(f, out);
        wfile_reset_locked(f, out, 0, false);
        f->locked.anew = true;
        f->locked.spares = false;
        return 0;
}

static void announce_locked(struct wfile *f, uint64_t size) REQUIRES(&f->mtx)
{
        if (!f->locked.parts.nanchors)
                f->locked.parts.plan = part_plan_announced(&f->env->plan, size);
}

int wfile_truncate(struct wfile *f, struct wfile_user *u, uint64_t size)
{
        struct outcome out;

        wfile_enter(f, &out);
        uint64_t uncut = f->locked.cuts && !f->locked.dirty ? f->locked.size : 0;
        int err = wfile_refusal_locked(f, u);
        if (!err && size > f->env->size_max)
                err = -EFBIG;
        else if (!err && !size)
                err = empty_locked(f, &out);
        else if (!err && size < f->locked.size)
                err = note_refusal_locked(f, upload_parts_cut_locked(f, size));
        else if (!err)
                announce_locked(f, size);
        if (!err) {
                if (size < f->locked.size)
                        extent_map_drop(&f->locked.data, size, UINT64_MAX);
                cut_base_locked(f, size);
                if (size <= f->locked.discarded)
                        f->locked.discarded = UINT64_MAX;
                f->locked.size = size;
                wfile_note_change_locked(f, u);
                f->locked.uncut_size = uncut;
        }
        wfile_leave(f, &out);
        return err;
}

int wfile_clone(struct wfile *f, struct wfile_user *u, const char *key,
                const struct store_object *src, uint64_t off, uint64_t len)
{
        struct outcome out;

        wfile_enter(f, &out);
        int err = wfile_refusal_locked(f, u);
        if (!err && (f->locked.unlinked || !follows_locked(f, key, src, off)))
                err = -EOPNOTSUPP;
        if (!err)
                err = clone_locked(f, &out, key, src, off + len);
        if (!err)
                wfile_note_change_locked(f, u);
        wfile_leave(f, &out);
        return err;
}

void wfile_announce(struct wfile *f, uint64_t size)
{
        mutex_lock(&f->mtx);
        announce_locked(f, size);
        mutex_unlock(&f->mtx);
}

void wfile_create(struct wfile *f, struct wfile_user *u, bool if_absent)
{
        mutex_lock(&f->mtx);
        f->locked.if_absent = if_absent;
        wfile_note_change_locked(f, u);
        mutex_unlock(&f->mtx);
}

void wfile_claim(struct wfile *f)
{
        mutex_lock(&f->mtx);
        f->locked.if_absent = true;
        mutex_unlock(&f->mtx);
}

void wfile_unname(struct wfile *f)
{
        mutex_lock(&f->mtx);
        f->locked.unlinked = true;
        mutex_unlock(&f->mtx);
}

void wfile_read_too(struct wfile *f)
{
        mutex_lock(&f->mtx);
        f->locked.read_too = true;
        mutex_unlock(&f->mtx);
}

bool wfile_defer(struct wfile *f, struct waiter *w)
{
        mutex_lock(&f->mtx);
        bool wait = commit_blocks_locked(f);
        if (wait)
                waiters_add(&f->locked.deferred, w);
        mutex_unlock(&f->mtx);
        return wait;
}
