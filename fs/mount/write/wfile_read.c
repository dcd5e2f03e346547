/* SPDX-License-Identifier: Apache-2.0 */
/* wfile_read.c: reads of a file that is being written: what was written, over the version it began
 * with, over zeros. See wfile.h. */
#include "base/mutex.h"
#include "mount/write/wfile_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/container_of.h"
#include "base/grow.h"

#include "base/banned.h"

/* A read whose bytes come from the base, and maybe some from here: these are copied at once, so
 * that a commit that ends meanwhile changes nothing. */
struct mixed {
        struct read_op base; /* of the bytes between `from` and the end of what the base has */
        struct read_op *op;
        struct wfile *file;
        struct reader *reader; /* of the base */
        struct waiter again;
        unsigned char *bytes; /* NULL: all of it is the base's */
        size_t len;
        uint64_t from;
        struct part_body *later; /* what lies in the spill: read without the lock */
        size_t n, max;
        struct plan_run *runs; /* the base's */
};

static void mixed_free(struct mixed *x)
{
        if (!x)
                return;
        reader_unref(x->reader);
        wfile_unref(x->file);
        part_body_free(x->later);
        free(x->bytes);
        free(x->runs);
        free(x);
}

static void mixed_end(struct mixed *x, int err)
{
        struct iovec iov = {x->bytes, x->len};
        read_op_end(x->op, err, err ? NULL : &iov, err ? 0 : 1);
        mixed_free(x);
}

/* Copies what of the base's bytes falls into [from, to). */
static void take(struct mixed *x, uint64_t from, const unsigned char *p, size_t n)
{
        for (size_t i = 0; i < x->n; i++) {
                uint64_t lo = x->runs[i].from > from ? x->runs[i].from : from;
                uint64_t hi = x->runs[i].to < from + n ? x->runs[i].to : from + n;
                if (lo < hi)
                        memcpy(x->bytes + (lo - x->op->off), p + (lo - from), (size_t)(hi - lo));
        }
}

static void read_again(struct waiter *w)
{
        struct mixed *x = CONTAINER_OF(w, struct mixed, again);
        wfile_read(x->file, x->op);
        mixed_free(x);
}

/* The version that was read is not at the store any more. When it may be giving way to one that is
 * published here, that is waited for; when it has, the same bytes are read from that. */
static bool is_read_again(struct mixed *x)
{
        struct wfile *f = x->file;

        x->again.ready = read_again;
        if (wfile_defer(f, &x->again))
                return true;
        mutex_lock(&f->mtx);
        bool renewed = f->locked.reader != x->reader, copied = f->locked.origin.key;
        mutex_unlock(&f->mtx);
        if (renewed)
                read_again(&x->again);
        else if (!copied)
                f->env->gone(f->env->owner, f->who, -ESTALE);
        return renewed;
}

static void base_read(struct read_op *op, int err, const struct iovec *iov, int niov)
{
        struct mixed *x = (struct mixed *)op;

        if (err == -ESTALE && is_read_again(x))
                return;
        if (!x->bytes) {
                read_op_end(x->op, err, iov, niov);
                mixed_free(x);
                return;
        }
        uint64_t at = x->from, want = x->runs[x->n - 1].to;
        for (int i = 0; !err && i < niov; i++) {
                take(x, at, iov[i].iov_base, iov[i].iov_len);
                at += iov[i].iov_len;
        }
        if (!err && at < want)
                err = -EIO;
        mixed_end(x, err);
}

static int add_gap(struct mixed *x, uint64_t from, uint64_t to)
{
        if (GROW(x->runs, x->n, x->max, 8))
                return -ENOMEM;
        x->runs[x->n++] = (struct plan_run){from, to};
        return 0;
}

/* Bytes [from, to) were not written. */
static int note_gap_locked(struct wfile *f, struct mixed *x, uint64_t from, uint64_t to)
        REQUIRES(&f->mtx)
{
        if (from >= to)
                return 0;
        if (to > f->locked.discarded || upload_parts_lack(&f->locked.parts, from, to))
                return -EBUSY;
        uint64_t good = wfile_base_locked(f)->len < to ? wfile_base_locked(f)->len : to;
        return from < good ? add_gap(x, from, good) : 0;
}

static int gather_locked(struct wfile *f, struct mixed *x, uint64_t off, uint64_t end)
        REQUIRES(&f->mtx)
{
        uint64_t at = off, from, to;
        int err = 0;

        while (!err && at < end && extent_map_run(&f->locked.data, at, &from, &to) && from < end) {
                from = from > at ? from : at;
                to = to < end ? to : end;
                err = note_gap_locked(f, x, at, from);
                if (!err)
                        err = extent_map_get(&f->locked.data, from, x->bytes + (from - off),
                                             (size_t)(to - from), x->later);
                at = to;
        }
        return err ? err : note_gap_locked(f, x, at, end);
}

