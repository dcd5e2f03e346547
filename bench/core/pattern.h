/* SPDX-License-Identifier: Apache-2.0 */
/* pattern.h: test data that needs no memory.
 *
 * A byte is a pure function of (seed, id, offset): byte k of the little-endian 64-bit word that a
 * multiply-xorshift makes of (seed, id, offset / 8). Any sub-range can be made or checked alone, on
 * any machine, and a byte that comes from another object or another offset shows.
 *
 * With a period, offsets count modulo it. The server's null mode answers every read with
 * PATTERN_NULL: seed 0, id 0 and a period of 63 pages, so that 252 KiB held once answer reads of
 * any object. 63 has no factor in common with powers of two: a block of 4 KiB or more that stands
 * at a wrong multiple of its own size shows, up to 63 blocks away.
 *
 * Pure and thread-safe. */
#ifndef CKPTFS_BENCH_PATTERN_H
#define CKPTFS_BENCH_PATTERN_H

#include <stddef.h>
#include <stdint.h>

struct pattern {
        uint64_t seed, id;
        uint64_t period; /* bytes, a multiple of 8; 0: none */
};

enum { PATTERN_NULL_PERIOD = 63 * 4096 };
#define PATTERN_NULL ((struct pattern){.period = PATTERN_NULL_PERIOD})

/* Writes bytes [off, off + n) to dst, of any alignment. */
void pattern_fill(const struct pattern *p, uint64_t off, void *dst, size_t n);

/* The offset in the object of the first byte that differs from bytes [off, off + n), or -1 when all
 * are right. */
int64_t pattern_check(const struct pattern *p, uint64_t off, const void *buf, size_t n);

#endif
