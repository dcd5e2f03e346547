/* SPDX-License-Identifier: Apache-2.0 */
/* negative_cache.c: see negative_cache.h. */
#include "mount/tree/negative_cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

enum { GAPS = 32, NAME_MOST = 256 };

struct gap {
        char *from, *to;
        int64_t asked_ns; /* 0: none */
};

struct negative_cache {
        struct gap v[GAPS];
};

static void gap_release(struct gap *x)
{
        free(x->from);
        free(x->to);
        *x = (struct gap){0};
}

void negative_cache_free(struct negative_cache *g)
{
        if (!g)
                return;
        for (size_t i = 0; i < GAPS; i++)
                gap_release(&g->v[i]);
        free(g);
}

/* What is behind the name and all that is below it ends the gap. */
static bool is_in(const struct gap *x, const char *name)
{
        char below[NAME_MOST + 1];

        if (strlen(name) >= NAME_MOST || strcmp(x->from, name) >= 0)
                return false;
        snprintf(below, sizeof below, "%s/", name);
        return !x->to || strcmp(below, x->to) < 0;
}

/* The one that ends there too, else the oldest. */
static struct gap *choose(struct negative_cache *g, const char *to)
{
        struct gap *oldest = &g->v[0];
        for (size_t i = 0; i < GAPS; i++) {
                struct gap *x = &g->v[i];
                if (x->asked_ns && (to ? x->to && !strcmp(x->to, to) : !x->to))
                        return x;
                if (x->asked_ns < oldest->asked_ns)
                        oldest = x;
        }
        return oldest;
}

void negative_cache_note(struct negative_cache **g, const char *from, const char *to,
                         int64_t asked_ns)
{
        struct gap fresh = {.from = strdup(from), .to = to ? strdup(to) : NULL};

        if (!*g)
                *g = calloc(1, sizeof **g);
        if (!*g || !fresh.from || (to && !fresh.to)) {
                gap_release(&fresh);
                return;
        }
        struct gap *x = choose(*g, to);
        gap_release(x);
        fresh.asked_ns = asked_ns;
        *x = fresh;
}

bool negative_cache_have(const struct negative_cache *g, const char *name, int64_t since)
{
        for (size_t i = 0; g && i < GAPS; i++)
                if (g->v[i].asked_ns > since && is_in(&g->v[i], name))
                        return true;
        return false;
}
