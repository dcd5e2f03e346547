/* SPDX-License-Identifier: Apache-2.0 */
/* mem_reclaim.h: the thread that gives memory back when it is full of what nobody is working on:
 * what was read and stays, read-ahead that waits to be read, and unfinished parts of many open
 * files, which are sent early or spilled. */
#ifndef CKPTFS_MOUNT_MEM_RECLAIM_H
#define CKPTFS_MOUNT_MEM_RECLAIM_H

#include <stddef.h>

struct version_cache;
struct wfile_tally;
struct pool;
struct mem_reclaim;
struct tree;

/* Starts it for a pool of `cap` bytes, whose guard it is; `cache` may be NULL. NULL: no memory or
 * thread. */
struct mem_reclaim *mem_reclaim_start(struct pool *pool, struct tree *tree,
                                      struct wfile_tally *tally, struct version_cache *cache,
                                      size_t cap);
/* The pool has another cap. */
void mem_reclaim_set_cap(struct mem_reclaim *r, size_t cap);
/* Ends it and waits: before the store is closed, through which it sends. Nobody waits for memory
 * from then on. NULL is fine. */
void mem_reclaim_stop(struct mem_reclaim *r);
/* Frees it: after the store is closed, whose callbacks may still find memory full. NULL is fine. */
void mem_reclaim_free(struct mem_reclaim *r);

#endif
