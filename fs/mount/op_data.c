/* SPDX-License-Identifier: Apache-2.0 */
/* op_data.c: the bytes of open files, and when they are published. */
#include "mount/op.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/metrics.h"
#include "mount/holders.h"
#include "mount/session.h"

#include "base/banned.h"

static struct handle *op_handle(const struct fuse_file_info *fi)
{
        return (struct handle *)(uintptr_t)fi->fh;
}

/* --- read
 * ------------------------------------------------------------------------------------------------
 */

struct read_request {
        struct read_op op;
        fuse_req_t req;
};

static void read_done(struct read_op *op, int err, const struct iovec *iov, int niov)
{
        struct read_request *r = (struct read_request *)op;
        if (err) {
                fuse_reply_err(r->req, -err);
        } else {
                METRIC_ADD(read_bytes, niov ? op->len : 0);
                fuse_reply_iov(r->req, iov, niov);
        }
        free(r);
}

void op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
{
        struct handle *h = op_handle(fi);
        struct read_request *r;
        (void)ino;

        pthread_mutex_lock(&h->mtx);
        bool writing = h->writer != NULL;
        pthread_mutex_unlock(&h->mtx);
        if (!h->reader || writing) {
                fuse_reply_err(req, EOPNOTSUPP);
        } else if (!(r = malloc(sizeof *r))) {
                fuse_reply_err(req, ENOMEM);
        } else {
                *r = (struct read_request){
                        .op = {.off = (uint64_t)off, .len = size, .done = read_done},
                        .req = req,
                };
                reader_read(h->reader, &r->op);
        }
}

/* --- write
 * -----------------------------------------------------------------------------------------------
 */

/* A write whose reply waits: for memory, or, with its bytes in `buf`, for a commit to end. */
struct write_request {
        struct pool_waiter waiter;
        struct writer_deferred deferred;
        fuse_req_t req;
        struct mount *m;
        struct writer *writer;
        struct pool_buf *buf;
        const void *p;
        size_t n;
        uint64_t pos;
};

static void memory_free(struct pool_waiter *waiter)
{
        struct write_request *w = (struct write_request *)waiter;
        fuse_reply_write(w->req, w->n);
        free(w);
}

/* Replies to a write that was taken: at once, or when memory is below its mark again. */
static void reply_taken(fuse_req_t req, struct mount *m, size_t n)
{
        METRIC_ADD(written_bytes, n);
        if (pool_busy(m->pool)) {
                struct write_request *w = malloc(sizeof *w);
                if (w) {
                        *w = (struct write_request){
                                .waiter.ready = memory_free, .req = req, .n = n};
                        METRIC_ADD(pool_waits, 1);
                        if (pool_wait(m->pool, &w->waiter))
                                return;
                        free(w);
                }
        }
        fuse_reply_write(req, n);
}

static void commit_ended(struct writer_deferred *d);

/* Writes, or waits for the commit under way: then the bytes stay in the request's own buffer. */
static void write_or_defer(struct write_request *w)
{
        bool kept;
        for (;;) {
                int err = writer_write(w->writer, w->pos, w->p, w->n, w->buf, &kept);
                if (err != -EAGAIN) {
                        if (err)
                                fuse_reply_err(w->req, -err);
                        else
                                reply_taken(w->req, w->m, w->n);
                        break;
                }
                w->deferred.retry = commit_ended;
                if (writer_defer(w->writer, &w->deferred))
                        return;
        }
        writer_unref(w->writer);
        pool_unref(w->buf);
        free(w);
}

static void commit_ended(struct writer_deferred *d)
{
        write_or_defer((struct write_request *)(void *)((char *)d -
                                                        offsetof(struct write_request, deferred)));
}

/* The handle's writer with one more reference; made now for an empty file that was opened without
 * O_TRUNC. */
static struct writer *writer_of(struct mount *m, struct handle *h, int *err)
{
        struct store_meta meta;
        struct replaced old = {0};
        struct writer *w;
        int bad = amend_meta(m, h->node, true, &meta);

        *err = 0;
        pthread_mutex_lock(&h->mtx);
        if (!h->writer) {
                CLEANUP(freep) char *key = tree_key(m->tree, h->node, NULL);
                tree_lock(m->tree);
                if (h->node->size || (h->node->writer && writer_dirty(h->node->writer)))
                        *err = -EOPNOTSUPP; /* a part of the base version would have to stay */
                else if (bad || !key ||
                         !(h->writer = writer_new(&m->writer_env, key, &meta, false)))
                        *err = -ENOMEM;
                if (!*err)
                        old = op_adopt_writer_locked(m, h->node, h->writer);
                tree_unlock(m->tree);
                op_replaced(&old);
        }
        w = h->writer ? writer_ref(h->writer) : NULL;
        pthread_mutex_unlock(&h->mtx);
        return w;
}

