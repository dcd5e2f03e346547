/* SPDX-License-Identifier: Apache-2.0 */
/* pool.c: see pool.h. Memory comes in slabs, is used again and goes back when the pool does. */
#include "base/pool.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/container_of.h"
#include "base/cleanup.h"
#include "base/mutex.h"

#include "base/banned.h"

enum { SLAB_BUFS = 16, BUF_SPAN = POOL_BUF_SIZE + POOL_BUF_TAIL };

struct slab {
        struct slab *next;
        void *map;
        struct pool_buf bufs[SLAB_BUFS];
};

struct pool {
        struct mutex mtx;
        void (*pressure)(void *arg);
        void *pressure_arg;
        struct {
                struct slab *slabs;
                struct pool_buf *free;
                size_t low, cap; /* in buffers */
                size_t used, peak, nfree;
                size_t backlog; /* bytes */
                struct waiters waiting;
                size_t shared;        /* buffers of shares that were given */
                struct waiters asked; /* for a share */
                bool giving;          /* a thread gives shares, one after the other */
                bool guarded;         /* the guard was called and does not rest */
                bool open;            /* there is no guard any more: nobody waits */
        } locked GUARDED_BY(&mtx);
};

static void set_cap_locked(struct pool *p, size_t cap) REQUIRES(&p->mtx)
{
        p->locked.cap = cap / BUF_SPAN;
        if (p->locked.cap < 8)
                p->locked.cap = 8;
        p->locked.low = p->locked.cap - p->locked.cap / 8;
}

struct pool *pool_new(size_t cap)
{
        struct pool *p = calloc(1, sizeof *p);
        if (!p)
                return NULL;
        mutex_init(&p->mtx, LOCK_POOL);
        mutex_unshared(&p->mtx);
        set_cap_locked(p, cap);
        return p;
}

void pool_free(struct pool *p)
{
        if (!p)
                return;
        mutex_unshared(&p->mtx);
        assert(!waiters_any(&p->locked.waiting) && !waiters_any(&p->locked.asked) &&
               !p->locked.shared);
        while (p->locked.slabs) {
                struct slab *s = p->locked.slabs;
                p->locked.slabs = s->next;
                munmap(s->map, (size_t)SLAB_BUFS * BUF_SPAN);
                free(s);
        }
        mutex_destroy(&p->mtx);
        free(p);
}

static int add_slab_locked(struct pool *p) REQUIRES(&p->mtx)
{
        struct slab *s = calloc(1, sizeof *s);
        if (!s)
                return -1;
        size_t size = (size_t)SLAB_BUFS * BUF_SPAN;
        s->map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (s->map == MAP_FAILED) {
                free(s);
                return -1;
        }
        madvise(s->map, size,
                MADV_HUGEPAGE); /* fewer faults and TLB misses; small pages work too */
        for (int i = SLAB_BUFS - 1; i >= 0; i--) {
                struct pool_buf *b = &s->bufs[i];
                b->pool = p;
                b->data = (unsigned char *)s->map + (size_t)i * BUF_SPAN;
                b->next = p->locked.free;
                p->locked.free = b;
                p->locked.nfree++;
        }
        s->next = p->locked.slabs;
        p->locked.slabs = s;
        return 0;
}

static struct pool_buf *take_free_locked(struct pool *p) REQUIRES(&p->mtx)
{
        struct pool_buf *b = p->locked.free;
        p->locked.free = b->next;
        b->next = NULL;
        p->locked.nfree--;
        atomic_store_explicit(&b->refs, 1, memory_order_relaxed);
        if (++p->locked.used > p->locked.peak)
                p->locked.peak = p->locked.used;
        return b;
}

static bool take_many_locked(struct pool *p, struct pool_buf **v, size_t n) REQUIRES(&p->mtx)
{
        bool enough = true;

        while (enough && p->locked.nfree < n)
                enough = !add_slab_locked(p);
        for (size_t i = 0; enough && i < n; i++)
                v[i] = take_free_locked(p);
        return enough;
}

