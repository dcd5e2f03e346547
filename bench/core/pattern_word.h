/* SPDX-License-Identifier: Apache-2.0 */
/* pattern_word.h: the arithmetic of pattern.h, for processors and for devices alike: gcc and nvcc
 * compile the same lines.
 *
 * A device has a thread for each *cell*, an aligned word of memory; the first and the last of a
 * region may lie in it in part. What a thread does with its cell is a function here, so that a test
 * on a processor runs the very code. */
#ifndef CKPTFS_BENCH_PATTERN_WORD_H
#define CKPTFS_BENCH_PATTERN_WORD_H

#include <stddef.h>
#include <stdint.h>

#ifdef __CUDACC__
#define PATTERN_FN __host__ __device__ static inline
#else
#define PATTERN_FN static inline
#endif

enum { PATTERN_CELL = 8 };
#define PATTERN_RIGHT UINT64_MAX /* of pattern_cell_check() */

/* Memory as words, whatever was stored there. */
typedef uint64_t __attribute__((may_alias)) pattern_cell;

/* The increment and the first multiplier of splitmix64 (Steele, Lea, Flood: "Fast Splittable
 * Pseudorandom Number Generators", 2014). One of its two rounds is enough to tell bytes apart and
 * leaves one multiplication a word. */
#define PATTERN_GOLDEN 0x9e3779b97f4a7c15ULL
#define PATTERN_MULT   0xbf58476d1ce4e5b9ULL

PATTERN_FN uint64_t pattern_mix(uint64_t x)
{
        x ^= x >> 30;
        x *= PATTERN_MULT;
        return x ^ x >> 27;
}

/* What seed and id contribute. */
PATTERN_FN uint64_t pattern_base(uint64_t seed, uint64_t id)
{
        return pattern_mix(pattern_mix(seed + PATTERN_GOLDEN) + id + PATTERN_GOLDEN);
}

/* Bytes [8 * index, 8 * index + 8), the first one lowest. */
PATTERN_FN uint64_t pattern_word(uint64_t base, uint64_t index)
{
        return pattern_mix(base + index * PATTERN_GOLDEN);
}

/* Bytes [off, off + 8), the first one lowest. */
PATTERN_FN uint64_t pattern_window(uint64_t base, uint64_t off)
{
        unsigned skew = (unsigned)(off % PATTERN_CELL) * 8;
        uint64_t low = pattern_word(base, off / PATTERN_CELL);

        if (!skew)
                return low;
        return low >> skew | pattern_word(base, off / PATTERN_CELL + 1) << (64 - skew);
}

/* How many cells the n bytes at `mem` touch. */
PATTERN_FN uint64_t pattern_cells(const void *mem, uint64_t n)
{
        return ((uintptr_t)mem % PATTERN_CELL + n + PATTERN_CELL - 1) / PATTERN_CELL;
}

/* The bytes [*from, *to) of the region that lie in a cell. */
PATTERN_FN void pattern_cell_range(const void *mem, uint64_t n, uint64_t cell, uint64_t *from,
                                   uint64_t *to)
{
        uint64_t skew = (uintptr_t)mem % PATTERN_CELL, end = (cell + 1) * PATTERN_CELL - skew;

        *from = cell ? cell * PATTERN_CELL - skew : 0;
        *to = end < n ? end : n;
}

/* Makes, of bytes [at, at + n) of the pattern at `mem`, those of a cell. Little-endian. */
PATTERN_FN void pattern_cell_fill(uint64_t base, uint64_t at, void *mem, uint64_t n, uint64_t cell)
{
        uint8_t *p = (uint8_t *)mem;
        uint64_t from, to;

        pattern_cell_range(mem, n, cell, &from, &to);
        uint64_t w = pattern_window(base, at + from);
        if (to - from == PATTERN_CELL) {
                *(pattern_cell *)(void *)(p + from) = w;
                return;
        }
        for (; from < to; from++, w >>= 8)
                p[from] = (uint8_t)w;
}

/* Compares those of a cell: the first of the region that differs, or PATTERN_RIGHT. */
PATTERN_FN uint64_t pattern_cell_check(uint64_t base, uint64_t at, const void *mem, uint64_t n,
                                       uint64_t cell)
{
        const uint8_t *p = (const uint8_t *)mem;
        uint64_t from, to;

        pattern_cell_range(mem, n, cell, &from, &to);
        uint64_t w = pattern_window(base, at + from);
        if (to - from == PATTERN_CELL && *(const pattern_cell *)(const void *)(p + from) == w)
                return PATTERN_RIGHT;
        for (; from < to; from++, w >>= 8)
                if (p[from] != (uint8_t)w)
                        return from;
        return PATTERN_RIGHT;
}

#endif
