/* SPDX-License-Identifier: Apache-2.0 */
/* op_data.c: the bytes of open files. */
#include "mount/ops/op.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/container_of.h"
#include "base/log.h"
#include "base/metrics.h"
#include "mount/caller/fd_owners.h"

#include "base/banned.h"

static _Thread_local struct pool_buf *received; /* of this thread's request */

void op_received_in(struct pool_buf *buf)
{
        received = buf;
}

/* --- read --- */

struct read_request {
        struct read_op op;
        struct name_lock lock; /* until it is known where it reads, when a rename is under way */
        fuse_req_t req;
        struct mount *m;
        struct handle *h; /* a reference */
        size_t size;
        bool paged;      /* for the page cache, not for a program */
        int stale;       /* what came of reading elsewhere, while it waits for the lock */
        struct wfile *f; /* where it reads: one of these, with a reference */
        struct reader *reader;
};

static bool read_begin(struct read_request *r, int stale);

static void read_reply(struct read_request *r, int err, const struct iovec *iov, int niov)
{
        if (err) {
                fuse_reply_err(r->req, -err);
        } else {
                METRIC_ADD(read_bytes, niov ? r->op.len : 0);
                METRIC_ADD(uncached_bytes, niov && !r->paged ? r->op.len : 0);
                fuse_reply_iov(r->req, iov, niov);
        }
        wfile_unref(r->f);
        reader_unref(r->reader);
        handle_unref(r->m, r->h);
        free(r);
}

static void read_done(struct read_op *op, int err, const struct iovec *iov, int niov)
{
        struct read_request *r = (struct read_request *)op;
        if (err != -ESTALE || !read_begin(r, err))
                read_reply(r, err, iov, niov);
}

/* Reads from there; false, with nothing done, when that gave `stale`. */
static bool read_from(struct read_request *r, int err, struct wfile *f, struct reader *reader,
                      int stale)
{
        struct reader *was = r->reader;
        struct wfile *had = r->f;

        bool same = stale && (err || (f == had && reader == was));
        if (!same) {
                r->f = f;
                r->reader = reader;
                r->op.len = r->size;
        }
        wfile_unref(same ? f : had);
        reader_unref(same ? reader : was);
        if (same)
                return false;
        if (err)
                read_reply(r, err, NULL, 0);
        else if (f)
                wfile_read(f, &r->op);
        else
                reader_read(reader, &r->op);
        return true;
}

static void read_granted(struct waiter *w)
{
        struct read_request *r = CONTAINER_OF(w, struct read_request, lock.waiter);
        struct reader *reader = NULL;
        struct wfile *f = NULL;

        int err = op_source(r->m, r->h, &f, &reader);
        name_lock_drop(&r->lock);
        if (!read_from(r, err, f, reader, r->stale))
                read_reply(r, r->stale, NULL, 0);
}

/* Reads where the handle reads now; `stale` is 0, or what came of a read elsewhere, since the
 * version there has given way to one that is written here. Returns false, with nothing done, when
 * it is still the same place. */
static bool read_begin(struct read_request *r, int stale)
{
        struct reader *reader = NULL;
        struct wfile *f = NULL;

        int err = op_source(r->m, r->h, &f, &reader);
        if (err != -EAGAIN)
                return read_from(r, err, f, reader, stale);
        r->stale = stale;
        r->lock = (struct name_lock){.shared = {r->h->node}, .waiter.ready = read_granted};
        name_lock_take(r->m, &r->lock);
        return true;
}

void op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
{
        struct read_request *r = malloc(sizeof *r);
        (void)ino;

        if (!r) {
                fuse_reply_err(req, ENOMEM);
                return;
        }
        *r = (struct read_request){
                .op = {.off = (uint64_t)off, .done = read_done},
                .req = req,
                .m = op_mount(req),
                .h = handle_ref(op_handle(fi)),
                .size = size,
                .paged = !fi->lock_owner,
        };
        /* With O_DIRECT the program says that it wants the bytes of no cache. */
        r->op.cacheable = !r->paged && !(fi->flags & O_DIRECT) && read_cache_stays(r->h);
        read_cache_note(r->m, r->h, (uint64_t)off, size, r->paged);
        (void)read_begin(r, 0);
}

/* --- write --- */

/* A few bytes in a buffer of their own take much more memory than they are. */
enum { FEW_BYTES = 64 << 10 };

/* A write whose reply waits: for memory, or, with its bytes in `buf`, for a commit to end. One of a
 * few bytes waits for memory with a copy of them, before it takes any. */
struct write_request {
        struct waiter waiter; /* for memory, or for the commit */
        fuse_req_t req;
        struct request *request;
        struct mount *m;
        struct handle *h; /* a reference each */
        struct wfile *file;
        struct pool_buf *buf;
        const void *p;
        size_t n;
        uint64_t pos;
        bool append;
        bool waited; /* for memory */
        bool mapped;
        bool synced; /* the reply waits until the bytes are published */
        unsigned char few[];
};

static void memory_free(struct waiter *waiter)
{
        struct write_request *w = CONTAINER_OF(waiter, struct write_request, waiter);
        fuse_reply_write(w->req, w->n);
        free(w);
}

/* Whether the kernel, which syncs what goes through its page cache, leaves it to us. */
static bool is_synced(const struct handle *h, const struct fuse_file_info *fi)
{
        return h->direct && fi->flags & O_DSYNC && !fi->writepage;
}

