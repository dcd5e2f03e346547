/* SPDX-License-Identifier: Apache-2.0 */
/* version_cache.h: the versions whose bytes stay in memory after they were read, open or not, and
 * how many bytes that may be. What was used longest ago goes first. Knows of a version only that it
 * can give bytes up. Thread-safe. */
#ifndef CKPTFS_MOUNT_VERSION_CACHE_H
#define CKPTFS_MOUNT_VERSION_CACHE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/container_of.h"

struct version_cache;

/* Embedded in what is cached. The cache has one reference to what is listed. */
struct cached_version {
        struct list_item item; /* the cache's lock */
};

struct version_cache_ops {
        void (*ref)(struct cached_version *v);
        void (*unref)(struct cached_version *v);
        /* Gives up at least `bytes`, or all there are, the oldest first; returns how many. With the
         * last, calls version_cache_remove(). Called without a lock. */
        size_t (*shrink)(struct cached_version *v, size_t bytes);
};

/* For at most `most` bytes. NULL: no memory. */
struct version_cache *version_cache_new(const struct version_cache_ops *ops, size_t most);
/* Nothing may be in use any more: gives up all. NULL is fine. */
void version_cache_free(struct version_cache *c);

/* The version has bytes here and was just used. */
void version_cache_touch(struct version_cache *c, struct cached_version *v);
/* It has none any more. The caller has a reference of its own. */
void version_cache_remove(struct version_cache *c, struct cached_version *v);
/* It has so many bytes more, and so many less. */
void version_cache_grew(struct version_cache *c, size_t bytes);
void version_cache_shrank(struct version_cache *c, size_t bytes);

/* Gives up at least `bytes`, or all there are; returns how many. Call without a lock, as the next.
 */
size_t version_cache_shrink(struct version_cache *c, size_t bytes);
/* Gives up what is more than there may be. */
void version_cache_trim(struct version_cache *c);

/* The version used last of those that `is` picks, with a reference; or NULL. It is called with the
 * cache's lock. */
struct cached_version *version_cache_find(struct version_cache *c,
                                          bool (*is)(struct cached_version *v, const void *arg),
                                          const void *arg);

size_t version_cache_bytes(const struct version_cache *c);

#endif
