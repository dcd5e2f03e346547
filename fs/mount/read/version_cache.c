/* SPDX-License-Identifier: Apache-2.0 */
/* version_cache.c: see version_cache.h. */
#include "mount/read/version_cache.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/mutex.h"

#include "base/banned.h"

enum { VERSIONS_MOST = 1024 }; /* each open of a file may look at all */

struct version_cache {
        const struct version_cache_ops *ops;
        size_t most;
        atomic_size_t bytes;
        atomic_size_t n; /* versions; changed with the lock */
        struct mutex mtx;
        struct {
                struct list versions; /* the one used longest ago first */
        } locked GUARDED_BY(&mtx);
};

struct version_cache *version_cache_new(const struct version_cache_ops *ops, size_t most)
{
        struct version_cache *c = calloc(1, sizeof *c);
        if (!c)
                return NULL;
        c->ops = ops;
        c->most = most;
        atomic_init(&c->bytes, 0);
        atomic_init(&c->n, 0);
        mutex_init(&c->mtx, LOCK_VERSION_CACHE);
        return c;
}

void version_cache_free(struct version_cache *c)
{
        if (!c)
                return;
        while (version_cache_shrink(c, SIZE_MAX))
                ;
        mutex_destroy(&c->mtx);
        free(c);
}

void version_cache_touch(struct version_cache *c, struct cached_version *v)
{
        mutex_lock(&c->mtx);
        if (v->item.listed) {
                list_remove(&c->locked.versions, &v->item);
        } else {
                atomic_fetch_add(&c->n, 1);
                c->ops->ref(v);
        }
        list_add(&c->locked.versions, &v->item);
        mutex_unlock(&c->mtx);
}

void version_cache_remove(struct version_cache *c, struct cached_version *v)
{
        mutex_lock(&c->mtx);
        bool listed = v->item.listed;
        if (listed) {
                list_remove(&c->locked.versions, &v->item);
                atomic_fetch_sub(&c->n, 1);
        }
        mutex_unlock(&c->mtx);
        if (listed)
                c->ops->unref(v);
}

void version_cache_grew(struct version_cache *c, size_t bytes)
{
        atomic_fetch_add_explicit(&c->bytes, bytes, memory_order_relaxed);
}

void version_cache_shrank(struct version_cache *c, size_t bytes)
{
        atomic_fetch_sub_explicit(&c->bytes, bytes, memory_order_relaxed);
}

size_t version_cache_bytes(const struct version_cache *c)
{
        return atomic_load_explicit(&c->bytes, memory_order_relaxed);
}

/* The version used longest ago, with a reference, or NULL. */
static struct cached_version *oldest(struct version_cache *c)
{
        mutex_lock(&c->mtx);
        struct cached_version *v = LIST_FIRST(&c->locked.versions, struct cached_version, item);
        if (v)
                c->ops->ref(v);
        mutex_unlock(&c->mtx);
        return v;
}

static size_t shrink_oldest(struct version_cache *c, size_t bytes)
{
        struct cached_version *v = oldest(c);
        size_t given = v ? c->ops->shrink(v, bytes) : 0;
        if (v)
                c->ops->unref(v);
        return given;
}

size_t version_cache_shrink(struct version_cache *c, size_t bytes)
{
        size_t given = 0, n;

        while (given < bytes && (n = shrink_oldest(c, bytes - given)))
                given += n;
        return given;
}

void version_cache_trim(struct version_cache *c)
{
        size_t bytes = version_cache_bytes(c);

        if (bytes > c->most)
                (void)version_cache_shrink(c, bytes - c->most);
        while (atomic_load_explicit(&c->n, memory_order_relaxed) > VERSIONS_MOST &&
               shrink_oldest(c, SIZE_MAX))
                ;
}

struct cached_version *version_cache_find(struct version_cache *c,
                                          bool (*is)(struct cached_version *v, const void *arg),
                                          const void *arg)
{
        struct cached_version *found = NULL;

        mutex_lock(&c->mtx);
        for (struct list_item *i = c->locked.versions.last; i && !found; i = i->prev) {
                struct cached_version *v = LIST_OF(i, struct cached_version, item);
                if (is(v, arg))
                        found = v;
        }
        if (found)
                c->ops->ref(found);
        mutex_unlock(&c->mtx);
        return found;
}
