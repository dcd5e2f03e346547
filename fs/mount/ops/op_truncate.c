/* SPDX-License-Identifier: Apache-2.0 */
/* op_truncate.c: truncate and fallocate. */
#include "mount/ops/op.h"

#include <errno.h>
#include <linux/falloc.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/container_of.h"
#include "base/metrics.h"
#include "mount/caller/fd_owners.h"
#include "mount/caller/proc_query.h"
#include "mount/rename/attr_sync.h"
#include "mount/ops/node_writer.h"

#include "base/banned.h"

/* One change of size; by name it is published before the reply, unless somebody has the file open
 * for writing, whose close does it. The kernel may be slow to release what was closed: whether it
 * is still open /proc tells. */
struct sizing {
        struct op_resize resize;
        struct name_lock lock; /* by name */
        struct waiter commit;
        struct op_ask ask;
        fuse_req_t req;
        struct mount *m;
        struct node *n;
        struct handle *handle; /* unless by name */
        char *key;
        bool plain_reply;  /* of fallocate */
        bool by_name;      /* the file is ours to put */
        bool open;         /* by name: others publish it */
        struct wfile *cut; /* by name, and published: readers wait for the end of that */
};

static void sizing_end(struct sizing *z, int err)
{
        if (z->by_name && z->resize.file)
                node_writer_put(z->m, z->n, z->resize.file, NULL);
        if (z->by_name)
                name_lock_drop(&z->lock);
        else
                wfile_unref(z->resize.file);
        handle_unref(z->m, z->handle);
        if (err || z->plain_reply)
                fuse_reply_err(z->req, -err);
        else
                op_reply_attr(z->req, z->m, z->n);
        if (z->cut)
                wfile_cut_end(z->cut);
        wfile_unref(z->cut);
        free(z->key);
        free(z);
}

static void sizing_published(struct waiter *w)
{
        sizing_end(CONTAINER_OF(w, struct sizing, commit), w->err);
}

static void resized(struct op_resize *r, int err)
{
        struct sizing *z = CONTAINER_OF(r, struct sizing, resize);

        if (!err && z->handle) /* as by a write */
                handle_wrote(z->m, z->handle, fuse_req_ctx(z->req)->pid);
        if (!err)
                attr_sync_touch(z->m, z->n, fuse_req_ctx(z->req)->uid);
        if (err || !z->by_name || z->open) {
                sizing_end(z, err);
                return;
        }
        z->commit.ready = sizing_published;
        wfile_commit(r->file, r->user, &z->commit);
}

/* Who has the file open, beside whoever cuts it by name. */
struct sizing_look {
        struct proc_query look;
        struct sizing *z;
        struct fd_owners_look fd_owners;
};

static struct sizing_look *sizing_look_of(struct proc_query *q)
{
        return CONTAINER_OF(q, struct sizing_look, look);
}

static void open_begin(struct proc_query *q)
{
        struct sizing_look *l = sizing_look_of(q);
        const struct node *n = l->z->n;

        tree_lock(l->z->m->tree);
        if (n->fd_owners)
                fd_owners_look_begin(&l->fd_owners, n->fd_owners, fuse_req_ctx(l->z->req)->pid,
                                     n->ino);
        tree_unlock(l->z->m->tree);
        l->fd_owners.opens = 1; /* any of them */
}

static void open_see(struct proc_query *q, struct proc_view *view)
{
        fd_owners_look_see(&sizing_look_of(q)->fd_owners, view);
}

static void resize_published(struct sizing *z)
{
        z->cut = wfile_ref(z->resize.file);
        wfile_cut_begin(z->cut);
        op_resize(&z->resize);
}

/* What a killed writer left goes now. What others left is not ours to publish. */
static void open_end(struct proc_query *q, bool whole)
{
        const struct sizing_look *l = sizing_look_of(q);
        struct sizing *z = l->z;
        struct node *n = z->n;

        bool dirty = wfile_dirty(z->resize.file);
        tree_lock(z->m->tree);
        bool owned = n->fd_owners != NULL, held = owned && (!whole || l->fd_owners.held);
        bool killed = owned && !held && dirty && z->m->params.on_kill == ON_KILL_ABORT &&
                      fd_owners_killed(n->fd_owners);
        tree_unlock(z->m->tree);
        z->open = held || (owned && dirty && !killed);
        if (killed) {
                METRIC_ADD(kills_aborted, 1);
                wfile_abort(z->resize.file, -ECANCELED);
        }
        if (z->open)
                op_resize(&z->resize);
        else
                resize_published(z);
}

static void open_drop(struct proc_query *q)
{
        struct sizing_look *l = sizing_look_of(q);
        fd_owners_look_release(&l->fd_owners);
        free(l);
}

