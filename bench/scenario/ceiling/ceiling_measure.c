/* SPDX-License-Identifier: Apache-2.0 */
/* ceiling_measure.c: the measurements of ceiling.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "bench/scenario/ceiling/ceiling.h"
#include "bench/core/coll.h"
#include "bench/core/pattern.h"
#include "bench/core/signal_cleanup.h"
#include "bench/measure/timed.h"

#include "base/banned.h"

static int fail(struct ceiling *c, int err, const char *what)
{
        if (!*c->why)
                snprintf(c->why, sizeof c->why, "%.300s: %s", what, strerror(-err));
        return err;
}

static int io_failed(struct ceiling *c, int err)
{
        snprintf(c->why, sizeof c->why, "%s", c->io->why);
        return err;
}

int ceiling_memcpy(struct ceiling *c, uint64_t block, uint64_t bytes, struct figure *out)
{
        const uint64_t half = CEILING_BUF / 2;
        struct meter m;

        meter_begin(&m, 0);
        for (uint64_t off = 0; off < bytes; off += block) {
                char *from = c->buf + off % half;
                memcpy(from + half, from, block);
                __asm__ volatile("" : : "r"(from + half) : "memory"); /* the copy is wanted */
        }
        meter_end(&m, bytes, out);
        return 0;
}

/* Moves `bytes` through fd by one block of memory, as a program with one buffer does. */
static int pump(struct ceiling *c, int fd, bool write_it, uint64_t block, uint64_t bytes)
{
        for (uint64_t off = 0; off < bytes; off += block) {
                ssize_t n = write_it ? write(fd, c->buf, block) : read(fd, c->buf, block);
                if (signal_came())
                        return -ECANCELED;
                if (n != (ssize_t)block)
                        return n < 0 ? -errno : -EIO;
        }
        return 0;
}

static int fuse_move(struct ceiling *c, bool write_it, uint64_t block, uint64_t bytes,
                     struct figure *out)
{
        char path[PATH_MAX + 16];
        struct meter m;

        snprintf(path, sizeof path, "%s/%s", c->mnt, write_it ? "direct" : "paged");
        CLEANUP(closep) int fd = open(path, (write_it ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
        if (fd < 0)
                return fail(c, -errno, path);
        meter_begin(&m, c->child.pid);
        int err = pump(c, fd, write_it, block, bytes);
        meter_end(&m, bytes, out);
        posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
        return err ? fail(c, err, path) : 0;
}

int ceiling_fuse_write(struct ceiling *c, uint64_t block, uint64_t bytes, struct figure *out)
{
        return fuse_move(c, true, block, bytes, out);
}

int ceiling_fuse_read(struct ceiling *c, uint64_t block, uint64_t bytes, struct figure *out)
{
        return fuse_move(c, false, block, bytes, out);
}

/* Makes a buffer's bytes once and leaves them be afterwards: what is sent does not matter, what
 * making it costs must not be counted. */
static int fill_once(void *arg, uint64_t off, void *dst, size_t len)
{
        static const char mark[16] = "made by ckptben";
        (void)arg;
        (void)off;
        if (len < sizeof mark || !memcmp(dst, mark, sizeof mark))
                return 0;
        pattern_fill(&(struct pattern){.seed = 1}, 0, dst, len);
        memcpy(dst, mark, sizeof mark);
        return 0;
}

/* The end of a file, of which err says how it went, and of the clock. */
static int end_file(struct ceiling *c, struct io_file *f, int err, const struct meter *m,
                    uint64_t bytes, struct figure *out)
{
        if (err)
                c->io->ops->abandon(f);
        else
                err = c->io->ops->close(f);
        meter_end(m, bytes, out);
        return err ? io_failed(c, err) : 0;
}

static int save(struct ceiling *c, uint64_t bytes, struct figure *out)
{
        const struct io_ops *ops = c->io->ops;
        const struct io_data d = {.size = bytes, .fill = fill_once};
        struct io_file *f = NULL;
        struct meter m;

        meter_begin(&m, c->child.pid);
        int err = ops->create(c->io, CEILING_OBJECT, bytes, &f);
        if (!err)
                err = ops->write(f, &d);
        if (!err)
                err = ops->sync(f);
        return end_file(c, f, err, &m, bytes, out);
}

static int load(struct ceiling *c, uint64_t bytes, struct figure *out)
{
        const struct io_ops *ops = c->io->ops;
        const struct io_data d = {.size = bytes};
        struct io_file *f = NULL;
        struct meter m;

        meter_begin(&m, c->child.pid);
        int err = ops->open(c->io, CEILING_OBJECT, &f);
        if (!err)
                err = ops->read(f, &d);
        return end_file(c, f, err, &m, bytes, out);
}

int ceiling_disk_write(struct ceiling *c, uint64_t block, uint64_t bytes, struct figure *out)
{
        (void)block; /* that of the block key */
        return save(c, bytes, out);
}

static void ignore(void *arg, const char *what, int err)
{
        (void)arg;
        (void)what;
        (void)err;
}

int ceiling_disk_read(struct ceiling *c, uint64_t block, uint64_t bytes, struct figure *out)
{
        (void)block;
        struct coll one = {.ops = &coll_none, .ranks = 1, .host_ranks = 1};
        const struct timed t = {.coll = &one, .io = c->io};
        const char *done;
        int err = timed_drop(&t, CEILING_OBJECT, c->keys->drop, &done, ignore, NULL);
        c->cached |= !strcmp(done, "none");
        return err ? io_failed(c, err) : load(c, bytes, out);
}

int ceiling_http_put(struct ceiling *c, uint64_t block, uint64_t bytes, struct figure *out)
{
        (void)block;
        return save(c, bytes, out);
}

int ceiling_http_get(struct ceiling *c, uint64_t block, uint64_t bytes, struct figure *out)
{
        (void)block;
        return load(c, bytes, out);
}