bool pool_get_many(struct pool *p, enum pool_want want, struct pool_buf **v, size_t n)
{
        mutex_lock(&p->mtx);
        size_t limit = want == POOL_TRY    ? p->locked.low
                       : want == POOL_MUST ? p->locked.cap
                                           : SIZE_MAX;
        bool enough =
                p->locked.used <= limit && n <= limit - p->locked.used && take_many_locked(p, v, n);
        mutex_unlock(&p->mtx);
        return enough;
}

struct pool_buf *pool_get(struct pool *p, enum pool_want want)
{
        struct pool_buf *b;
        return pool_get_many(p, want, &b, 1) ? b : NULL;
}

struct pool_buf *pool_ref(struct pool_buf *b)
{
        atomic_fetch_add_explicit(&b->refs, 1, memory_order_relaxed);
        return b;
}

static bool full_locked(const struct pool *p) REQUIRES(&p->mtx)
{
        return p->locked.used >= p->locked.low;
}

static bool busy_locked(const struct pool *p) REQUIRES(&p->mtx)
{
        return full_locked(p) || p->locked.backlog > POOL_BACKLOG;
}

/* The next to be told, if there may be one. One at a time: each will take about one more buffer. */
static struct waiter *take_waiter_locked(struct pool *p) REQUIRES(&p->mtx)
{
        assert(!waiters_any(&p->locked.waiting) || p->locked.guarded || !p->pressure);
        return busy_locked(p) ? NULL : waiters_take(&p->locked.waiting);
}

/* --- shares --- */

static struct pool_share *asked_locked(const struct pool *p) REQUIRES(&p->mtx)
{
        struct waiter *w = p->locked.asked.first;
        return w ? CONTAINER_OF(w, struct pool_share, waiter) : NULL;
}

static bool may_share_locked(const struct pool *p, size_t n) REQUIRES(&p->mtx)
{
        return !p->locked.shared || p->locked.shared + n <= p->locked.cap / 8 ||
               p->locked.used + n <= p->locked.low;
}

static void give_share_locked(struct pool *p, struct pool_share *s) REQUIRES(&p->mtx)
{
        p->locked.shared += s->n;
        s->bufs = NULL;
        for (size_t i = 0; i < s->n; i++) {
                struct pool_buf *b;
                if (!take_many_locked(p, &b, 1))
                        break;
                b->next = s->bufs;
                s->bufs = b;
        }
}

/* Gives what may be given; unlocks. One thread at a time, and not from within ready(), however many
 * end at once: who is told may end its share at once, too. */
static void give_and_unlock(struct pool *p) RELEASE(&p->mtx)
{
        struct pool_share *s;

        while (!p->locked.giving && (s = asked_locked(p)) && may_share_locked(p, s->n)) {
                (void)waiters_take(&p->locked.asked);
                give_share_locked(p, s);
                p->locked.giving = true;
                mutex_unlock(&p->mtx);
                mutex_check_none();
                s->waiter.ready(&s->waiter);
                mutex_lock(&p->mtx);
                p->locked.giving = false;
        }
        mutex_unlock(&p->mtx);
}

bool pool_share_take(struct pool *p, struct pool_share *s)
{
        mutex_lock(&p->mtx);
        bool given = !waiters_any(&p->locked.asked) && may_share_locked(p, s->n);
        if (given)
                give_share_locked(p, s);
        else
                waiters_add(&p->locked.asked, &s->waiter);
        mutex_unlock(&p->mtx);
        return given;
}

void pool_unref_list(struct pool_buf *list)
{
        while (list) {
                struct pool_buf *b = list;
                list = b->next;
                b->next = NULL;
                pool_unref(b);
        }
}

void pool_share_end(struct pool *p, struct pool_share *s)
{
        if (!s->n)
                return;
        pool_unref_list(TAKE_PTR(s->bufs));
        mutex_lock(&p->mtx);
        p->locked.shared -= s->n;
        s->n = 0;
        give_and_unlock(p);
}

