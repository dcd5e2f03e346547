/* SPDX-License-Identifier: Apache-2.0 */
/* read.h: which tensors a file has that somebody saved, and where their bytes lie.
 *
 * Nothing in the file is believed: what is refused is -EBADMSG with one line in `why`, without the
 * file's name. Other errors are those of reading it, with `why` as it was. All block. */
#ifndef CKPTFS_BENCH_FORMAT_READ_H
#define CKPTFS_BENCH_FORMAT_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/core/io.h"
#include "bench/data/shard.h"

enum { FOUND_MAX = 1 << 20 /* tensors of a file */ };

/* Fills dst with the ranges, one behind the other. 0 or a negative errno. */
typedef int source_read_fn(void *arg, const struct io_range *v, size_t n, void *dst);

/* A file, or a part of one. */
struct source {
        uint64_t base, size;
        source_read_fn *read;
        void *arg;
};
/* Ranges of the source. -EBADMSG when one of them reaches beyond it. */
int source_read(const struct source *s, const struct io_range *v, size_t n, void *dst);
/* One of them, malloc'ed and terminated. */
int source_take(const struct source *s, uint64_t from, uint64_t len, char **out);

/* The tensors, as a shard whose bytes lie at `at` in the file, a range for each piece. The n-th
 * has id n, so that pattern data can be verified. Zero at first. */
struct found {
        struct shard shard;
        struct io_range *at;
        uint32_t *crc; /* CRC-32 of each as the file says; only where has_crc */
        bool has_crc;
        size_t room;
};
/* Name of n bytes; elem are the bytes of an element. 0, -ENOMEM or -EBADMSG (too many). */
int found_add(struct found *f, const char *name, size_t n, struct io_range at, unsigned elem,
              uint32_t crc);
void found_release(struct found *f);

/* What torch.load() reads, since version 1.6. Each storage is found once, under the name of the
 * first tensor that uses it. */
int torch_read(const struct source *s, struct found *out, char *why, size_t nwhy);
/* Whichever of these the file's first bytes are. */
int any_read(const struct source *s, struct found *out, char *why, size_t nwhy);

/* Says why the file is refused: returns -EBADMSG. */
int refuse(char *why, size_t nwhy, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif
