/* SPDX-License-Identifier: Apache-2.0 */
/* extent_map.h: which bytes of a file are held here, and where: in pool buffers or in the spill.
 *
 * The file is cut into blocks of POOL_BUF_SIZE; a block lists its bytes in order. A large write
 * keeps the buffer it came in; small ones are copied to their place in a buffer of the block. Not
 * thread-safe: under the file's lock. Buffers are never given back here, since that may wake
 * others, but collected in `garbage`. */
#ifndef CKPTFS_MOUNT_EXTENT_MAP_H
#define CKPTFS_MOUNT_EXTENT_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/pool.h"

struct part_body;
struct spill;

struct block;

struct extent_map {
        struct pool *pool;
        struct spill *spill;
        struct block **v; /* by their place in the file */
        size_t n, max;
        size_t hit;               /* block of the last write */
        struct pool_buf *garbage; /* for the caller to pool_unref() once unlocked */
};

void extent_map_init(struct extent_map *x, struct pool *pool, struct spill *spill);
/* Forgets everything; `garbage` grows. */
void extent_map_clear(struct extent_map *x);

/* Bytes [pos, pos+n) are those at p now. `whole`, when not NULL, is the buffer that p lies in, to
 * be referred to instead of a copy. *fresh grows by the bytes that were not held before. 0 or
 * -ENOMEM with some of the bytes taken. */
int extent_map_put(struct extent_map *x, uint64_t pos, const void *p, size_t n,
                   struct pool_buf *whole, uint64_t *fresh);

/* Forgets bytes [from, to). */
void extent_map_drop(struct extent_map *x, uint64_t from, uint64_t to);

/* The first run of bytes held that ends behind `at`: true and its bounds, or false. */
bool extent_map_run(const struct extent_map *x, uint64_t at, uint64_t *from, uint64_t *to);

/* Bytes of [from, to) that are held. */
uint64_t extent_map_held(const struct extent_map *x, uint64_t from, uint64_t to);

/* Copies bytes [from, from+n), all of which are held, but for those in the spill: they are added to
 * `later`, a part that begins with byte later->off, for part_body_fetch(). 0 or -ENOMEM. */
int extent_map_get(const struct extent_map *x, uint64_t from, void *dst, size_t n,
                   struct part_body *later);

/* Adds bytes [from, to), all of which are held, to the part, which refers to them from then on:
 * they are not changed in place any more. 0 or -ENOMEM. */
int extent_map_share(struct extent_map *x, uint64_t from, uint64_t to, struct part_body *p);

/* Makes [from, to) the body: what is held; else, before `good`, room that is to be filled, in the
 * buffers of the list `room`; else zeros. 0 or -ENOMEM. */
int extent_map_body(struct extent_map *x, uint64_t from, uint64_t to, uint64_t good,
                    struct pool_buf *room, struct part_body *p);

/* What memory a block has moves to the spill in three steps, of which only the second blocks on the
 * disk, and needs no lock. The first chooses the first block of [from, to) that can (*s is NULL:
 * there is none): 0, the spill's error or -ENOMEM. What changed meanwhile stays in memory. The last
 * takes the result of the second, frees `s`, and returns the bytes of memory that will be free or
 * the error. */
struct spilling;
int extent_map_spill_begin(struct extent_map *x, uint64_t from, uint64_t to, struct spilling **s);
int spilling_write(const struct spilling *s);
ssize_t extent_map_spill_end(struct extent_map *x, struct spilling *s, int err);

/* Bytes of the pool that are held, about. */
size_t extent_map_in_memory(const struct extent_map *x);

#endif
