/* SPDX-License-Identifier: Apache-2.0 */
/* sample_source_write.c: a sample or a tar that is written as it is made: a file, one put, or the
 * parts of an upload, of which one is sent while the next fills. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mutex.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fdio.h"
#include "bench/scenario/dataset/sample_source_i.h"
#include "bench/core/progress.h"
#include "bench/core/signal_cleanup.h"

#include "base/banned.h"

struct sink {
        struct sample_source *place;
        char name[STORE_KEY_MAX];
        int fd;                  /* of a file */
        bool made;               /* the file, which goes when the work fails */
        struct store_upload *up; /* NULL until a second part begins */
        struct buf part[2];      /* filled and sent in turn */
        unsigned filling;
        unsigned partno;
        pthread_cond_t cond;
        struct mutex mtx;
        bool sending GUARDED_BY(&mtx); /* the part that is not being filled */
        int err GUARDED_BY(&mtx);
};

static int open_file(struct sink *s)
{
        char path[PATH_MAX];
        int err = sample_source_path(s->place, s->name, path);

        if (!err && (err = signal_came() ? -ECANCELED : 0) == 0) {
                s->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
                err = s->fd < 0 ? -errno : 0;
                s->made = !err;
        }
        return err;
}

int sink_open(struct sample_source *p, const char *name, struct sink **out)
{
        struct sink *s = calloc(1, sizeof *s);
        int err = 0;

        if (!s)
                return -ENOMEM;
        s->place = p;
        s->fd = -1;
        s->part[0] = s->part[1] = (struct buf)BUF_INIT;
        mutex_init(&s->mtx, LOCK_BENCH);
        pthread_cond_init(&s->cond, NULL);
        if (snprintf(s->name, sizeof s->name, "%s", name) >= (int)sizeof s->name)
                err = -ENAMETOOLONG;
        else if (!p->store)
                err = open_file(s);
        if (err) {
                sink_abandon(s);
                return err;
        }
        *out = s;
        return 0;
}

static void part_sent(void *arg, int err, const struct store_object *obj)
{
        struct sink *s = arg;

        (void)obj;
        mutex_lock(&s->mtx);
        if (err && !s->err)
                s->err = err;
        s->sending = false;
        pthread_cond_signal(&s->cond);
        mutex_unlock(&s->mtx);
}

static void set_sending(struct sink *s, bool sending)
{
        mutex_lock(&s->mtx);
        s->sending = sending;
        mutex_unlock(&s->mtx);
}

/* Waits until the other part's memory is free. */
static int wait_sent(struct sink *s)
{
        mutex_lock(&s->mtx);
        while (s->sending)
                mutex_wait(&s->cond, &s->mtx);
        int err = s->err;
        mutex_unlock(&s->mtx);
        return err;
}

/* Sends the part that was filled and goes on in the other. */
static int send_part(struct sink *s)
{
        struct buf *b = &s->part[s->filling];
        int err = wait_sent(s);

        if (!err && !s->up)
                err = store_upload_create_wait(s->place->store, s->name, NULL, &s->up);
        if (err)
                return err;
        const struct store_body body = store_body_mem(b->p, b->len);
        set_sending(s, true);
        err = store_upload_part(s->up, ++s->partno, &body, part_sent, s);
        if (err)
                set_sending(s, false);
        s->filling = !s->filling;
        buf_reset(&s->part[s->filling]);
        return err;
}

int sink_write(struct sink *s, const void *p, size_t n)
{
        int err = signal_came() ? -ECANCELED : 0;

        progress_add(n);
        if (!err && !s->place->store)
                return fd_write(s->fd, p, n);
        while (n && !err) {
                struct buf *b = &s->part[s->filling];
                size_t room = (size_t)s->place->part_size - b->len, some = n < room ? n : room;
                if (!some) {
                        err = send_part(s);
                        continue;
                }
                err = buf_add(b, p, some);
                p = (const char *)p + some;
                n -= some;
        }
        return err;
}

static int publish(struct sink *s)
{
        struct buf *b = &s->part[s->filling];
        struct store_object obj;

        if (!s->place->store)
                return close(TAKE_FD(s->fd)) ? -errno : 0;
        if (!s->up)
                return store_put_wait(s->place->store, s->name, b->p, b->len, NULL, NULL, &obj);
        int err = b->len ? send_part(s) : 0;
        int sent = wait_sent(s);
        err = err ? err : sent;
        return err ? err : store_upload_complete_wait(s->up, NULL, &obj);
}

static void sink_free(struct sink *s)
{
        store_upload_free(s->up);
        buf_release(&s->part[0]);
        buf_release(&s->part[1]);
        pthread_cond_destroy(&s->cond);
        mutex_destroy(&s->mtx);
        free(s);
}

int sink_close(struct sink *s)
{
        int err = publish(s);

        if (err)
                sink_abandon(s);
        else
                sink_free(s);
        return err;
}

void sink_abandon(struct sink *s)
{
        char path[PATH_MAX];

        if (!s)
                return;
        wait_sent(s);
        if (s->up)
                store_upload_abort_wait(s->up);
        if (s->fd >= 0)
                close(s->fd);
        if (s->made && !sample_source_path(s->place, s->name, path))
                unlink(path);
        sink_free(s);
}
