/* SPDX-License-Identifier: Apache-2.0 */
/* recent_nodes.c: see recent_nodes.h. */
#include "mount/tree/recent_nodes.h"

#include <stddef.h>

#include "base/banned.h"

struct node *recent_nodes_add(struct recent_nodes *r, struct node *n)
{
        struct node **place = &r->v[r->turn++ % RECENT_NODES_MOST], *oldest = *place;

        *place = n;
        return oldest;
}

unsigned recent_nodes_remove(struct recent_nodes *r, const struct node *n)
{
        unsigned found = 0;

        for (unsigned i = 0; i < RECENT_NODES_MOST; i++) {
                if (r->v[i] != n)
                        continue;
                r->v[i] = NULL;
                found++;
        }
        return found;
}
