/* SPDX-License-Identifier: Apache-2.0 */
/* cached_ranges.h: the ranges of one version that were read and stay for the next reader. Found by
 * their place, given up in the order in which they were read last. They do not overlap. Holds no
 * references. Not thread-safe: under the reader's lock. */
#ifndef CKPTFS_MOUNT_CACHED_RANGES_H
#define CKPTFS_MOUNT_CACHED_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mount/read/fetch_range.h"

/* All zeros: empty. */
struct cached_ranges {
        struct fetch_range **v; /* ascending */
        size_t n, room;
        size_t memory; /* of their buffers */
        uint64_t reads;
};

/* False: no memory. */
bool cached_ranges_add(struct cached_ranges *c, struct fetch_range *g);
/* It was read again. */
void cached_ranges_touch(struct cached_ranges *c, struct fetch_range *g);
/* Takes it out; the last one frees the table. */
void cached_ranges_remove(struct cached_ranges *c, struct fetch_range *g);

/* The one that byte `at` is in, or NULL. */
struct fetch_range *cached_ranges_find(const struct cached_ranges *c, uint64_t at);
/* Where the next one behind `at` begins, if that is before `end`; else `end`. */
uint64_t cached_ranges_next(const struct cached_ranges *c, uint64_t at, uint64_t end);
/* The one that was read longest ago, or NULL. */
struct fetch_range *cached_ranges_oldest(const struct cached_ranges *c);

#endif
