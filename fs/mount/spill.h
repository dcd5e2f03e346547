/* SPDX-License-Identifier: Apache-2.0 */
/* spill.h: a bounded, unnamed local file for unsent data that memory has no room for. Thread-safe;
 * blocks on the local disk. */
#ifndef CKPTFS_MOUNT_SPILL_H
#define CKPTFS_MOUNT_SPILL_H

#include <stddef.h>
#include <stdint.h>

struct spill;

/* A spill of at most `cap` bytes in `dir`; the file is made with the first data. `dir` is copied.
 * NULL: no memory. */
struct spill *spill_new(const char *dir, uint64_t cap);
void spill_free(struct spill *s); /* NULL is fine */

/* Keeps n bytes (at most POOL_BUF_SIZE); *at names them. 0, -ENOSPC when full, or the disk's error.
 */
int spill_put(struct spill *s, const void *p, size_t n, uint64_t *at);
/* Reads n bytes that begin `off` bytes into what spill_put() kept. 0 or a negative errno. */
int spill_get(struct spill *s, uint64_t at, uint64_t off, void *dst, size_t n);
void spill_drop(struct spill *s, uint64_t at);

#endif
