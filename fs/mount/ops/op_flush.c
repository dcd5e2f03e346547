/* SPDX-License-Identifier: Apache-2.0 */
/* op_flush.c: when the bytes of open files are published: fsync, and the close that leaves the
 * file open nowhere. Which close that is only /proc tells, at the price of some system calls for
 * each descriptor of the process, so closes that come meanwhile are looked at together
 * (proc_query.h). */
#include "mount/ops/op.h"

#include <errno.h>
#include <stdlib.h>

#include "base/container_of.h"
#include "base/log.h"
#include "mount/caller/fd_owners.h"
#include "mount/caller/proc_query.h"

#include "base/banned.h"

/* A close, until it is known what it is. */
struct op_close {
        struct proc_query look;
        fuse_req_t req;
        struct request *request; /* held, until it is known */
        struct handle *h;
        unsigned looks; /* before this one */
        struct fd_owners_look fd_owners;
};

/* Others may open the file without end; then a part of what they write may be published. */
enum { LOOKS_MOST = 10 };

struct publish {
        struct waiter commit;
        fuse_req_t req;
        struct mount *m;
        struct handle *h; /* a reference: whoever waited may be gone before the end */
        struct wfile *file;
        size_t written; /* bytes, if it is a write that waits, else 0 */
};

static void reply_published(fuse_req_t req, int err, size_t written)
{
        if (written && !err)
                fuse_reply_write(req, written);
        else
                fuse_reply_err(req, -err);
}

static void published(struct waiter *w)
{
        struct publish *p = CONTAINER_OF(w, struct publish, commit);

        reply_published(p->req, w->err, p->written);
        wfile_unref(p->file);
        handle_unref(p->m, p->h);
        free(p);
}

static struct publish *publish_new(fuse_req_t req, struct handle *h, struct wfile *f,
                                   size_t written)
{
        struct publish *p = malloc(sizeof *p);
        if (p)
                *p = (struct publish){.commit.ready = published,
                                      .req = req,
                                      .m = op_mount(req),
                                      .h = handle_ref(h),
                                      .file = wfile_ref(f),
                                      .written = written};
        else
                fuse_reply_err(req, ENOMEM);
        return p;
}

/* From here on nobody has to wait: the file is published all the same. */
static void publish_closed(struct op_close *c, bool killed)
{
        struct mount *m = op_mount(c->req);
        struct publish *p = publish_new(c->req, c->h, c->h->file, 0);

        if (!p)
                return;
        if (killed)
                request_dies(m, c->request);
        request_let(m, c->request);
        wfile_commit(p->file, &p->h->user, &p->commit);
}

static struct op_close *op_close_of(struct proc_query *l)
{
        return CONTAINER_OF(l, struct op_close, look);
}

static void close_begin(struct proc_query *l)
{
        struct op_close *c = op_close_of(l);
        fd_owners_look_begin(&c->fd_owners, c->h->fd_owners, fuse_req_ctx(c->req)->pid,
                             c->h->node->ino);
        c->fd_owners.opener = c->h->unseen ? c->h->opener : 0;
}

static void close_see(struct proc_query *l, struct proc_view *view)
{
        fd_owners_look_see(&op_close_of(l)->fd_owners, view);
}

static bool look_at_close(fuse_req_t req, struct request *request, struct handle *h,
                          unsigned looks);

static void close_end(struct proc_query *l, bool whole)
{
        struct op_close *c = op_close_of(l);
        const struct mount *m = op_mount(c->req);
        enum closing is = fd_owners_look_end(&c->fd_owners, c->h->fd_owners, whole);
        bool killed = atomic_load(&c->fd_owners.killed);

        if (is == CLOSE_UNSURE && look_at_close(c->req, c->request, c->h, c->looks + 1))
                return;
        if (is != CLOSE_LEAVES && m->params.on_kill == ON_KILL_PUBLISH)
                is = CLOSE_LAST;
        if (is == CLOSE_KILLED || is == CLOSE_BYSTANDER) {
                log_info("process %d %s: what was written is not published",
                         (int)fuse_req_ctx(c->req)->pid,
                         is == CLOSE_KILLED
                                 ? "was ended by a signal"
                                 : "inherited a file whose writer was ended by a signal");
                fuse_reply_err(c->req, EINTR); /* release aborts it, unless others go on writing */
        } else if (is == CLOSE_LEAVES) {
                fuse_reply_err(c->req, 0);
        } else {
                publish_closed(c, killed);
        }
}

static void close_drop(struct proc_query *l)
{
        struct op_close *c = op_close_of(l);
        fd_owners_look_release(&c->fd_owners);
        free(c);
}

/* False: there is no memory, or it was looked at often enough. */
static bool look_at_close(fuse_req_t req, struct request *request, struct handle *h, unsigned looks)
{
        struct op_close *c = looks < LOOKS_MOST ? calloc(1, sizeof *c) : NULL;
        if (!c)
                return false;
        c->look.uid = fd_owners_uid(h->fd_owners);
        c->look.begin = close_begin;
        c->look.see = close_see;
        c->look.end = close_end;
        c->look.drop = close_drop;
        c->req = req;
        c->request = request;
        c->h = h;
        c->looks = looks;
        if (proc_queries_add(op_mount(req)->proc_queries, &c->look))
                return true;
        free(c);
        return false;
}

void op_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
        struct handle *h = op_handle(fi);
        (void)ino;

        if (!h->file || !wfile_owes_close(h->file, &h->user)) {
                fuse_reply_err(req, 0);
                return;
        }
        request_hold(op_mount(req), request_now());
        if (!look_at_close(req, request_now(), h, 0))
                fuse_reply_err(req, ENOMEM);
}

/* The file that is written while this handle only reads, with a reference: NULL when there is none,
 * or -errno in *err. What a writer that was killed left is not to be published by who looks. */
static struct wfile *file_beside(struct mount *m, const struct handle *h, int *err)
{
        struct node *n = h->node;

        tree_lock(m->tree);
        struct wfile *f = n->file ? wfile_ref(n->file) : NULL;
        bool killed = f && n->fd_owners && fd_owners_killed(n->fd_owners);
        tree_unlock(m->tree);
        *err = killed && m->params.on_kill == ON_KILL_ABORT && wfile_owes(f, NULL) ? -EIO : 0;
        return f;
}

void op_sync_file(fuse_req_t req, struct handle *h, struct wfile *f, size_t written)
{
        struct wfile_user *u = h->file ? &h->user : NULL;

        if (!wfile_owes(f, u)) {
                reply_published(req, wfile_unsynced(f), written);
                return;
        }
        struct publish *p = publish_new(req, h, f, written);
        if (p)
                wfile_commit(f, u, &p->commit);
}

/* As on any file system, by whatever descriptor the file is synced. */
void op_fsync(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi)
{
        struct handle *h = op_handle(fi);
        int err = 0;
        struct wfile *f = h->file ? wfile_ref(h->file) : file_beside(op_mount(req), h, &err);
        (void)ino;
        (void)datasync;

        if (!err && f)
                op_sync_file(req, h, f, 0);
        else
                fuse_reply_err(req, -err);
        wfile_unref(f);
}
