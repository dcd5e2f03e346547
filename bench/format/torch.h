/* SPDX-License-Identifier: Apache-2.0 */
/* torch.h: what torch.save() writes, shared by the formats that are made of it. */
#ifndef CKPTFS_BENCH_FORMAT_TORCH_H
#define CKPTFS_BENCH_FORMAT_TORCH_H

#include "bench/format/layout.h"

/* Pushes a tuple of n ints. */
void torch_pickle_ints(struct buf *b, const uint64_t *v, unsigned n);

/* Pushes the tensor whose bytes are the entry data/KEY of the archive; a float32 alone. */
void torch_pickle_tensor(struct buf *b, const struct shard_piece *p, size_t key);
void torch_pickle_scalar(struct buf *b, size_t key);

/* An entry data/KEY: the bytes of a piece, or text. */
struct torch_entry {
        const struct shard_piece *piece; /* NULL: */
        const void *text;
        size_t len;
};
/* Lays out the archive of a pickle and the n entries that it names by number. */
void torch_archive(struct layout *l, const struct shard *s, const struct buf *pickle,
                   const struct torch_entry *v, size_t n);

/* Lays out the archive of torch.save() of one tensor, the piece. Without a shard, which is NULL,
 * the checksums are 0: to learn where things lie. */
void torch_save_tensor(struct layout *l, const struct shard *s, const struct shard_piece *p);

/* See format.h. */
int torch_wrap(struct shard *s);
/* What Lightning's trainer saves: torch's, with the trainer's state around the tensors. 0 or
 * -ENOMEM. */
int lightning_wrap(struct shard *s);

#endif
