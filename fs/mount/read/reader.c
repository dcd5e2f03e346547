/* SPDX-License-Identifier: Apache-2.0 */
/* reader.c: see reader.h; what to fetch, and what becomes of it.
 *
 * Ranges are requested, fill up on an I/O thread and are handed to the reads that wait for them
 * from that same thread: reader_reply_locked() runs after every change. Memory is given back
 * outside the lock, since that may wake a read. */
#include "mount/read/reader_int.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/container_of.h"
#include "base/mutex.h"
#include "base/log.h"
#include "base/metrics.h"

#include "base/banned.h"

struct reader *reader_new(const struct reader_env *env, const char *key,
                          const struct store_object *obj)
{
        struct reader *r = calloc(1, sizeof *r);
        if (!r || !(r->key = strdup(key))) {
                free(r);
                return NULL;
        }
        atomic_init(&r->refs, 1);
        mutex_unshared(&r->mtx);
        r->env = env;
        r->obj = *obj;
        r->locked.windows.read_size = env->read_size;
        mutex_init(&r->mtx, LOCK_READER);
        return r;
}

struct reader *reader_ref(struct reader *r)
{
        atomic_fetch_add_explicit(&r->refs, 1, memory_order_relaxed);
        return r;
}

void reader_unref(struct reader *r)
{
        if (!r || atomic_fetch_sub_explicit(&r->refs, 1, memory_order_acq_rel) > 1)
                return;
        mutex_destroy(&r->mtx);
        free(r->key);
        free(r);
}

const char *reader_etag(const struct reader *r)
{
        return r->obj.etag;
}

uint64_t reader_size(const struct reader *r)
{
        return r->obj.size;
}

bool reader_is_wrong(struct reader *r)
{
        mutex_lock(&r->mtx);
        bool wrong = r->locked.err;
        mutex_unlock(&r->mtx);
        return wrong;
}

int reader_rename(struct reader *r, const char *key, const char *etag)
{
        char *copy = strdup(key);
        if (!copy)
                return -ENOMEM;
        mutex_lock(&r->mtx);
        char *old = r->key;
        r->key = copy;
        snprintf(r->obj.etag, sizeof r->obj.etag, "%s", etag);
        r->locked.turn++;
        mutex_unlock(&r->mtx);
        free(old);
        return 0;
}

/* --- fetching --- */

static int fetch_locked(struct reader *r, struct fetch_range *g) REQUIRES(&r->mtx);

static int range_data(void *arg, uint64_t at, const void *p, size_t n)
{
        struct fetch_range *g = arg;
        struct reader *r = g->reader;

        if (__atomic_load_n(&g->dead, __ATOMIC_RELAXED))
                return -ECANCELED;
        if (at + n > g->len)
                return -EIO; /* more than was asked for */
        fetch_range_fill(g, at, p, n);
        mutex_lock(&r->mtx);
        g->filled = at + n;
        if (!g->hold)
                reader_reply_locked(r);
        reader_unlock(r);
        return 0;
}

/* Whether to fetch the range once more: it arrived with a wrong checksum, or its object was renamed
 * meanwhile and is to be had at another key. */
static bool again_locked(const struct reader *r, struct fetch_range *g, int err) REQUIRES(&r->mtx)
{
        if (g->dead)
                return false;
        if (g->turn != r->locked.turn)
                return err == -ENOENT || err == -ESTALE;
        return err == -EBADMSG && g->hold && !g->tries++;
}

/* The errno a program sees for a version that is no longer to be had. */
static int read_errno(int err)
{
        return err == -ENOENT ? -ESTALE : err == -EBADMSG ? -EIO : err;
}

/* Puts off what becomes of a range that failed while its version is being renamed, until that is
 * done. */
static bool defer_locked(struct reader *r, struct fetch_range *g, int err) REQUIRES(&r->mtx)
{
        if (!r->locked.moving || g->dead || g->turn != r->locked.turn ||
            (err != -ENOENT && err != -ESTALE))
                return false;
        g->deferred = r->locked.deferred;
        r->locked.deferred = g;
        return true;
}

static void range_done(void *arg, int err, const struct store_got *got)
{
        struct fetch_range *g = arg;
        struct reader *r = g->reader;

        mutex_lock(&r->mtx);
        if (err && defer_locked(r, g, err)) {
                reader_unlock(r);
                return;
        }
        g->flying = false;
        if (!err && got->bytes != g->len)
                err = -EIO;
        if (err && again_locked(r, g, err)) {
                g->filled = 0;
                err = fetch_locked(r, g);
                if (!err) {
                        reader_unlock(r);
                        reader_unref(r);
                        return;
                }
        }
        if (!err)
                g->crc = got->crc32c;
        if (err == -EBADMSG)
                r->locked.err =
                        -EIO; /* else the kernel asks again for less, which has no checksum */
        if (err && !g->dead) {
                g->err = read_errno(err);
                reader_drop_range_locked(r, g);
                reader_fail_locked(r, g->off, g->len, g->err);
        }
        if (!g->dead && g->consumed >= g->len)
                reader_finish_range_locked(r, g);
        reader_put_range_locked(r, g);
        reader_reply_locked(r);
        reader_unlock(r);
        reader_unref(r);
}

