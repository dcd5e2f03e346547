/* SPDX-License-Identifier: Apache-2.0 */
/* crc_combine.c: see crc_combine.h. */
#include "mount/read/crc_combine.h"

#include <string.h>

#include "base/digest.h"

#include "base/banned.h"

static uint64_t end_of(const struct chain_piece *p)
{
        return p->off + p->len;
}

static void take_out(struct crc_combine *c, unsigned i, unsigned n)
{
        memmove(&c->v[i], &c->v[i + n], (c->n - i - n) * sizeof c->v[0]);
        c->n -= n;
}

/* The first piece that ends behind `off`. */
static unsigned find(const struct crc_combine *c, uint64_t off)
{
        unsigned lo = 0, hi = c->n;
        while (lo < hi) {
                unsigned mid = (lo + hi) / 2;
                if (end_of(&c->v[mid]) > off)
                        hi = mid;
                else
                        lo = mid + 1;
        }
        return lo;
}

/* Makes piece i and the one behind it one, if they touch. */
static void merge(struct crc_combine *c, unsigned i)
{
        if (i + 1 >= c->n || end_of(&c->v[i]) != c->v[i + 1].off)
                return;
        c->v[i].crc = crc32c_combine(c->v[i].crc, c->v[i + 1].crc, c->v[i + 1].len);
        c->v[i].len += c->v[i + 1].len;
        take_out(c, i + 1, 1);
}

static void drop_shortest(struct crc_combine *c)
{
        unsigned shortest = 0;
        for (unsigned i = 1; i < c->n; i++)
                if (c->v[i].len < c->v[shortest].len)
                        shortest = i;
        take_out(c, shortest, 1);
}

void crc_combine_add(struct crc_combine *c, uint64_t off, uint64_t len, uint32_t crc)
{
        unsigned i = find(c, off), overlaps = 0;

        for (unsigned k = i; k < c->n && c->v[k].off < off + len; k++, overlaps++)
                if (c->v[k].len >= len)
                        return;
        take_out(c, i, overlaps);
        memmove(&c->v[i + 1], &c->v[i], (c->n - i) * sizeof c->v[0]);
        c->v[i] = (struct chain_piece){.off = off, .len = len, .crc = crc};
        c->n++;
        merge(c, i);
        if (i > 0)
                merge(c, i - 1);
        if (c->n > CRC_COMBINE_MAX)
                drop_shortest(c);
}

bool crc_combine_whole(const struct crc_combine *c, uint64_t size, uint32_t *crc)
{
        if (c->n != 1 || c->v[0].off || c->v[0].len != size)
                return false;
        *crc = c->v[0].crc;
        return true;
}

void crc_combine_reset(struct crc_combine *c)
{
        c->n = 0;
}