/* Replies to a write that was taken: at once, or when memory is below its mark again. */
static void reply_taken(fuse_req_t req, struct mount *m, size_t n, bool waited)
{
        if (!waited && pool_busy(m->pool)) {
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

/* A program that writes is told, and may go on; a page of a mapping is gone with the reply. */
static void reply_refused(fuse_req_t req, struct handle *h, struct wfile *f, bool mapped, int err)
{
        if (mapped)
                wfile_lost(f, &h->user, err);
        if (!wfile_dirty(f))
                attr_sync_untouch(op_mount(req), h->node);
        fuse_reply_err(req, -err);
}

/* What wfile_write() did. A page of a mapping is written whole: nobody would write the rest. */
static ssize_t done_of(ssize_t done, size_t n, bool mapped)
{
        return mapped && done >= 0 && (size_t)done < n ? -ENOMEM : done;
}

static void end_deferred(const struct write_request *w, ssize_t result)
{
        ssize_t done = done_of(result, w->n, w->mapped);

        if (done < 0) {
                reply_refused(w->req, w->h, w->file, w->mapped, (int)done);
                return;
        }
        if (w->mapped)
                wfile_note_mapped(w->file);
        else
                handle_wrote(w->m, w->h, fuse_req_ctx(w->req)->pid);
        METRIC_ADD(written_bytes, (uint64_t)done);
        if (w->synced)
                op_sync_file(w->req, w->h, w->file, (size_t)done);
        else
                reply_taken(w->req, w->m, (size_t)done, w->waited);
}

static void write_request_free(struct write_request *w)
{
        pool_unref(w->buf);
        wfile_unref(w->file);
        handle_unref(w->m, w->h);
        free(w);
}

/* Writes, or waits for the commit under way: then the bytes stay in the request's own buffer. Those
 * of a process that is gone are not written over what came after it. */
static void write_or_defer(struct waiter *waiter)
{
        struct write_request *w = CONTAINER_OF(waiter, struct write_request, waiter);

        for (;;) {
                ssize_t done = -EINTR;
                if (request_hold(w->m, w->request)) {
                        done = wfile_write(w->file, &w->h->user, w->append, w->pos, w->p, w->n,
                                           w->buf);
                        request_let(w->m, w->request);
                }
                if (done != -EAGAIN) {
                        end_deferred(w, done);
                        break;
                }
                if (wfile_defer(w->file, waiter))
                        return;
        }
        write_request_free(w);
}

/* Where the file ends now is known here; pages of a mapping have their place. */
static bool is_append(const struct fuse_file_info *fi)
{
        return fi->flags & O_APPEND && !fi->writepage;
}

/* A write that will be made later; with room for its bytes when they are few. NULL: no memory. */
static struct write_request *write_request_new(fuse_req_t req, struct mount *m, struct handle *h,
                                               const struct fuse_buf *b, off_t off,
                                               const struct fuse_file_info *fi, size_t room)
{
        struct write_request *w = malloc(sizeof *w + room);
        if (!w)
                return NULL;
        *w = (struct write_request){
                .waiter.ready = write_or_defer,
                .req = req,
                .request = request_now(),
                .m = m,
                .h = handle_ref(h),
                .file = wfile_ref(h->file),
                .p = b->mem,
                .n = b->size,
                .pos = (uint64_t)off,
                .append = is_append(fi),
                .mapped = fi->writepage,
                .synced = is_synced(h, fi),
        };
        return w;
}

/* Whether the write waits for memory first. */
static bool waits_with_few(fuse_req_t req, struct mount *m, struct handle *h,
                           const struct fuse_buf *b, off_t off, const struct fuse_file_info *fi)
{
        struct write_request *w;

        if (b->size > FEW_BYTES || !pool_busy(m->pool) ||
            !(w = write_request_new(req, m, h, b, off, fi, b->size)))
                return false;
        w->waited = true;
        w->p = w->few;
        memcpy(w->few, b->mem, b->size);
        METRIC_ADD(pool_waits, 1);
        if (pool_wait(m->pool, &w->waiter))
                return true;
        write_request_free(w);
        return false;
}

static void defer_write(fuse_req_t req, struct mount *m, struct handle *h, const struct fuse_buf *b,
                        off_t off, const struct fuse_file_info *fi)
{
        struct write_request *w = write_request_new(req, m, h, b, off, fi, 0);
        if (!w) {
                reply_refused(req, h, h->file, fi->writepage, -ENOMEM);
                return;
        }
        w->buf = pool_ref(received);
        write_or_defer(&w->waiter);
}

void op_write_buf(fuse_req_t req, fuse_ino_t ino, struct fuse_bufvec *in, off_t off,
                  struct fuse_file_info *fi)
{
        struct mount *m = op_mount(req);
        const struct fuse_buf *b = &in->buf[0]; /* one piece of memory: splice is off */
        struct handle *h = op_handle(fi);
        (void)ino;

        if (!h->file) {
                fuse_reply_err(req, EBADF);
                return;
        }
        if (fi->writepage)
                fd_owners_mapped(h->fd_owners);
        attr_sync_touch(m, h->node, fuse_req_ctx(req)->uid);
        if (waits_with_few(req, m, h, b, off, fi))
                return;
        ssize_t done = wfile_write(h->file, &h->user, is_append(fi), (uint64_t)off, b->mem, b->size,
                                   received);
        done = done_of(done, b->size, fi->writepage);
        if (done == -EAGAIN) {
                defer_write(req, m, h, b, off, fi);
        } else if (done < 0) {
                reply_refused(req, h, h->file, fi->writepage, (int)done);
        } else {
                if (fi->writepage)
                        wfile_note_mapped(h->file);
                else
                        fd_owners_wrote(h->fd_owners, fuse_req_ctx(req)->pid);
                METRIC_ADD(written_bytes, (uint64_t)done);
                if (is_synced(h, fi))
                        op_sync_file(req, h, h->file, (size_t)done);
                else
                        reply_taken(req, m, (size_t)done, false);
        }
}
