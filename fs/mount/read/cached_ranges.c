/* SPDX-License-Identifier: Apache-2.0 */
/* cached_ranges.c: see cached_ranges.h. */
#include "mount/read/cached_ranges.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

#include "base/banned.h"

/* The first that ends behind `at`. */
static size_t place(const struct cached_ranges *c, uint64_t at)
{
        size_t lo = 0, hi = c->n;
        while (lo < hi) {
                size_t mid = (lo + hi) / 2;
                if (c->v[mid]->off + c->v[mid]->len > at)
                        hi = mid;
                else
                        lo = mid + 1;
        }
        return lo;
}

bool cached_ranges_add(struct cached_ranges *c, struct fetch_range *g)
{
        if (GROW(c->v, c->n, c->room, 16))
                return false;
        size_t i = place(c, g->off);
        memmove(&c->v[i + 1], &c->v[i], (c->n - i) * sizeof(struct fetch_range *));
        c->v[i] = g;
        c->n++;
        c->memory += fetch_range_memory(g);
        cached_ranges_touch(c, g);
        return true;
}

void cached_ranges_touch(struct cached_ranges *c, struct fetch_range *g)
{
        g->read_last = ++c->reads;
}

void cached_ranges_remove(struct cached_ranges *c, struct fetch_range *g)
{
        size_t i = place(c, g->off);
        memmove(&c->v[i], &c->v[i + 1], (c->n - i - 1) * sizeof(struct fetch_range *));
        c->memory -= fetch_range_memory(g);
        if (--c->n)
                return;
        free(c->v);
        c->v = NULL;
        c->room = 0;
}

struct fetch_range *cached_ranges_find(const struct cached_ranges *c, uint64_t at)
{
        size_t i = place(c, at);
        return i < c->n && c->v[i]->off <= at ? c->v[i] : NULL;
}

uint64_t cached_ranges_next(const struct cached_ranges *c, uint64_t at, uint64_t end)
{
        size_t i = place(c, at);
        if (i < c->n && c->v[i]->off <= at)
                i++;
        return i < c->n && c->v[i]->off < end ? c->v[i]->off : end;
}

struct fetch_range *cached_ranges_oldest(const struct cached_ranges *c)
{
        struct fetch_range *oldest = c->n ? c->v[0] : NULL;
        for (size_t i = 1; i < c->n; i++)
                if (c->v[i]->read_last < oldest->read_last)
                        oldest = c->v[i];
        return oldest;
}
