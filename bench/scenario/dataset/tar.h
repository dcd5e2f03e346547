/* SPDX-License-Identifier: Apache-2.0 */
/* tar.h: tar files as streams, by libarchive, which is used in tar.c and nowhere else.
 *
 * Neither a tar nor more than one of its entries is held in memory. */
#ifndef CKPTFS_BENCH_TAR_H
#define CKPTFS_BENCH_TAR_H

#include <stddef.h>

/* NULL, or why there are no tars here, and what helps. */
const char *tar_missing(void);

struct tar_out;
/* Takes the next bytes of a tar. 0 or a negative errno. */
typedef int tar_push_fn(void *arg, const void *p, size_t n);

/* Begins a tar whose bytes push() gets as they are made. 0 or -ENOMEM. */
int tar_begin(tar_push_fn *push, void *arg, struct tar_out **out);
/* Adds a file, with nothing in its header that differs from run to run. 0 or a negative errno. */
int tar_add(struct tar_out *t, const char *name, const void *p, size_t n);
/* Ends the tar; frees it whatever it returns. NULL is fine. */
int tar_end(struct tar_out *t);
/* Frees it without an end. */
void tar_forget(struct tar_out *t);

/* Gives the next piece of a tar, which stays until the next call; *n is 0 at its end. */
typedef int tar_pull_fn(void *arg, const void **p, size_t *n);
/* Takes an entry; its bytes are borrowed. */
typedef int tar_sample_fn(void *arg, const char *name, const void *p, size_t n);
/* Reads a tar and hands each of its files over, of at most `most` bytes. 0, what pull() or sample()
 * returned, or a negative errno with what is wrong in `why`. */
int tar_read(tar_pull_fn *pull, void *from, tar_sample_fn *sample, void *to, size_t most, char *why,
             size_t nwhy);

#endif
