/* SPDX-License-Identifier: Apache-2.0 */
/* layout.h: a file in the making: bytes of a format between the tensors of a shard, in order. */
#ifndef CKPTFS_BENCH_FORMAT_LAYOUT_H
#define CKPTFS_BENCH_FORMAT_LAYOUT_H

#include "base/buf.h"
#include "bench/data/shard.h"

struct layout {
        struct shard_piece *v;
        size_t n, room;
        struct buf text; /* of all literal pieces, one behind the other */
        uint64_t size;
        bool apart;  /* the next bytes begin a piece */
        bool failed; /* no memory: later additions do nothing */
};
#define LAYOUT_INIT                                                                                \
        {                                                                                          \
                .text = BUF_INIT                                                                   \
        }

/* Appends bytes, which are copied, or a piece, whose place in the file is set. */
void layout_text(struct layout *l, const void *p, size_t n);
/* Bytes before and behind this place are pieces of their own. */
void layout_break(struct layout *l);
void layout_piece(struct layout *l, const struct shard_piece *piece);

/* The shard becomes what was laid out; frees what it had. 0 or -ENOMEM, the shard as it was. */
int layout_take(struct layout *l, struct shard *s);
void layout_release(struct layout *l);

/* The shape in which a piece is stored: whole rows as such, else its elements, behind its
 * dimensions of 1, a row of kernels as those. Returns how many dimensions that are. */
enum { PIECE_DIMS_MAX = 4 };
unsigned piece_shape(const struct shard_piece *p, uint64_t shape[PIECE_DIMS_MAX]);

#endif
