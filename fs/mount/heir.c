/* SPDX-License-Identifier: Apache-2.0 */
/* heir.c: see heir.h. */
#include "mount/heir.h"

#include "base/cleanup.h"

#include "base/banned.h"

struct node *heir_of_locked(struct mount *m, const struct node *n)
{
        struct node *heir = n->heir;

        if (n->hashed || !n->parent || n->nreaders || n->file)
                return NULL;
        if (!heir)
                heir = tree_find_locked(m->tree, n->parent, n->name);
        return heir && !heir->dir ? heir : NULL;
}

void heir_take_locked(struct handle *h, struct node *n)
{
        struct node *heir = h->node;
        struct attr attr = attr_copy(&heir->attr);

        h->shown = n;
        tree_pin_locked(n);
        if (!n->nheirs++) {
                n->heir = heir;
                tree_pin_locked(heir);
        }
        n->size = heir->file ? file_size(heir->file) : heir->size;
        n->mtime_ns = heir->mtime_ns;
        attr_move(&n->attr, &attr);
        n->attr_known = heir->attr_known;
}

void heir_drop_locked(struct mount *m, struct node *n)
{
        if (!--n->nheirs)
                tree_unref_locked(m->tree, TAKE_PTR(n->heir), 1);
        tree_unref_locked(m->tree, n, 1);
}