static void look_who_has_it(struct sizing *z, uid_t uid)
{
        struct sizing_look *l = calloc(1, sizeof *l);

        if (!l) {
                sizing_end(z, -ENOMEM);
                return;
        }
        l->look.uid = uid;
        l->look.begin = open_begin;
        l->look.see = open_see;
        l->look.end = open_end;
        l->look.drop = open_drop;
        l->z = z;
        if (proc_queries_add(z->m->proc_queries, &l->look))
                return;
        free(l);
        sizing_end(z, -EROFS);
}

static void resize_by_name(struct sizing *z)
{
        struct mount *m = z->m;

        tree_lock(m->tree);
        bool drains = !z->n->nwriters && mount_drains(m);
        if (!drains)
                z->resize.file = node_writer_locked(m, z->n, z->key);
        bool owned = z->n->fd_owners != NULL;
        uid_t uid = owned ? fd_owners_uid(z->n->fd_owners) : 0;
        tree_unlock(m->tree);
        if (!z->resize.file)
                sizing_end(z, drains ? -EROFS : -ENOMEM);
        else if (!owned)
                resize_published(z);
        else
                look_who_has_it(z, uid);
}

static void sizing_asked(struct op_ask *ask, int err)
{
        struct sizing *z = CONTAINER_OF(ask, struct sizing, ask);

        if (err)
                sizing_end(z, err);
        else
                resize_by_name(z);
}

static void sizing_granted(struct waiter *w)
{
        struct sizing *z = CONTAINER_OF(w, struct sizing, lock.waiter);
        struct node *n = z->n;

        tree_lock(z->m->tree);
        z->key = tree_key_locked(n);
        bool known = n->file || n->unlinked || (!z->resize.size && n->published && n->attr_known);
        /* It was replaced or removed while this waited: nobody sees it but who reads it on. */
        bool gone = n->unlinked && !n->file && !n->reader;
        bool ended = request_ended(z->resize.request);
        bool replaced = n->ousted || (!n->file && op_is_replaced_locked(n));
        tree_unlock(z->m->tree);
        z->ask = (struct op_ask){.m = z->m, .n = n, .done = sizing_asked};
        if (!z->key || ended)
                sizing_end(z, ended ? -EINTR : -ENOMEM);
        else if (gone || replaced)
                sizing_end(z, replaced ? -ESTALE : 0);
        else if (known)
                resize_by_name(z);
        else
                op_ask_version(&z->ask);
}

static struct sizing *sizing_new(fuse_req_t req, struct request *request, struct mount *m,
                                 struct node *n, uint64_t size)
{
        struct sizing *z = calloc(1, sizeof *z);
        if (!z) {
                fuse_reply_err(req, ENOMEM);
                return NULL;
        }
        z->req = req;
        z->m = z->resize.m = m;
        z->n = n;
        z->resize.request = request;
        z->resize.size = size;
        z->resize.done = resized;
        return z;
}

/* Takes over the reference to the handle's file. */
static void resize_handle(struct sizing *z, struct handle *h, struct wfile *f)
{
        z->handle = handle_ref(h);
        z->resize.file = f;
        z->resize.user = &h->user;
        op_resize(&z->resize);
}

void op_set_size(fuse_req_t req, struct request *request, struct mount *m, struct node *n,
                 uint64_t size, struct fuse_file_info *fi)
{
        struct handle *h = fi ? op_handle(fi) : NULL;
        bool writes = h && h->file;
        struct wfile *f = writes ? handle_file(m, h) : NULL;
        struct sizing *z = NULL;

        if (writes && !f)
                fuse_reply_err(req, EINTR); /* closed: whoever waited was killed */
        else
                z = sizing_new(req, request, m, n, size);
        if (!z) {
                wfile_unref(f);
                return;
        }
        if (writes) {
                resize_handle(z, h, f);
                return;
        }
        z->by_name = true;
        z->lock = (struct name_lock){.shared = {n}, .waiter.ready = sizing_granted};
        name_lock_take(m, &z->lock);
}

void op_fallocate(fuse_req_t req, fuse_ino_t ino, int mode, off_t off, off_t len,
                  struct fuse_file_info *fi)
{
        struct mount *m = op_mount(req);
        struct handle *h = op_handle(fi);
        uint64_t end = (uint64_t)off + (uint64_t)len;

        if (mode & ~FALLOC_FL_KEEP_SIZE || !h->file) {
                fuse_reply_err(req, mode & ~FALLOC_FL_KEEP_SIZE ? EOPNOTSUPP : EBADF);
        } else if (end > INT64_MAX) {
                fuse_reply_err(req, EFBIG);
        } else if (mode & FALLOC_FL_KEEP_SIZE || end <= wfile_size(h->file)) {
                wfile_announce(h->file, end); /* there is no space to be reserved */
                fuse_reply_err(req, 0);
        } else {
                struct sizing *z = sizing_new(req, request_now(), m, op_node(m, ino), end);
                if (!z)
                        return;
                z->plain_reply = true;
                resize_handle(z, h, wfile_ref(h->file));
        }
}
