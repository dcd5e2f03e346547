/* SPDX-License-Identifier: Apache-2.0 */
/* copied.c: see copied.h. */
#include "move/copied.h"

#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/grow.h"

#include "base/banned.h"

enum { MOST = 8 << 20, FIRST = 256 }; /* 64 MiB of hashes */

/* Of all, the texts with their NULs. The lowest bit is free. */
static uint64_t hash_of(const char *name, const char *etag, int64_t mtime_ns)
{
        int64_t second = mtime_ns / 1000000000; /* headers tell no more */

        uint64_t hash = fnv1a(FNV1A_BASIS, name, strlen(name) + 1);
        hash = fnv1a(hash, etag, strlen(etag) + 1);
        return fnv1a(hash, &second, sizeof second) & ~1ULL;
}

void copied_add(struct copied *c, const char *name, const char *etag, int64_t mtime_ns, bool older)
{
        if (c->n == MOST || GROW(c->v, c->n, c->max, FIRST))
                c->partial = true;
        else
                c->v[c->n++] = hash_of(name, etag, mtime_ns) | older;
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

static bool has(const struct copied *c, uint64_t hash)
{
        return c->n && bsearch(&hash, c->v, c->n, sizeof *c->v, compare);
}

enum copied_what copied_find(const struct copied *c, const char *name, const char *etag,
                             int64_t mtime_ns)
{
        uint64_t hash = hash_of(name, etag, mtime_ns);
        return has(c, hash) ? COPIED : has(c, hash | 1) ? COPIED_OLDER : COPIED_NOT;
}

void copied_release(struct copied *c)
{
        free(c->v);
        *c = (struct copied){.v = NULL};
}
