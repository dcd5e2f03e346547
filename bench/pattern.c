/* SPDX-License-Identifier: Apache-2.0 */
/* pattern.c: see pattern.h. */
#include "bench/pattern.h"

#include <endian.h>
#include <string.h>

#include "base/banned.h"

/* The increment and the first multiplier of splitmix64 (Steele, Lea, Flood: "Fast Splittable
 * Pseudorandom Number Generators", 2014). One of its two rounds is enough to tell bytes apart and
 * leaves one multiplication a word. */
#define GOLDEN 0x9e3779b97f4a7c15ULL
#define MULT   0xbf58476d1ce4e5b9ULL

static inline uint64_t mix(uint64_t x)
{
        x ^= x >> 30;
        x *= MULT;
        return x ^ x >> 27;
}

static inline uint64_t word_at(uint64_t base, uint64_t index)
{
        return htole64(mix(base + index * GOLDEN));
}

static uint64_t base_of(const struct pattern *p)
{
        return mix(mix(p->seed + GOLDEN) + p->id + GOLDEN);
}

static void fill_run(uint64_t base, uint64_t off, uint8_t *dst, size_t n)
{
        uint64_t w, index = off / 8;
        size_t skew = off % 8;

        if (skew && n) {
                size_t k = n < 8 - skew ? n : 8 - skew;
                w = word_at(base, index++);
                memcpy(dst, (uint8_t *)&w + skew, k);
                dst += k;
                n -= k;
        }
        for (; n >= 8; n -= 8, dst += 8) {
                w = word_at(base, index++);
                memcpy(dst, &w, 8);
        }
        if (n) {
                w = word_at(base, index);
                memcpy(dst, &w, n);
        }
}

/* How many of n bytes lie before the pattern starts over; brings off into the period. */
static size_t run_len(const struct pattern *p, uint64_t *off, size_t n)
{
        if (!p->period)
                return n;
        *off %= p->period;
        return n < p->period - *off ? n : (size_t)(p->period - *off);
}

void pattern_fill(const struct pattern *p, uint64_t off, void *dst, size_t n)
{
        uint64_t base = base_of(p);
        uint8_t *d = dst;

        while (n) {
                uint64_t at = off;
                size_t k = run_len(p, &at, n);
                fill_run(base, at, d, k);
                d += k;
                off += k;
                n -= k;
        }
}

static int64_t first_difference(uint64_t off, const uint8_t *want, const uint8_t *got, size_t n)
{
        size_t i = 0;

        while (i < n && want[i] == got[i])
                i++;
        return (int64_t)(off + i);
}

int64_t pattern_check(const struct pattern *p, uint64_t off, const void *buf, size_t n)
{
        uint64_t base = base_of(p);
        const uint8_t *b = buf;
        uint8_t want[4096]; /* stays in the first cache */

        while (n) {
                uint64_t at = off;
                size_t k = run_len(p, &at, n < sizeof want ? n : sizeof want);
                fill_run(base, at, want, k);
                if (memcmp(want, b, k))
                        return first_difference(off, want, b, k);
                b += k;
                off += k;
                n -= k;
        }
        return -1;
}
