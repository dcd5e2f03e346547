/* SPDX-License-Identifier: Apache-2.0 */
/* file_read.c: reads of a file that is being written: what was written, over the version it began
 * with, over zeros. See file.h. */
#include "mount/file_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#include "base/banned.h"

/* A read whose bytes come from here and from the base: those from here are copied at once, so that
 * a commit that ends meanwhile changes nothing. */
struct mixed {
        struct read_op base; /* of the bytes between `from` and the end of what the base has */
        struct read_op *op;
        unsigned char *bytes;
        size_t len;
        uint64_t from;
        size_t n, max;
        struct plan_run *gaps; /* the base's */
};

static void mixed_free(struct mixed *x)
{
        if (!x)
                return;
        free(x->bytes);
        free(x->gaps);
        free(x);
}

static void mixed_end(struct mixed *x, int err)
{
        struct iovec iov = {x->bytes, x->len};
        x->op->done(x->op, err, err ? NULL : &iov, err ? 0 : 1);
        mixed_free(x);
}

/* Copies what of the base's bytes falls into [from, to). */
static void take(struct mixed *x, uint64_t from, const unsigned char *p, size_t n)
{
        for (size_t i = 0; i < x->n; i++) {
                uint64_t lo = x->gaps[i].from > from ? x->gaps[i].from : from;
                uint64_t hi = x->gaps[i].to < from + n ? x->gaps[i].to : from + n;
                if (lo < hi)
                        memcpy(x->bytes + (lo - x->op->off), p + (lo - from), (size_t)(hi - lo));
        }
}

static void base_read(struct read_op *op, int err, const struct iovec *iov, int niov)
{
        struct mixed *x = (struct mixed *)op;
        uint64_t at = x->from, want = x->gaps[x->n - 1].to;

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
        if (x->n == x->max) {
                size_t max = x->max ? x->max * 2 : 8;
                struct plan_run *v = realloc(x->gaps, max * sizeof *v);
                if (!v)
                        return -ENOMEM;
                x->gaps = v;
                x->max = max;
        }
        x->gaps[x->n++] = (struct plan_run){from, to};
        return 0;
}

/* Bytes [from, to) were not written. */
static int note_gap_locked(struct file *f, struct mixed *x, uint64_t from, uint64_t to)
{
        if (from >= to)
                return 0;
        if (slots_lack_locked(f, from, to))
                return -EBUSY;
        uint64_t good = f->locked.base_len < to ? f->locked.base_len : to;
        return from < good ? add_gap(x, from, good) : 0;
}

static int gather_locked(struct file *f, struct mixed *x, uint64_t off, uint64_t end)
{
        uint64_t at = off, from, to;
        int err = 0;

        while (!err && at < end && extents_run(&f->locked.data, at, &from, &to) && from < end) {
                from = from > at ? from : at;
                to = to < end ? to : end;
                err = note_gap_locked(f, x, at, from);
                if (!err)
                        err = extents_get(&f->locked.data, from, x->bytes + (from - off),
                                          (size_t)(to - from));
                at = to;
        }
        return err ? err : note_gap_locked(f, x, at, end);
}

static int base_reader_locked(struct file *f, struct reader **r)
{
        if (!f->locked.reader) {
                f->locked.reader =
                        reader_new(f->env->reader, file_base_key_locked(f), file_base_locked(f));
                if (!f->locked.reader)
                        return -ENOMEM;
                reader_open(f->locked.reader);
        }
        *r = reader_ref(f->locked.reader);
        return 0;
}

/* Whether all of it is the base's. */
static bool is_plain_locked(const struct file *f, uint64_t off, uint64_t end)
{
        uint64_t from, to;
        return end <= f->locked.base_len && !slots_lack_locked(f, off, end) &&
               !(extents_run(&f->locked.data, off, &from, &to) && from < end);
}

static int begin_locked(struct file *f, struct read_op *op, struct mixed **x, struct reader **r)
{
        uint64_t end = op->off + op->len;

        if (is_plain_locked(f, op->off, end))
                return base_reader_locked(f, r);
        *x = calloc(1, sizeof **x);
        if (!*x || !((*x)->bytes = calloc(1, op->len)))
                return -ENOMEM;
        (*x)->op = op;
        (*x)->len = op->len;
        int err = gather_locked(f, *x, op->off, end);
        if (!err && (*x)->n)
                err = base_reader_locked(f, r);
        return err;
}

void file_read(struct file *f, struct read_op *op)
{
        struct mixed *x = NULL;
        struct reader *r = NULL;
        int err = 0;

        pthread_mutex_lock(&f->mtx);
        uint64_t size = f->locked.size;
        if (op->off < size) {
                if (op->len > size - op->off)
                        op->len = (size_t)(size - op->off);
                err = begin_locked(f, op, &x, &r);
        }
        pthread_mutex_unlock(&f->mtx);
        if (err || op->off >= size) {
                op->done(op, err, NULL, 0);
                mixed_free(x);
        } else if (!x) {
                reader_read(r, op);
        } else if (!r) {
                mixed_end(x, 0);
        } else {
                x->from = x->gaps[0].from;
                x->base.off = x->from;
                x->base.len = (size_t)(x->gaps[x->n - 1].to - x->from);
                x->base.done = base_read;
                reader_read(r, &x->base);
        }
        reader_unref(r);
}
