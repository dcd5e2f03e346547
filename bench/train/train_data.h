/* SPDX-License-Identifier: Apache-2.0 */
/* train_data.h: what a model learns from: random tokens, or a text whose bytes are tokens. The
 * sample of a number in a step is a function of the seed, whichever rank computes it. */
#ifndef CKPTFS_BENCH_TRAIN_DATA_H
#define CKPTFS_BENCH_TRAIN_DATA_H

#include <stddef.h>
#include <stdint.h>

enum { TRAIN_TEXT_MAX = 1 << 30 };

struct train_data {
        unsigned char *text; /* NULL: random tokens */
        size_t n;
};

/* Reads a text for a model of that vocabulary and block; an empty path means random tokens. 0, or a
 * negative errno with one line in `why`. */
int train_data_open(struct train_data *d, const char *path, unsigned vocab, unsigned block,
                    char *why, size_t nwhy);
/* Bytes of memory that it takes of a rank; 0 while nobody can say. */
uint64_t train_data_bytes(const char *path);
void train_data_release(struct train_data *d);

/* Sample `number` of a step: `block` tokens, and behind each the one that follows. */
void train_data_sample(const struct train_data *d, uint64_t seed, uint64_t step, uint64_t number,
                       unsigned vocab, unsigned block, int32_t *tokens, int32_t *targets);

#endif