struct reader *reader_moving(struct reader *r)
{
        if (!r)
                return NULL;
        mutex_lock(&r->mtx);
        r->locked.moving++;
        mutex_unlock(&r->mtx);
        return reader_ref(r);
}

void reader_moved(struct reader *r)
{
        if (!r)
                return;
        mutex_lock(&r->mtx);
        struct fetch_range *g = --r->locked.moving ? NULL : r->locked.deferred;
        if (g)
                r->locked.deferred = NULL;
        mutex_unlock(&r->mtx);
        while (g) {
                struct fetch_range *next = g->deferred;
                range_done(g, -ESTALE, NULL);
                g = next;
        }
        reader_unref(r);
}

static int fetch_locked(struct reader *r, struct fetch_range *g) REQUIRES(&r->mtx)
{
        struct store_get get = {
                .key = r->key,
                .off = g->off,
                .len = g->len,
                .if_match = r->obj.etag[0] ? r->obj.etag : NULL,
                .data = range_data,
                .done = range_done,
                .arg = g,
        };
        g->turn = r->locked.turn;
        int err = store_get(r->env->store, &get);
        if (!err) {
                g->flying = true;
                reader_ref(r);
        }
        return err;
}

/* Requests [off, off+len). 0, -EAGAIN when there is no memory now, or why it cannot be requested.
 */
static int request_locked(struct reader *r, uint64_t off, uint64_t len, enum pool_want want)
        REQUIRES(&r->mtx)
{
        struct fetch_range *g = fetch_range_new(r->env->pool, off, len, want);
        if (!g)
                return -EAGAIN;
        g->reader = r;
        g->hold = off == 0 && len == r->obj.size;
        int err = fetch_locked(r, g);
        if (err) {
                reader_put_range_locked(r, g);
                return err;
        }
        g->refs++; /* the request's; the first is the list's */
        g->next = r->locked.ranges;
        r->locked.ranges = g;
        return 0;
}

static uint64_t gap_end_locked(const struct reader *r, uint64_t at, uint64_t end) REQUIRES(&r->mtx)
{
        for (const struct fetch_range *g = r->locked.ranges; g; g = g->next)
                if (g->off > at && g->off < end)
                        end = g->off;
        return cached_ranges_next(&r->locked.cached, at, end);
}

/* Counts bytes by where they are: in `g`, or nowhere. */
static void count_read(const struct fetch_range *g, uint64_t n)
{
        if (!g)
                METRIC_ADD(read_misses, n);
        else if (g->cached)
                METRIC_ADD(read_cache_hits, n);
        else
                METRIC_ADD(readahead_hits, n);
}

/* Requests what of the read is neither here nor on its way. */
static int demand_locked(struct reader *r, struct stream *s, const struct read_op *op,
                         enum pool_want want) REQUIRES(&r->mtx)
{
        uint64_t at = op->off, end = op->off + op->len;

        while (at < end) {
                struct fetch_range *g = reader_find_range_locked(r, at);
                uint64_t stop = g ? g->off + g->len : gap_end_locked(r, at, end);
                int err = g ? 0 : request_locked(r, at, stop - at, want);
                if (err)
                        return err;
                count_read(g, (stop < end ? stop : end) - at);
                at = stop;
                if (s->ahead < at)
                        s->ahead = at;
        }
        return 0;
}

static void prefetch_locked(struct reader *r, struct stream *s) REQUIRES(&r->mtx)
{
        uint64_t n;
        while ((n = readahead_next(&r->locked.windows, s, r->obj.size))) {
                uint64_t from = s->ahead > s->next ? s->ahead : s->next;
                struct fetch_range *g = reader_find_range_locked(r, from);
                if (g) {
                        s->ahead = g->off + g->len;
                        continue;
                }
                uint64_t stop = gap_end_locked(r, from, from + n);
                int err = request_locked(r, from, stop - from, POOL_TRY);
                r->locked.lacks |= err == -EAGAIN;
                if (err)
                        return;
                s->ahead = stop;
        }
}

/* Drops what an abandoned stream had fetched ahead. */
static void abandon_locked(struct reader *r, const struct stream *s) REQUIRES(&r->mtx)
{
        struct fetch_range *next;
        for (struct fetch_range *g = s->used ? r->locked.ranges : NULL; g; g = next) {
                next = g->next;
                if (g->off >= s->next && g->off < s->ahead && !g->consumed) {
                        METRIC_ADD(readahead_waste, g->len);
                        reader_drop_range_locked(r, g);
                }
        }
}

static void start_locked(struct reader *r, struct read_op *op, enum pool_want want)
        REQUIRES(&r->mtx);

/* There is room now, or there will be none: what one read needs is taken all the same, so that
 * reads go on however full memory is. */