void pool_unref(struct pool_buf *b)
{
        if (!b || atomic_fetch_sub_explicit(&b->refs, 1, memory_order_acq_rel) > 1)
                return;
        struct pool *p = b->pool;

        mutex_lock(&p->mtx);
        b->next = p->locked.free;
        p->locked.free = b;
        p->locked.nfree++;
        p->locked.used--;
        struct waiter *w = take_waiter_locked(p);
        give_and_unlock(p);
        if (w)
                waiter_run(w, 0);
}

bool pool_drop(struct pool_buf *b)
{
        if (atomic_fetch_sub_explicit(&b->refs, 1, memory_order_acq_rel) > 1)
                return false;
        atomic_store_explicit(&b->refs, 1, memory_order_relaxed);
        return true;
}

void pool_queued(struct pool *p, size_t bytes)
{
        mutex_lock(&p->mtx);
        p->locked.backlog += bytes;
        mutex_unlock(&p->mtx);
}

/* Tells those that may be told, at most n of them; unlocks. */
static void tell_and_unlock(struct pool *p, size_t n) RELEASE(&p->mtx)
{
        struct waiters told = {0};
        struct waiter *w;

        while (n-- && (w = take_waiter_locked(p)))
                waiters_add(&told, w);
        mutex_unlock(&p->mtx);
        waiters_run(&told, 0);
}

void pool_started(struct pool *p, size_t bytes)
{
        mutex_lock(&p->mtx);
        p->locked.backlog -= bytes;
        tell_and_unlock(p, SIZE_MAX);
}

void pool_set_cap(struct pool *p, size_t cap)
{
        mutex_lock(&p->mtx);
        set_cap_locked(p, cap);
        mutex_unlock(&p->mtx);
}

bool pool_nudge(struct pool *p)
{
        mutex_lock(&p->mtx);
        tell_and_unlock(p, p->locked.used < p->locked.low ? p->locked.low - p->locked.used : 0);
        mutex_lock(&p->mtx);
        bool waits = p->locked.guarded = waiters_any(&p->locked.waiting);
        mutex_unlock(&p->mtx);
        return waits;
}

/* Unlocks. */
static void tell_all_and_unlock(struct pool *p) RELEASE(&p->mtx)
{
        struct waiters told = {0};
        waiters_move(&told, &p->locked.waiting);
        mutex_unlock(&p->mtx);
        waiters_run(&told, 0);
}

void pool_tell_all(struct pool *p)
{
        mutex_lock(&p->mtx);
        tell_all_and_unlock(p);
}

void pool_unguard(struct pool *p)
{
        mutex_lock(&p->mtx);
        p->locked.open = true;
        tell_all_and_unlock(p);
}

bool pool_busy(struct pool *p)
{
        mutex_lock(&p->mtx);
        bool busy = busy_locked(p);
        mutex_unlock(&p->mtx);
        return busy;
}

bool pool_full(struct pool *p)
{
        mutex_lock(&p->mtx);
        bool full = full_locked(p);
        mutex_unlock(&p->mtx);
        return full;
}

void pool_press(struct pool *p)
{
        if (p->pressure)
                p->pressure(p->pressure_arg);
}

bool pool_wait(struct pool *p, struct waiter *w)
{
        mutex_lock(&p->mtx);
        bool wait = busy_locked(p) && !p->locked.open;
        if (wait) {
                waiters_add(&p->locked.waiting, w);
                p->locked.guarded = true;
        }
        mutex_unlock(&p->mtx);
        if (wait)
                pool_press(p);
        return wait;
}

void pool_on_pressure(struct pool *p, void (*fn)(void *arg), void *arg)
{
        p->pressure = fn;
        p->pressure_arg = arg;
}

size_t pool_in_use(struct pool *p)
{
        mutex_lock(&p->mtx);
        size_t n = p->locked.used * BUF_SPAN;
        mutex_unlock(&p->mtx);
        return n;
}

size_t pool_peak(struct pool *p)
{
        mutex_lock(&p->mtx);
        size_t n = p->locked.peak * BUF_SPAN;
        mutex_unlock(&p->mtx);
        return n;
}
