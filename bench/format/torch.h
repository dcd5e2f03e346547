/* SPDX-License-Identifier: Apache-2.0 */
/* torch.h: what torch.save() writes, shared by the formats that are made of it. */
#ifndef CKPTFS_BENCH_FORMAT_TORCH_H
#define CKPTFS_BENCH_FORMAT_TORCH_H

#include "bench/format/layout.h"

/* Pushes a tuple of n ints, 3 at most. */
void torch_pickle_ints(struct buf *b, const uint64_t *v, unsigned n);

/* Lays out the archive of torch.save() of one tensor, the piece. Without a shard, which is NULL,
 * the checksums are 0: to learn where things lie. */
void torch_save_tensor(struct layout *l, const struct shard *s, const struct shard_piece *p);

/* See format.h. */
int torch_wrap(struct shard *s);

#endif
