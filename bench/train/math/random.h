/* SPDX-License-Identifier: Apache-2.0 */
/* random.h: random numbers that are a function of a key and an index, for processors and devices
 * alike: whoever computes the number of an index gets the same, in any order and on any rank. */
#ifndef CKPTFS_BENCH_TRAIN_MATH_RANDOM_H
#define CKPTFS_BENCH_TRAIN_MATH_RANDOM_H

#include <math.h>
#include <stdbool.h>

#include "bench/core/pattern_word.h"

/* What a key is for. */
enum random_use { RANDOM_WEIGHTS = 1, RANDOM_TOKENS, RANDOM_DROPOUT, RANDOM_CROP, RANDOM_LABELS };

/* The key of one use in one step (0 for what is drawn once); `site` tells the places of a step
 * apart. */
PATTERN_FN uint64_t random_key(uint64_t seed, enum random_use use, uint64_t step, uint64_t site)
{
        return pattern_base(pattern_base(seed, use), pattern_base(step, site));
}

/* All 64 bits are good: both rounds of splitmix64. */
PATTERN_FN uint64_t random_bits(uint64_t key, uint64_t index)
{
        uint64_t x = pattern_word(key, index) * 0x94d049bb133111ebULL;
        return x ^ x >> 31;
}

/* An integer below n, which is far below 2^64. */
PATTERN_FN uint64_t random_below(uint64_t key, uint64_t index, uint64_t n)
{
        return random_bits(key, index) % n;
}

/* Whether dropout keeps the element: `keep` is the probability of that times 2^32. */
PATTERN_FN bool random_keeps(uint64_t key, uint64_t index, uint64_t keep)
{
        return random_bits(key, index) >> 32 < keep;
}

/* A number of the standard normal distribution (Box, Muller 1958). */
PATTERN_FN double random_normal(uint64_t key, uint64_t index)
{
        const double ulp = 1.0 / 9007199254740992.0, pi = 3.14159265358979323846;
        double u = (double)((random_bits(key, 2 * index) >> 11) + 1) * ulp; /* above 0 */
        double v = (double)(random_bits(key, 2 * index + 1) >> 11) * ulp;
        return sqrt(-2 * log(u)) * cos(2 * pi * v);
}

#endif
