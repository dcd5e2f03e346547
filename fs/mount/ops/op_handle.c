/* SPDX-License-Identifier: Apache-2.0 */
/* op_handle.c: open files as the mount lists them, and who else has a reference. */
#include "mount/ops/op.h"

#include <stdlib.h>

#include "mount/caller/fd_owners.h"

#include "base/banned.h"

struct handle *handle_ref(struct handle *h)
{
        atomic_fetch_add_explicit(&h->refs, 1, memory_order_relaxed);
        return h;
}

void handle_unref(struct mount *m, struct handle *h)
{
        if (!h || atomic_fetch_sub_explicit(&h->refs, 1, memory_order_acq_rel) > 1)
                return;
        tree_lock(m->tree);
        if (h->node)
                tree_unref_locked(m->tree, h->node, 1);
        tree_unlock(m->tree);
        free(h);
}

struct wfile *handle_file(struct mount *m, const struct handle *h)
{
        tree_lock(m->tree);
        struct wfile *f = h->item.listed ? wfile_ref(h->file) : NULL;
        tree_unlock(m->tree);
        return f;
}

void handle_wrote(struct mount *m, struct handle *h, pid_t tid)
{
        tree_lock(m->tree);
        if (h->item.listed)
                fd_owners_wrote(h->fd_owners, tid);
        tree_unlock(m->tree);
}

void handle_list_locked(struct mount *m, struct handle *h) REQUIRES(tree_mutex)
{
        handle_ref(h);
        list_add(&m->handles, &h->item);
        m->nhandles++;
}

bool handle_unlist(struct mount *m, struct handle *h)
{
        tree_lock(m->tree);
        bool open = h->item.listed;
        if (open) {
                list_remove(&m->handles, &h->item);
                m->nhandles--;
        }
        tree_unlock(m->tree);
        return open;
}