static void starved_ready(struct waiter *w)
{
        struct read_op *op = CONTAINER_OF(w, struct read_op, starved);
        struct reader *r = op->reader;

        mutex_lock(&r->mtx);
        start_locked(r, op, POOL_OVER);
        reader_reply_locked(r);
        reader_unlock(r);
        reader_unref(r);
}

/* Whether the store has begun with half of what is on its way. Else a larger window would only make
 * the queue longer: what holds the reader up is neither the network nor the store. */
static bool is_begun_locked(const struct reader *r) REQUIRES(&r->mtx)
{
        unsigned flying = 0, silent = 0;
        for (const struct fetch_range *g = r->locked.ranges; g; g = g->next) {
                flying += g->flying;
                silent += g->flying && !g->filled;
        }
        return silent <= 1 + flying / 2;
}

/* Enough for every transfer while the slowest holds the reader up. Memory that more would take is
 * another file's, or need not be touched. */
static uint64_t window_of(const struct reader_env *env)
{
        uint64_t want = 2 * (uint64_t)store_transfers_now(env->store) * env->read_size;
        uint64_t most = __atomic_load_n(&env->max_window, __ATOMIC_RELAXED);
        return want < most ? want : most;
}

static void start_locked(struct reader *r, struct read_op *op, enum pool_want want)
        REQUIRES(&r->mtx)
{
        struct stream evicted;
        struct reply rep;
        enum op_state state = reader_look_locked(r, op, &rep);
        bool waits = (state == OP_WAITS || state == OP_LACKS) && is_begun_locked(r);
        r->locked.windows.max = window_of(r->env);
        struct stream *s = readahead_hit(&r->locked.windows, op->off, op->len, waits, &evicted);

        abandon_locked(r, &evicted);
        int err = demand_locked(r, s, op, want);
        if (err == -EAGAIN && want != POOL_OVER) {
                op->reader = reader_ref(r);
                op->starved.ready = starved_ready;
                if (pool_wait(r->env->pool, &op->starved))
                        return;
                reader_unref(r);
                err = demand_locked(r, s, op, POOL_OVER);
        }
        op->next = r->locked.pending;
        r->locked.pending = op;
        if (err)
                reader_fail_locked(r, op->off, op->len, err == -EAGAIN ? -ENOMEM : err);
        else
                prefetch_locked(r, s);
}

void reader_start_locked(struct reader *r, struct read_op *op) REQUIRES(&r->mtx)
{
        start_locked(r, op, POOL_MUST);
}

void reader_read(struct reader *r, struct read_op *op)
{
        if (op->off >= r->obj.size) {
                read_op_end(op, 0, NULL, 0);
                return;
        }
        if (op->len > r->obj.size - op->off)
                op->len = (size_t)(r->obj.size - op->off);
        reader_ref(r);
        mutex_lock(&r->mtx);
        int err = r->locked.err;
        if (!err) {
                reader_start_locked(r, op);
                reader_reply_locked(r);
        }
        reader_unlock(r);
        if (err)
                read_op_end(op, err, NULL, 0);
        reader_unref(r);
}

void reader_expect(struct reader *r, uint32_t crc32c)
{
        mutex_lock(&r->mtx);
        r->obj.has_crc = true;
        r->obj.crc32c = crc32c;
        mutex_unlock(&r->mtx);
}

void reader_ahead(struct reader *r, uint64_t n)
{
        mutex_lock(&r->mtx);
        uint64_t stop = gap_end_locked(r, 0, n < r->obj.size ? n : r->obj.size);
        if (!reader_find_range_locked(r, 0))
                (void)request_locked(r, 0, stop, POOL_TRY);
        mutex_unlock(&r->mtx);
}

/* --- life --- */

void reader_open(struct reader *r)
{
        mutex_lock(&r->mtx);
        r->locked.opens++;
        mutex_unlock(&r->mtx);
}

static bool awaited_locked(const struct reader *r, const struct fetch_range *g) REQUIRES(&r->mtx)
{
        for (const struct read_op *op = r->locked.pending; op; op = op->next)
                if (op->off < g->off + g->len && g->off < op->off + op->len)
                        return true;
        return false;
}

static size_t drop_idle_locked(struct reader *r, bool all) REQUIRES(&r->mtx)
{
        struct fetch_range *next;
        size_t bytes = 0;
        for (struct fetch_range *g = r->locked.ranges; g; g = next) {
                next = g->next;
                if (!all && (g->flying || g->refs > 1 || awaited_locked(r, g)))
                        continue;
                bytes += (size_t)g->len;
                reader_drop_range_locked(r, g);
        }
        return bytes;
}

void reader_close(struct reader *r)
{
        mutex_lock(&r->mtx);
        if (!--r->locked.opens)
                drop_idle_locked(r, true);
        if (r->locked.err)
                reader_forget_locked(r);
        else
                reader_touch_locked(r);
        reader_unlock(r);
}

void reader_end(struct reader *r)
{
        if (!r)
                return;
        reader_close(r);
        reader_unref(r);
}

size_t reader_shrink(struct reader *r)
{
        mutex_lock(&r->mtx);
        size_t bytes = drop_idle_locked(r, false);
        reader_unlock(r);
        return bytes;
}