void wfile_note_moving_locked(struct wfile *f) REQUIRES(&f->mtx)
{
        if (f->locked.pauses && !f->locked.moving)
                f->locked.moving = reader_moving(f->locked.reader);
}

void wfile_drop_reader_locked(struct wfile *f, struct outcome *out) REQUIRES(&f->mtx)
{
        if (!f->locked.reader)
                return;
        out->reader = TAKE_PTR(f->locked.reader);
        if (f->locked.moving)
                out->moved = TAKE_PTR(f->locked.moving);
}

static int base_reader_locked(struct wfile *f, struct mixed *x) REQUIRES(&f->mtx)
{
        if (!f->locked.reader) {
                f->locked.reader = reader_new(f->env->reader, wfile_base_key_locked(f),
                                              &wfile_base_locked(f)->object);
                if (!f->locked.reader)
                        return -ENOMEM;
                reader_open(f->locked.reader);
                wfile_note_moving_locked(f);
        }
        x->file = wfile_ref(f);
        x->reader = reader_ref(f->locked.reader);
        x->base.done = base_read;
        return 0;
}

/* Whether all of it is the base's. */
static bool is_plain_locked(const struct wfile *f, uint64_t off, uint64_t end) REQUIRES(&f->mtx)
{
        uint64_t from, to;
        return end <= wfile_base_locked(f)->len && end <= f->locked.discarded &&
               !upload_parts_lack(&f->locked.parts, off, end) &&
               !(extent_map_run(&f->locked.data, off, &from, &to) && from < end);
}

void wfile_cut_begin(struct wfile *f)
{
        mutex_lock(&f->mtx);
        f->locked.cuts++;
        mutex_unlock(&f->mtx);
}

void wfile_cut_end(struct wfile *f)
{
        struct waiters uncut = {0};

        mutex_lock(&f->mtx);
        if (!--f->locked.cuts)
                waiters_move(&uncut, &f->locked.uncut);
        mutex_unlock(&f->mtx);
        waiters_run(&uncut, 0);
}

/* Returns whether the read waits. */
static bool waits_for_cut_locked(struct wfile *f, struct mixed *x, struct read_op *op)
        REQUIRES(&f->mtx)
{
        if (!f->locked.cuts || f->locked.uncut_size || op->off + op->len <= f->locked.size)
                return false;
        x->op = op;
        x->file = wfile_ref(f);
        x->again.ready = read_again;
        waiters_add(&f->locked.uncut, &x->again);
        return true;
}

static int begin_locked(struct wfile *f, struct mixed *x) REQUIRES(&f->mtx)
{
        uint64_t off = x->op->off, end = off + x->op->len;

        x->len = x->op->len;
        x->base.off = off;
        x->base.len = x->len;
        if (end > f->locked.size || is_plain_locked(f, off, end)) /* before it was cut */
                return base_reader_locked(f, x);
        if (!(x->bytes = calloc(1, x->len)) || !(x->later = part_body_new(f->env->spill, 0, off)))
                return -ENOMEM;
        int err = gather_locked(f, x, off, end);
        if (err || !x->n)
                return err;
        x->from = x->base.off = x->runs[0].from;
        x->base.len = (size_t)(x->runs[x->n - 1].to - x->from);
        return base_reader_locked(f, x);
}

void wfile_read(struct wfile *f, struct read_op *op)
{
        struct mixed *x = calloc(1, sizeof *x);
        int err = x ? 0 : -ENOMEM;

        mutex_lock(&f->mtx);
        uint64_t uncut = f->locked.cuts ? f->locked.uncut_size : 0;
        uint64_t size = f->locked.size > uncut ? f->locked.size : uncut;
        if (x && waits_for_cut_locked(f, x, op)) {
                mutex_unlock(&f->mtx);
                return;
        }
        if (x && op->off < size) {
                if (op->len > size - op->off)
                        op->len = (size_t)(size - op->off);
                x->op = op;
                err = begin_locked(f, x);
        }
        mutex_unlock(&f->mtx);
        if (!err && x->later)
                err = part_body_fetch(x->later, x->bytes);
        if (err || op->off >= size) {
                read_op_end(op, err, NULL, 0);
                mixed_free(x);
        } else if (!x->reader) {
                mixed_end(x, 0);
        } else {
                reader_read(x->reader, &x->base);
        }
}