static void defer_write(fuse_req_t req, struct mount *m, struct writer *writer,
                        const struct fuse_buf *b, off_t off)
{
        struct write_request *w = malloc(sizeof *w);
        if (!w) {
                fuse_reply_err(req, ENOMEM);
                return;
        }
        *w = (struct write_request){
                .req = req,
                .m = m,
                .writer = writer_ref(writer),
                .buf = pool_ref(session_buffer()),
                .p = b->mem,
                .n = b->size,
                .pos = (uint64_t)off,
        };
        write_or_defer(w);
}

void op_write_buf(fuse_req_t req, fuse_ino_t ino, struct fuse_bufvec *in, off_t off,
                  struct fuse_file_info *fi)
{
        struct mount *m = op_mount(req);
        const struct fuse_buf *b = &in->buf[0]; /* one piece of memory: splice is off */
        bool kept;
        int err;
        struct handle *h = op_handle(fi);
        struct writer *w = writer_of(m, h, &err);
        (void)ino;

        if (h->holders)
                holders_wrote(h->holders, fuse_req_ctx(req)->pid);
        amend_touch(m, h->node, fuse_req_ctx(req)->uid);
        if (w)
                err = writer_write(w, (uint64_t)off, b->mem, b->size, session_buffer(), &kept);
        if (err == -EAGAIN)
                defer_write(req, m, w, b, off);
        else if (err)
                fuse_reply_err(req, -err);
        else
                reply_taken(req, m, b->size);
        writer_unref(w);
}

/* --- publishing
 * ------------------------------------------------------------------------------------------- */

struct publish {
        struct writer_commit commit;
        fuse_req_t req;
        struct mount *m;
        struct node *n;
        struct writer *writer;
};

/* The kernel keeps the file open until it has the reply, so the node is still there. */
static void published(struct writer_commit *c, int err, const struct store_object *obj)
{
        struct publish *p = (struct publish *)c;

        if (!err && obj->etag[0]) {
                tree_lock(p->m->tree);
                if (p->n->writer == p->writer)
                        err = amend_published_locked(p->m, p->n, obj) < 0 ? -ENOMEM : 0;
                tree_unlock(p->m->tree);
        }
        fuse_reply_err(p->req, -err);
        writer_unref(p->writer);
        free(p);
}

static void publish(fuse_req_t req, struct mount *m, struct handle *h, struct writer *w)
{
        struct publish *p = malloc(sizeof *p);
        if (!p) {
                writer_unref(w);
                fuse_reply_err(req, ENOMEM);
                return;
        }
        *p = (struct publish){.commit.done = published, .req = req, .m = m, .n = h->node};
        p->writer = w;
        writer_commit(w, &p->commit);
}

/* The handle's writer, with a reference, when it has something to publish. */
static struct writer *dirty_writer(struct handle *h)
{
        struct writer *w = NULL;
        pthread_mutex_lock(&h->mtx);
        if (h->writer && writer_dirty(h->writer))
                w = writer_ref(h->writer);
        pthread_mutex_unlock(&h->mtx);
        return w;
}

void op_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
        struct mount *m = op_mount(req);
        struct handle *h = op_handle(fi);
        struct writer *w = dirty_writer(h);
        pid_t pid = fuse_req_ctx(req)->pid;
        enum closing is = w && h->holders ? holders_close(h->holders, pid, h->node->ino, m->dev)
                                          : CLOSE_LEAVES;
        (void)ino;

        if (is != CLOSE_LEAVES && m->params.on_kill == ON_KILL_PUBLISH)
                is = CLOSE_LAST;
        if (is == CLOSE_KILLED || is == CLOSE_BYSTANDER) {
                log_info("process %d %s: what was written is not published", (int)pid,
                         is == CLOSE_KILLED
                                 ? "was ended by a signal"
                                 : "inherited a file whose writer was ended by a signal");
                fuse_reply_err(req, EINTR); /* release aborts it, unless others go on writing */
        } else if (is == CLOSE_LEAVES) {
                fuse_reply_err(req, 0);
        } else {
                publish(req, m, h, TAKE_PTR(w));
        }
        writer_unref(w);
}

void op_fsync(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi)
{
        struct handle *h = op_handle(fi);
        struct writer *w = dirty_writer(h);
        (void)ino;
        (void)datasync;

        if (w)
                publish(req, op_mount(req), h, w);
        else
                fuse_reply_err(req, 0);
}
