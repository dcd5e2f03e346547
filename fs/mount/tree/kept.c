/* SPDX-License-Identifier: Apache-2.0 */
/* kept.c: see kept.h. */
#include "mount/tree/kept.h"

#include <stddef.h>

#include "base/banned.h"

struct node *kept_add(struct kept *k, struct node *n)
{
        struct node **place = &k->v[k->turn++ % KEPT_MOST], *oldest = *place;

        *place = n;
        return oldest;
}

unsigned kept_take(struct kept *k, const struct node *n)
{
        unsigned found = 0;

        for (unsigned i = 0; i < KEPT_MOST; i++) {
                if (k->v[i] != n)
                        continue;
                k->v[i] = NULL;
                found++;
        }
        return found;
}
