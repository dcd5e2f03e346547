/* SPDX-License-Identifier: Apache-2.0 */
/* heir.c: see heir.h. */
#include "mount/ops/heir.h"

#include <sys/stat.h>

#include "base/cleanup.h"

#include "base/banned.h"

struct node *heir_of_locked(struct mount *m, const struct node *n) REQUIRES(tree_mutex)
{
        struct node *heir = n->heir;

        if (n->hashed || n->astray || !n->parent || n->nreaders || n->file)
                return NULL;
        if (!heir)
                heir = tree_find_locked(m->tree, n->parent, n->name);
        return heir && !heir->dir ? heir : NULL;
}

/* Where the thread stands in the list, or its end. One whose number cannot be seen here stands
 * nowhere. */
static unsigned find_locked(const struct mount *m, pid_t tid) REQUIRES(tree_mutex)
{
        unsigned i = 0;
        while (i < MOUNT_SENT_BACK && m->sent_back.v[i] != tid)
                i++;
        return tid ? i : MOUNT_SENT_BACK;
}

bool heir_is_due_locked(struct mount *m, pid_t tid) REQUIRES(tree_mutex)
{
        if (!tid || find_locked(m, tid) < MOUNT_SENT_BACK)
                return true;
        pid_t *oldest = &m->sent_back.v[m->sent_back.next++ % MOUNT_SENT_BACK];
        m->sent_back.n += !*oldest;
        *oldest = tid;
        return false;
}

void heir_over_locked(struct mount *m, pid_t tid) REQUIRES(tree_mutex)
{
        unsigned i = m->sent_back.n ? find_locked(m, tid) : MOUNT_SENT_BACK;
        if (i == MOUNT_SENT_BACK)
                return;
        m->sent_back.v[i] = 0;
        m->sent_back.n--;
}

bool heir_fits_locked(const struct mount *m, struct node *heir, struct node *n) REQUIRES(tree_mutex)
{
        struct stat a, b;

        mount_stat_locked(m, heir, &a);
        mount_stat_locked(m, n, &b);
        return heir->attr_known && n->attr_known && S_ISREG(a.st_mode) && a.st_mode == b.st_mode &&
               a.st_uid == b.st_uid && a.st_gid == b.st_gid;
}

void heir_take_locked(struct handle *h, struct node *n) REQUIRES(tree_mutex)
{
        struct node *heir = h->node;
        struct attr attr = attr_copy(&heir->attr);

        h->shown = n;
        tree_pin_locked(n);
        if (!n->nheirs++) {
                n->heir = heir;
                tree_pin_locked(heir);
        }
        n->size = heir->file ? wfile_size(heir->file) : heir->size;
        n->mtime_ns = heir->mtime_ns;
        attr_move(&n->attr, &attr);
        n->attr_known = heir->attr_known;
}

void heir_drop_locked(struct mount *m, struct node *n) REQUIRES(tree_mutex)
{
        if (!--n->nheirs)
                tree_unref_locked(m->tree, TAKE_PTR(n->heir), 1);
        tree_unref_locked(m->tree, n, 1);
}
