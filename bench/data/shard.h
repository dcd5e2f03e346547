/* SPDX-License-Identifier: Apache-2.0 */
/* shard.h: which bytes of a model one rank saves, and what they must be.
 *
 * A shard is its pieces one behind the other: pieces of tensors and, once a format has been put
 * around them (format.h), the bytes of that format. The data of a tensor is that of a model which
 * learns, or the pattern of (seed, tensor, offset in the tensor), so that a piece that stands in
 * the place of another, or of another rank's, is wrong. */
#ifndef CKPTFS_BENCH_SHARD_H
#define CKPTFS_BENCH_SHARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/data/model.h"

/* How tensors are divided among ranks. */
enum shard_cut {
        SHARD_ELEMENTS, /* as under ZeRO-3: matrices in equal runs of elements; each has all vectors
                         */
        SHARD_ROWS, /* as under FSDP: rows, and elements of vectors, in runs that torch.chunk makes
                     */
        SHARD_WHOLE /* as under DDP: each tensor is one rank's, largest first to the least laden */
};

enum { SHARD_LEAD_MAX = 1 };
struct shard_piece {
        char name[64];       /* of the tensor, with the group before it unless it is the weights */
        uint64_t id;         /* of the tensor, for its pattern */
        uint64_t tensor_off; /* where the piece begins in the tensor, bytes */
        uint64_t off, len;   /* where it lies in the shard, bytes */
        uint64_t rows, cols; /* of the tensor; cols is 1 for a vector */
        unsigned elem;       /* bytes of an element: 4 are float32, 2 bfloat16 */
        unsigned lead; /* dimensions of 1, SHARD_LEAD_MAX at most, before those of the tensor */
        /* 0, or cols are squares of that side, which files of torch and safetensors have as
         * dimensions; without lead */
        unsigned kernel;
        uint32_t crc;     /* CRC-32 of the piece in a file of torch that was made of the shard */
        const char *held; /* the piece's bytes, borrowed; NULL: they are the pattern's */
        bool literal;     /* no tensor's: bytes of the shard's text, from `text` on */
        size_t text;
};

struct shard {
        struct shard_piece *v;
        size_t n;
        uint64_t size;
        uint64_t seed;
        char *text;      /* bytes of the literal pieces */
        bool null_store; /* the data is what storesim --null answers with */
        bool places;     /* what a format puts around it is to tell places alone: no checksums */
};

/* The pieces of rank `rank` of `ranks`. 0 or -ENOMEM; release with shard_release(). */
int shard_plan(const struct model *m, bool optimizer, enum shard_cut cut, unsigned rank,
               unsigned ranks, struct shard *out);

/* Those pieces of `s` that fall to bin `bin` of `bins`, as SHARD_WHOLE deals tensors out. 0 or
 * -ENOMEM. */
int shard_deal(const struct shard *s, unsigned bin, unsigned bins, struct shard *out);

/* The CRC-32 (zlib's) of a piece. */
uint32_t shard_crc32(const struct shard *s, const struct shard_piece *piece);
void shard_release(struct shard *s);

/* Makes bytes [off, off+len) of the shard. Thread-safe. */
void shard_fill(const struct shard *s, uint64_t off, void *dst, size_t len);

/* The longest run from byte `off` (before the end) that one rule makes: text, or bytes [at, at +
 * len) of the pattern with a base (pattern_word.h). */
struct shard_run {
        uint64_t len;
        const struct shard_piece *piece;
        const char *text; /* NULL: the pattern's */
        uint64_t base, at;
};
struct shard_run shard_run_at(const struct shard *s, uint64_t off);

/* The first wrong byte. */
struct shard_fault {
        const struct shard_piece *piece;
        uint64_t off; /* in the shard */
};
/* 0, or -EBADMSG with *fault set. Thread-safe. */
int shard_check(const struct shard *s, uint64_t off, const void *p, size_t len,
                struct shard_fault *fault);

#endif
