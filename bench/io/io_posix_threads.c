/* SPDX-License-Identifier: Apache-2.0 */
/* io_posix_threads.c: a file whose blocks several threads move at once, each the next one that
 * nobody has taken yet. What O_DIRECT cannot move, such as the end of a file, goes by a second
 * descriptor, since the flag of the first is everybody's. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mutex.h"
#include "bench/core/progress.h"
#include "bench/core/signal_cleanup.h"
#include "bench/io/io_posix_int.h"

#include "base/banned.h"

struct work {
        const struct posix_work *how;
        const struct io_data *d;
        bool load;
        int buffered; /* the file without O_DIRECT; -1: `how->fd` is */
        struct mutex mtx;
        struct io_step step GUARDED_BY(&mtx);
        bool over GUARDED_BY(&mtx);
        int err GUARDED_BY(&mtx); /* the first of any thread */
};

struct mover {
        struct work *w;
        size_t index;
        pthread_t thread;
};

/* The next block. False: there is none, or somebody failed. */
static bool take_block(struct work *w, struct io_step *out)
{
        mutex_lock(&w->mtx);
        if (!w->over && !w->err && signal_came())
                w->err = -ECANCELED;
        w->over = w->over || w->err || !io_next(w->d, w->how->block, &w->step);
        *out = w->step;
        bool any = !w->over;
        mutex_unlock(&w->mtx);
        return any;
}

static int save_block(const struct work *w, const struct io_step *s, char *block)
{
        const struct io_data *d = w->d;
        bool direct = w->buffered >= 0 && s->len % IO_ALIGN == 0 && io_posix_aligned(s, block);
        int err = d->mem ? 0 : d->fill(d->arg, s->off, block, (size_t)s->len);

        for (uint64_t done = 0; done < s->len && !err;) {
                ssize_t put =
                        pwrite(direct || w->buffered < 0 ? w->how->fd : w->buffered, block + done,
                               (size_t)(s->len - done), (off_t)(s->from + done));
                if (put > 0)
                        done += (uint64_t)put;
                else if (!put || errno != EINTR)
                        err = put ? -errno : -EIO;
                direct = direct && done % IO_ALIGN == 0;
        }
        return err;
}

static int load_block(const struct work *w, const struct io_step *s, char *block)
{
        const struct io_data *d = w->d;
        bool direct = w->buffered >= 0 && io_posix_fits_direct(d, s, block);
        int fd = direct || w->buffered < 0 ? w->how->fd : w->buffered;
        int err = io_posix_read_block(fd, block, (size_t)s->len, s->from, direct);

        return err || d->mem || !d->check ? err : d->check(d->arg, s->off, block, (size_t)s->len);
}

static void *move_blocks(void *arg)
{
        const struct mover *m = arg;
        struct work *w = m->w;
        struct io_step s;

        while (take_block(w, &s)) {
                char *block =
                        w->d->mem ? w->d->mem + s.off : bounce_block(w->how->bounce, m->index);
                int err = !block    ? -ENOMEM
                          : w->load ? load_block(w, &s, block)
                                    : save_block(w, &s, block);
                if (!err) {
                        progress_add(s.len);
                        continue;
                }
                mutex_lock(&w->mtx);
                w->err = w->err ? w->err : err;
                mutex_unlock(&w->mtx);
        }
        return NULL;
}

/* The same file without the flag. */
static int open_buffered(const struct posix_work *how, bool load)
{
        int fd = open(how->path, (load ? O_RDONLY : O_WRONLY) | O_CLOEXEC);
        return fd < 0 ? -errno : fd;
}

int io_posix_threads(const struct posix_work *how, const struct io_data *d, bool load)
{
        struct work w = {.how = how, .d = d, .load = load, .buffered = -1};
        const uint64_t blocks = d->size / how->block + d->nranges + 1; /* at most */
        const size_t threads = how->threads < blocks ? how->threads : (size_t)blocks;
        CLEANUP(freep) struct mover *v = calloc(threads, sizeof *v);
        CLEANUP(closep) int buffered = how->direct ? open_buffered(how, load) : -1;
        size_t running = 0;

        if (!v)
                return -ENOMEM;
        if (how->direct && buffered < 0)
                return buffered;
        w.buffered = buffered;
        mutex_init(&w.mtx, LOCK_BENCH);
        /* this thread is one of them */
        for (; running + 1 < threads; running++) {
                v[running] = (struct mover){.w = &w, .index = running + 1};
                if (pthread_create(&v[running].thread, NULL, move_blocks, &v[running]))
                        break;
        }
        struct mover own = {.w = &w};
        move_blocks(&own);
        while (running)
                pthread_join(v[--running].thread, NULL);
        mutex_unshared(&w.mtx);
        mutex_destroy(&w.mtx);
        if (buffered >= 0 && close(TAKE_FD(buffered)) && !w.err && !load)
                w.err = -errno; /* some file systems write then, and tell it nowhere else */
        return w.err;
}
