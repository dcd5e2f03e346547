/* SPDX-License-Identifier: Apache-2.0 */
/* reader_cache.c: what stays of a version after it was read past the page cache, also when nobody
 * has it open any more. See reader_int.h and version_cache.h. */
#include "mount/read/reader_int.h"

#include <stdlib.h>
#include <string.h>

#include "base/container_of.h"
#include "base/metrics.h"

#include "base/banned.h"

/* Room that is made when read-ahead finds none: the requests of a moment. */
enum { ROOM_AHEAD = 32 << 20 };

static struct reader *reader_of(struct cached_version *v)
{
        return CONTAINER_OF(v, struct reader, version);
}

bool reader_cache_locked(struct reader *r, struct fetch_range *g) REQUIRES(&r->mtx)
{
        struct version_cache *c = r->env->cache;
        size_t memory = fetch_range_memory(g);

        /* A version without an etag cannot be told from the next, and a few bytes of a buffer are
         * not worth the rest of it. */
        if (!c || r->locked.err || !r->obj.etag[0] || g->len < memory / 2 ||
            !cached_ranges_add(&r->locked.cached, g))
                return false;
        g->cached = true;
        g->consumed = 0;
        version_cache_grew(c, memory);
        METRIC_ADD(read_cache_used, memory);
        if (r->locked.cached.n == 1)
                version_cache_touch(c, &r->version);
        return true;
}

void reader_uncache_locked(struct reader *r, struct fetch_range *g) REQUIRES(&r->mtx)
{
        struct version_cache *c = r->env->cache;

        cached_ranges_remove(&r->locked.cached, g);
        g->cached = false;
        version_cache_shrank(c, fetch_range_memory(g));
        METRIC_SUB(read_cache_used, fetch_range_memory(g));
        if (!r->locked.cached.n)
                version_cache_remove(c, &r->version);
}

void reader_forget_locked(struct reader *r) REQUIRES(&r->mtx)
{
        while (r->locked.cached.n)
                reader_drop_range_locked(r, r->locked.cached.v[r->locked.cached.n - 1]);
}

void reader_touch_locked(struct reader *r) REQUIRES(&r->mtx)
{
        if (r->locked.cached.n)
                version_cache_touch(r->env->cache, &r->version);
}

void reader_count_again_locked(struct reader *r) REQUIRES(&r->mtx)
{
        for (size_t i = 0; i < r->locked.cached.n; i++)
                r->locked.cached.v[i]->admitted = false;
        for (struct fetch_range *g = r->locked.ranges; g; g = g->next)
                g->admitted = false;
}

void reader_trim(struct reader *r, bool lacks)
{
        struct version_cache *c = r->env->cache;

        if (c && lacks)
                (void)version_cache_shrink(c, ROOM_AHEAD);
        if (c)
                version_cache_trim(c);
}

uint64_t reader_cached(struct reader *r)
{
        uint64_t bytes = 0;

        mutex_lock(&r->mtx);
        for (size_t i = 0; i < r->locked.cached.n; i++)
                bytes += r->locked.cached.v[i]->len;
        mutex_unlock(&r->mtx);
        return bytes;
}

/* --- what the cache asks of a reader --- */

static void version_ref(struct cached_version *v)
{
        reader_ref(reader_of(v));
}

static void version_unref(struct cached_version *v)
{
        reader_unref(reader_of(v));
}

static size_t version_shrink(struct cached_version *v, size_t bytes)
{
        struct reader *r = reader_of(v);
        struct fetch_range *g;
        size_t given = 0;

        mutex_lock(&r->mtx);
        while (given < bytes && (g = cached_ranges_oldest(&r->locked.cached))) {
                given += fetch_range_memory(g);
                reader_drop_range_locked(r, g);
        }
        reader_unlock_only(r);
        return given;
}

struct version_cache *reader_cache_new(size_t most)
{
        static const struct version_cache_ops ops = {
                .ref = version_ref, .unref = version_unref, .shrink = version_shrink};
        return version_cache_new(&ops, most);
}

/* --- the next open --- */

struct wanted {
        const char *key;
        const struct store_object *obj;
};

/* Key and etag change with the tree's lock only, which the caller has. */
static bool is_wanted(struct cached_version *v, const void *arg)
{
        const struct reader *r = reader_of(v);
        const struct wanted *w = arg;

        return !strcmp(r->obj.etag, w->obj->etag) && r->obj.size == w->obj->size &&
               !strcmp(r->key, w->key);
}

struct reader *reader_from_cache(const struct reader_env *env, const char *key,
                                 const struct store_object *obj)
{
        struct wanted w = {.key = key, .obj = obj};
        struct cached_version *v =
                env->cache ? version_cache_find(env->cache, is_wanted, &w) : NULL;
        struct reader *r = v ? reader_of(v) : NULL;

        if (!r)
                return NULL;
        mutex_lock(&r->mtx);
        bool idle = !r->locked.opens && !r->locked.err;
        r->locked.opens += idle;
        if (idle) { /* streams of those who had it open do not go on */
                r->locked.windows = (struct readahead){.read_size = env->read_size};
                reader_touch_locked(r);
        }
        mutex_unlock(&r->mtx);
        if (idle)
                return r;
        reader_unref(r); /* another node's, which may be renamed */
        return NULL;
}
