/* SPDX-License-Identifier: Apache-2.0 */
/* shard.h: which bytes of a model one rank saves, and what they must be.
 *
 * As under ZeRO-3: each matrix, of the weights and of each group of optimizer state, is cut in
 * equal runs of elements, one a rank; vectors are whole in every rank. A shard is its pieces one
 * behind the other. The data of a piece is the pattern of (seed, tensor, offset in the tensor), so
 * that a piece that stands in the place of another, or of another rank's, is wrong. */
#ifndef CKPTFS_BENCH_SHARD_H
#define CKPTFS_BENCH_SHARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/model.h"

struct shard_piece {
        char name[64];       /* group and tensor */
        uint64_t id;         /* of the tensor, for its pattern */
        uint64_t tensor_off; /* where the piece begins in the tensor, bytes */
        uint64_t off, len;   /* where it lies in the shard, bytes */
};

struct shard {
        struct shard_piece *v;
        size_t n;
        uint64_t size;
        uint64_t seed;
        bool null_store; /* the data is what storesim --null answers with */
};

/* The pieces of rank `rank` of `ranks`. 0 or -ENOMEM; release with shard_release(). */
int shard_plan(const struct model *m, bool optimizer, unsigned rank, unsigned ranks,
               struct shard *out);
void shard_release(struct shard *s);

/* Makes bytes [off, off+len) of the shard. Thread-safe. */
void shard_fill(const struct shard *s, uint64_t off, void *dst, size_t len);

/* The first wrong byte. */
struct shard_fault {
        const struct shard_piece *piece;
        uint64_t off; /* in the shard */
};
/* 0, or -EBADMSG with *fault set. Thread-safe. */
int shard_check(const struct shard *s, uint64_t off, const void *p, size_t len,
                struct shard_fault *fault);

#endif
