/* SPDX-License-Identifier: Apache-2.0 */
/* bucket.h: a store as the keys name it, and many small objects in it. */
#ifndef CKPTFS_BENCH_BUCKET_H
#define CKPTFS_BENCH_BUCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/core/keys.h"
#include "store.h"

enum { BUCKET_NAME_MAX = 128, BUCKET_DELETE_MAX = 1000 /* of one request */ };

/* Opens the bucket of a storage, s3 or gcs, which its keys name, and reaches it; whoever opens the
 * same with the same keys shares one client, its connections and threads. 0, or a negative errno
 * with one line in `why`. Blocks. */
int bucket_open(const struct keys *k, const char *storage, struct store **out, char *why,
                size_t nwhy);

/* Closes what bucket_open() opened, once for each of its users. NULL is fine. Blocks shortly. */
void bucket_close(struct store *s);

/* Bytes of bodies that the clients of this process sent and received so far, closed ones too.
 * False: there never was one. Thread-safe. */
bool bucket_count(uint64_t *sent, uint64_t *received);

/* Name `i` below `dir`, as bucket_fill() gives it. */
void bucket_name(const char *dir, size_t i, char out[BUCKET_NAME_MAX]);

/* Puts `n` objects of `size` bytes below `dir`, many at once. 0, or a negative errno; what was put
 * stays. -ECANCELED after a signal. Blocks. */
int bucket_fill(struct store *s, const char *dir, size_t n, size_t size);

/* Deletes at most BUCKET_DELETE_MAX objects, there or not. 0 or a negative errno. Blocks. */
int bucket_delete(struct store *s, const char *const *keys, size_t n);

/* Deletes the first `n` of them, there or not. 0 or a negative errno. Blocks. */
int bucket_empty(struct store *s, const char *dir, size_t n);

#endif
