/* SPDX-License-Identifier: Apache-2.0 */
/* staged.c: see staged.h. */
#include "bench/scenario/suites/staged.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "bench/core/clock.h"
#include "bench/core/copies.h"
#include "bench/core/signal_cleanup.h"

#include "base/banned.h"

enum { STEP = 16 << 20 /* between two looks for a signal */ };

int staged_top(char **out, char *why, size_t nwhy)
{
        static char fallback[] = "/tmp";
        char *top = getenv("TMPDIR");
        struct stat st;

        *out = top && *top ? top : fallback;
        int err = stat(*out, &st) ? errno : S_ISDIR(st.st_mode) ? 0 : ENOTDIR;
        if (err)
                snprintf(why, nwhy, "TMPDIR=%s: %s: name a directory that is there", *out,
                         strerror(err));
        return -err;
}

int staged_start(const struct keys *k, const char *dir, struct io **out, char *why, size_t nwhy)
{
        struct keys mine = *k; /* borrows the strings */
        char *top;
        int err = staged_top(&top, why, nwhy);

        if (err)
                return err;
        mine.path = top;
        mine.direct = false;
        mine.disk_threads = 1;
        mine.block = 1ULL << 30; /* one write(2) takes all that it can */
        return io_posix.start(&mine, "disk", dir, 0, out, why, nwhy);
}

void staged_stop(struct io *staging)
{
        if (staging)
                io_posix.stop(staging, true);
}

struct staged {
        const struct timed *t;
        struct io *staging;
        const char *name;
        struct payload *p;
        timed_fail_fn *fail;
        void *arg;
};

/* What torch.save() to a BytesIO makes, in memory that is new each time. */
static int serialise(const struct io_data *d, char **out)
{
        char *to = mmap(NULL, d->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        int err = 0;

        if (to == MAP_FAILED)
                return -errno;
        for (uint64_t off = 0; off < d->size && !err; off += STEP) {
                size_t n = d->size - off < STEP ? (size_t)(d->size - off) : STEP;
                if (signal_came())
                        err = -ECANCELED;
                else if (d->mem)
                        copies_host(to + off, d->mem + off, n);
                else
                        err = d->fill(d->arg, off, to + off, n);
        }
        if (err)
                munmap(to, d->size);
        else
                *out = to;
        return err;
}

static int write_temporary(const struct staged *s, const struct io_data *d, struct sample *out,
                           uint64_t *mark)
{
        struct io_file *f;
        int err = io_posix.create(s->staging, s->name, d->size, &f);

        if (err)
                return err;
        err = io_posix.write(f, d);
        out->transfer = clock_lap(mark);
        if (err)
                io_posix.abandon(f);
        return err ? err : io_posix.close(f);
}

static int work(void *arg, struct sample *out)
{
        const struct staged *s = arg;
        struct io *io = s->t->io;
        struct io_data d = {.size = s->p->data.size};
        uint64_t mark = clock_ns(), begin = mark;

        out->bytes = d.size;
        int err = serialise(&s->p->data, &d.mem);
        out->open = clock_lap(&mark);
        if (err) {
                io_fail(io, err, s->name);
        } else {
                err = write_temporary(s, &d, out, &mark);
                if (err)
                        snprintf(io->why, sizeof io->why, "%s", s->staging->why);
                munmap(d.mem, d.size);
        }
        if (!err)
                err = io_posix_move(s->staging, io, s->name, s->t->sync);
        out->close = clock_lap(&mark);
        out->total = clock_s(mark - begin);
        if (err)
                s->fail(s->arg, "save", err);
        return err;
}

int staged_save(const struct timed *t, struct io *staging, const char *name, struct payload *p,
                struct sample *out, timed_fail_fn *fail, void *arg)
{
        struct staged s = {t, staging, name, p, fail, arg};
        char what[PATH_MAX];
        snprintf(what, sizeof what, "save of %s", name);
        return timed_work(t, what, work, &s, out);
}
