/* SPDX-License-Identifier: Apache-2.0 */
/* copied.c: see copied.h. */
#include "move/copied.h"

#include <stdlib.h>

#include "base/grow.h"

#include "base/banned.h"

enum { MOST = 8 << 20, FIRST = 256 }; /* 64 MiB of hashes */

/* FNV-1a of both with their NULs. */
static uint64_t hash_of(const char *name, const char *etag)
{
        uint64_t hash = 0xcbf29ce484222325ULL;

        for (int i = 0; i < 2; i++) {
                const unsigned char *p = (const unsigned char *)(i ? etag : name);
                do
                        hash = (hash ^ *p) * 0x100000001b3ULL;
                while (*p++);
        }
        return hash;
}

void copied_add(struct copied *c, const char *name, const char *etag)
{
        if (c->n == MOST || GROW(c->v, c->n, c->max, FIRST))
                c->partial = true;
        else
                c->v[c->n++] = hash_of(name, etag);
}

static int compare(const void *a, const void *b)
{
        const uint64_t *x = a, *y = b;
        return (*x > *y) - (*x < *y);
}

void copied_sort(struct copied *c)
{
        if (c->n)
                qsort(c->v, c->n, sizeof *c->v, compare);
}

bool copied_has(const struct copied *c, const char *name, const char *etag)
{
        uint64_t hash = hash_of(name, etag);
        return c->n && bsearch(&hash, c->v, c->n, sizeof *c->v, compare);
}

void copied_release(struct copied *c)
{
        free(c->v);
        *c = (struct copied){.v = NULL};
}
