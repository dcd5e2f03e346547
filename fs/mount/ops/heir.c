/* SPDX-License-Identifier: Apache-2.0 */
/* heir.c: see heir.h. */
#include "mount/ops/heir.h"

#include <sys/stat.h>

#include "base/cleanup.h"

#include "base/banned.h"

/* What a lookup told is opened at once, or not at all. */
#define TOLD_NS 1000000000LL

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
        while (i < MOUNT_SENT_BACK && m->sent_back.v[i].tid != tid)
                i++;
        return tid && m->sent_back.n ? i : MOUNT_SENT_BACK;
}

bool heir_is_due_locked(const struct mount *m, pid_t tid) REQUIRES(tree_mutex)
{
        return find_locked(m, tid) < MOUNT_SENT_BACK;
}

bool heir_looks_up_locked(struct mount *m, pid_t tid) REQUIRES(tree_mutex)
{
        unsigned i = find_locked(m, tid);
        if (i == MOUNT_SENT_BACK)
                return false;
        m->sent_back.v[i].told = NULL;
        return true;
}

void heir_send_back_locked(struct mount *m, pid_t tid, const struct node *n) REQUIRES(tree_mutex)
{
        if (!tid || heir_is_due_locked(m, tid))
                return;
        unsigned oldest = m->sent_back.next++ % MOUNT_SENT_BACK;
        m->sent_back.n += !m->sent_back.v[oldest].tid;
        m->sent_back.v[oldest].tid = tid;
        m->sent_back.v[oldest].name = n->hash;
        m->sent_back.v[oldest].told = NULL;
}

void heir_over_locked(struct mount *m, pid_t tid) REQUIRES(tree_mutex)
{
        unsigned i = find_locked(m, tid);
        if (i == MOUNT_SENT_BACK)
                return;
        m->sent_back.v[i].tid = 0;
        m->sent_back.n--;
}

void heir_tell_locked(struct mount *m, pid_t tid, const struct node *n) REQUIRES(tree_mutex)
{
        unsigned i = find_locked(m, tid);
        if (i < MOUNT_SENT_BACK && m->sent_back.v[i].name == n->hash)
                m->sent_back.v[i].told = n;
}

bool heir_is_told_locked(const struct mount *m, pid_t tid, const struct node *n)
        REQUIRES(tree_mutex)
{
        unsigned i = find_locked(m, tid);
        return i < MOUNT_SENT_BACK && m->sent_back.v[i].told == n &&
               tree_now_ns() - n->stood_ns < TOLD_NS;
}

/* Whether the file's mode lets the caller read it, whatever groups and capabilities that has. */
static bool may_read(const struct stat *st, const struct fuse_ctx *caller)
{
        if (caller->uid == st->st_uid)
                return st->st_mode & S_IRUSR;
        if (caller->gid == st->st_gid)
                return st->st_mode & S_IRGRP;
        return st->st_mode & S_IRGRP && st->st_mode & S_IROTH;
}

bool heir_fits_locked(const struct mount *m, struct node *heir, struct node *n,
                      const struct fuse_ctx *caller, int flags) REQUIRES(tree_mutex)
{
        struct stat a, b;

        mount_stat_locked(m, heir, &a);
        mount_stat_locked(m, n, &b);
        if (!heir->attr_known || !S_ISREG(a.st_mode))
                return false;
        bool same = n->attr_known && a.st_mode == b.st_mode && a.st_uid == b.st_uid &&
                    a.st_gid == b.st_gid;
        return same || (!(flags & OPENED_TO_EXECUTE) && may_read(&a, caller));
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
