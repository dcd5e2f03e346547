/* SPDX-License-Identifier: Apache-2.0 */
/* mem_reclaim.c: see mem_reclaim.h. */
#include "mount/daemon/mem_reclaim.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/mutex.h"
#include "base/pool.h"
#include "mount/read/reader.h"
#include "mount/read/version_cache.h"
#include "mount/tree/tree.h"
#include "mount/write/wfile.h"

#include "base/banned.h"

enum { RETRY_MS = 50 };

struct mem_reclaim {
        struct pool *pool;
        struct tree *tree;
        struct wfile_tally *tally;
        struct version_cache *cache;
        size_t cap;
        pthread_t thread;
        struct mutex mtx;
        pthread_cond_t wake;
        struct {
                bool pressed, stop;
        } locked GUARDED_BY(&mtx);
};

/* Files that are open, with a reference each: they are looked at without the tree's lock. */
static struct wfile **list_files(struct mem_reclaim *r, size_t *n)
{
        size_t max = 0;

        *n = 0;
        tree_lock(r->tree);
        for (struct node *o = tree_open_list_locked(r->tree); o; o = o->open_next)
                max += o->file != NULL;
        struct wfile **list = max ? calloc(max, sizeof(struct wfile *)) : NULL;
        for (struct node *o = tree_open_list_locked(r->tree); o && list; o = o->open_next)
                if (o->file)
                        list[(*n)++] = wfile_ref(o->file);
        tree_unlock(r->tree);
        return list;
}

static void shrink_list(struct reader **list, size_t n)
{
        for (size_t i = 0; i < n; i++) {
                reader_shrink(list[i]);
                reader_unref(list[i]);
        }
}

static void shrink_readers(struct mem_reclaim *r)
{
        size_t n = 0, max = 0;

        tree_lock(r->tree);
        for (struct node *o = tree_open_list_locked(r->tree); o; o = o->open_next)
                max += o->reader != NULL;
        CLEANUP(freep) struct reader **list = max ? calloc(max, sizeof(struct reader *)) : NULL;
        for (struct node *o = tree_open_list_locked(r->tree); o && list; o = o->open_next)
                if (o->reader)
                        list[n++] = reader_ref(o->reader);
        tree_unlock(r->tree);
        shrink_list(list, n);
}

/* Those of files that are written read the version that these began with. */
static void shrink_base_readers(struct mem_reclaim *r)
{
        size_t n, k = 0;
        CLEANUP(freep) struct wfile **files = list_files(r, &n);
        CLEANUP(freep) struct reader **list = n ? calloc(n, sizeof(struct reader *)) : NULL;

        for (size_t i = 0; i < n; i++) {
                struct reader *base = list ? wfile_reader(files[i]) : NULL;
                if (base)
                        list[k++] = base;
                wfile_unref(files[i]);
        }
        shrink_list(list, k);
}

static size_t cap_of(const struct mem_reclaim *r)
{
        return __atomic_load_n(&r->cap, __ATOMIC_RELAXED);
}

/* The file with the most memory that is not on its way to the store, with a reference, or NULL;
 * *idle is the sum over all. */
static struct wfile *largest(struct mem_reclaim *r, size_t *idle)
{
        size_t n, most = 0;
        CLEANUP(freep) struct wfile **list = list_files(r, &n);
        struct wfile *best = NULL;

        *idle = 0;
        for (size_t i = 0; i < n; i++) {
                size_t bytes = wfile_idle_bytes(list[i]);
                *idle += bytes;
                if (bytes > most) {
                        most = bytes;
                        best = list[i];
                }
        }
        for (size_t i = 0; i < n; i++)
                if (list[i] != best)
                        wfile_unref(list[i]);
        return best;
}

/* Whether memory is full, and no request is under way that would give some back. Of a large buffer
 * a few bytes may be left that count. */
static bool is_stuck(struct mem_reclaim *r)
{
        return !wfile_tally_busy(r->tally) && pool_busy(r->pool);
}

