/* SPDX-License-Identifier: Apache-2.0 */
/* io_null.c: moves nothing, after a delay. It shows what measuring costs, and, with one rank that
 * waits longer, that the statistics find it. Copies tell that cost from a copy's: as many more take
 * so much longer. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/core/clock.h"
#include "bench/core/copies.h"
#include "bench/core/dev.h"
#include "bench/core/io.h"
#include "bench/core/progress.h"
#include "bench/core/signal_cleanup.h"

#include "base/banned.h"

enum { SLOW_FACTOR = 10 };

struct null_io {
        struct io io;
        uint64_t delay_ns;
        uint64_t copies;
        size_t block;
        char *to; /* a block, where there are copies */
        struct io_file file;
};

static int null_wait(struct io *io)
{
        const struct null_io *n = (const struct null_io *)io;
        uint64_t end = clock_ns() + n->delay_ns, now;

        while (n->delay_ns && (now = clock_ns()) < end) {
                if (signal_came())
                        return io_fail(io, -ECANCELED, "null");
                clock_sleep_ns(end - now < 50000000 ? end - now : 50000000);
        }
        return 0;
}

static int null_start(const struct keys *k, const char *storage, const char *dir, unsigned rank,
                      struct io **out, char *why, size_t nwhy)
{
        (void)storage;
        (void)dir;
        struct null_io *n = io_new(&io_null, sizeof *n, rank, why, nwhy);
        if (!n)
                return -ENOMEM;
        n->file.io = &n->io;
        n->delay_ns = k->null_delay_us * 1000;
        n->copies = k->null_copies;
        n->block = (size_t)k->block;
        n->to = n->copies ? dev_buffer(n->block) : NULL;
        if (n->copies && !n->to) {
                free(n);
                snprintf(why, nwhy, "out of memory: give block= a smaller size");
                return -ENOMEM;
        }
        if (rank == k->null_slow_rank)
                n->delay_ns *= SLOW_FACTOR;
        *out = &n->io;
        return 0;
}

static void null_stop(struct io *io, bool clean)
{
        struct null_io *n = (struct null_io *)io;
        (void)clean;
        if (n)
                dev_buffer_free(n->to, n->block);
        free(n);
}

static int null_open(struct io *io, const char *name, struct io_file **out)
{
        (void)name;
        *out = &((struct null_io *)io)->file;
        return null_wait(io);
}

static int null_create(struct io *io, const char *name, uint64_t size, struct io_file **out)
{
        (void)size;
        return null_open(io, name, out);
}

/* Copies all bytes once, a block at a time. Those that are not held are made. */
static int copy_once(struct null_io *n, const struct io_data *d, bool load)
{
        int err = 0;
        for (uint64_t off = 0; off < d->size && !err; off += n->block) {
                size_t len = d->size - off < n->block ? (size_t)(d->size - off) : n->block;
                if (d->mem && load)
                        copies_host(d->mem + off, n->to, len);
                else if (d->mem)
                        copies_host(n->to, d->mem + off, len);
                else if (!load)
                        err = d->fill(d->arg, off, n->to, len);
                __asm__ volatile("" : : "r"(n->to) : "memory"); /* the copy is wanted */
                if (!err && signal_came())
                        err = -ECANCELED;
        }
        return err;
}

static int move(struct io_file *f, const struct io_data *d, bool load)
{
        struct null_io *n = (struct null_io *)f->io;
        int err = 0;
        for (uint64_t i = 0; i < n->copies && !err; i++)
                err = copy_once(n, d, load);
        if (err)
                return io_fail(f->io, err, "null");
        err = null_wait(f->io);
        progress_add(d->size);
        return err;
}

static int null_write(struct io_file *f, const struct io_data *d)
{
        return move(f, d, false);
}

static int null_read(struct io_file *f, const struct io_data *d)
{
        return move(f, d, true);
}

static int null_wait_file(struct io_file *f)
{
        return null_wait(f->io);
}

static void null_abandon(struct io_file *f)
{
        (void)f;
}

static int null_name(struct io *io, const char *name)
{
        (void)io;
        (void)name;
        return 0;
}

static int null_size(struct io *io, const char *name, uint64_t *out)
{
        *out = 0;
        return io_fail(io, -ENOENT, name); /* it keeps nothing */
}

const struct io_ops io_null = {
        .name = "null",
        .flags = IO_EMPTY,
        .start = null_start,
        .stop = null_stop,
        .create = null_create,
        .write = null_write,
        .sync = null_wait_file,
        .open = null_open,
        .read = null_read,
        .close = null_wait_file,
        .abandon = null_abandon,
        .forget = null_name,
        .remove = null_name,
        .keep = io_keep_none,
        .keep_not = io_keep_not_none,
        .size = null_size,
        .count = io_count_none,
};
