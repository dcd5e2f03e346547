/* SPDX-License-Identifier: Apache-2.0 */
/* pattern.c: see pattern.h. */
#include "bench/core/pattern.h"

#include <endian.h>
#include <string.h>

#include "bench/core/pattern_word.h"

#include "base/banned.h"

/* In memory the first byte comes first, whatever the processor's order. */
static inline uint64_t word_at(uint64_t base, uint64_t index)
{
        return htole64(pattern_word(base, index));
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
        uint64_t base = pattern_base(p->seed, p->id);
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
        uint64_t base = pattern_base(p->seed, p->id);
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