/* While uploads hold most of the memory it comes back by itself; what nobody sends does not. When
 * there is no place for it left and no request is under way, those who wait are let go: the next
 * write says so. */
static void reclaim_files(struct mem_reclaim *r)
{
        size_t idle, given = 0;
        struct wfile *f;

        while ((f = largest(r, &idle)) && (idle > cap_of(r) / 2 || is_stuck(r)) &&
               given < cap_of(r) / 8) {
                ssize_t n = wfile_reclaim(f);
                wfile_unref(f);
                f = NULL;
                if (n < 0 && !wfile_tally_busy(r->tally))
                        pool_tell_all(r->pool);
                if (n <= 0)
                        return;
                given += (size_t)n;
        }
        wfile_unref(f);
}

/* What was on its way when memory became full is idle a moment later, and nobody says so: while
 * somebody waits, look again. */
static void wait_for_pressure_locked(struct mem_reclaim *r, bool waits) REQUIRES(&r->mtx)
{
        const struct timespec until = mutex_deadline(CLOCK_REALTIME, RETRY_MS);

        while (!r->locked.pressed && !r->locked.stop) {
                if (!waits)
                        mutex_wait(&r->wake, &r->mtx);
                else if (mutex_timedwait(&r->wake, &r->mtx, &until) == ETIMEDOUT)
                        return;
        }
}

static void *mem_reclaim_main(void *arg)
{
        struct mem_reclaim *r = arg;
        bool waits = false;

        mutex_lock(&r->mtx);
        for (;;) {
                wait_for_pressure_locked(r, waits);
                if (r->locked.stop)
                        break;
                r->locked.pressed = false;
                mutex_unlock(&r->mtx);
                /* what was read goes first, and before anybody loses what is on its way */
                if (pool_full(r->pool) && r->cache)
                        version_cache_shrink(r->cache, cap_of(r) / 8);
                if (pool_busy(r->pool)) {
                        shrink_readers(r);
                        shrink_base_readers(r);
                        reclaim_files(r);
                }
                waits = pool_nudge(r->pool);
                mutex_lock(&r->mtx);
        }
        mutex_unlock(&r->mtx);
        return NULL;
}

static void on_pressure(void *arg)
{
        struct mem_reclaim *r = arg;
        mutex_lock(&r->mtx);
        r->locked.pressed = true;
        pthread_cond_signal(&r->wake);
        mutex_unlock(&r->mtx);
}

void mem_reclaim_set_cap(struct mem_reclaim *r, size_t cap)
{
        __atomic_store_n(&r->cap, cap, __ATOMIC_RELAXED);
}

struct mem_reclaim *mem_reclaim_start(struct pool *pool, struct tree *tree,
                                      struct wfile_tally *tally, struct version_cache *cache,
                                      size_t cap)
{
        struct mem_reclaim *r = calloc(1, sizeof *r);
        if (!r)
                return NULL;
        r->pool = pool;
        r->tree = tree;
        r->tally = tally;
        r->cache = cache;
        r->cap = cap;
        mutex_init(&r->mtx, LOCK_MEM_RECLAIM);
        pthread_cond_init(&r->wake, NULL);
        if (pthread_create(&r->thread, NULL, mem_reclaim_main, r)) {
                free(r);
                return NULL;
        }
        pool_on_pressure(pool, on_pressure, r);
        return r;
}

void mem_reclaim_stop(struct mem_reclaim *r)
{
        if (!r)
                return;
        mutex_lock(&r->mtx);
        r->locked.stop = true;
        pthread_cond_signal(&r->wake);
        mutex_unlock(&r->mtx);
        pthread_join(r->thread, NULL);
        pool_unguard(r->pool);
}

void mem_reclaim_free(struct mem_reclaim *r)
{
        if (!r)
                return;
        pthread_cond_destroy(&r->wake);
        mutex_destroy(&r->mtx);
        free(r);
}
