/* SPDX-License-Identifier: Apache-2.0 */
/* sample_source_read.c: a sample as a stream of blocks, of an object by ranges, of a file by
 * pread(). */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mutex.h"
#include "base/cleanup.h"
#include "bench/scenario/dataset/sample_source_i.h"
#include "bench/core/progress.h"
#include "bench/core/signal_cleanup.h"

#include "base/banned.h"

enum { NSLOTS = 2 };

/* A block: asked for, on its way, there. */
struct slot {
        struct stream *s;
        char *buf;
        size_t room;
        size_t len; /* bytes it is to have */
        bool busy;  /* under stream.mtx: its request is under way */
};

struct stream {
        struct sample_source *place;
        struct stream_how how;
        char name[STORE_KEY_MAX];
        int fd;
        uint64_t size, asked, given; /* bytes of the object; requested, handed out so far */
        struct slot slot[NSLOTS];
        unsigned next; /* slot that is handed out next */
        pthread_cond_t cond;
        struct mutex mtx; /* guards slot.busy, too */
        int err GUARDED_BY(&mtx);
        char etag[STORE_ETAG_MAX] GUARDED_BY(&mtx); /* of the version being read */
};

int stream_new(struct sample_source *p, const struct stream_how *how, struct stream **out)
{
        struct stream *s = calloc(1, sizeof *s);

        if (!s)
                return -ENOMEM;
        s->place = p;
        s->how = *how;
        s->fd = -1;
        mutex_init(&s->mtx, LOCK_BENCH);
        pthread_cond_init(&s->cond, NULL);
        for (unsigned i = 0; i < NSLOTS; i++)
                s->slot[i].s = s;
        *out = s;
        return 0;
}

static int got_data(void *arg, uint64_t at, const void *p, size_t n)
{
        struct slot *sl = arg;

        if (signal_came())
                return -ECANCELED;
        if (at + n > sl->len)
                return -EMSGSIZE;
        memcpy(sl->buf + at, p, n);
        return 0;
}

/* Whether what came is of the version that the stream began with. */
static int check_version_locked(struct stream *s, const char *etag) REQUIRES(&s->mtx)
{
        if (!*s->etag)
                snprintf(s->etag, sizeof s->etag, "%s", etag);
        return strcmp(s->etag, etag) ? -ESTALE : 0;
}

static void got_all(void *arg, int err, const struct store_got *got)
{
        struct slot *sl = arg;
        struct stream *s = sl->s;

        mutex_lock(&s->mtx);
        if (!err)
                err = got->bytes == sl->len ? check_version_locked(s, got->obj.etag) : -ESTALE;
        if (err && !s->err)
                s->err = err;
        sl->busy = false;
        pthread_cond_signal(&s->cond);
        mutex_unlock(&s->mtx);
}

/* Memory for a block of `len` bytes. */
static int make_room(struct slot *sl, size_t len)
{
        if (sl->room < len) {
                char *p = realloc(sl->buf, len);
                if (!p)
                        return -ENOMEM;
                sl->buf = p;
                sl->room = len;
        }
        sl->len = len;
        return 0;
}

static int ask_store(struct stream *s, struct slot *sl)
{
        const struct store_get get = {
                .key = s->name,
                .off = s->asked,
                .len = sl->len,
                .data = got_data,
                .done = got_all,
                .arg = sl,
        };
        sl->busy = true; /* nothing is under way of this slot, so nobody looks */
        int err = store_get(s->place->store, &get);
        if (err)
                sl->busy = false;
        return err;
}

static int read_file(struct stream *s, struct slot *sl)
{
        size_t have = 0;

        while (have < sl->len) {
                ssize_t got =
                        pread(s->fd, sl->buf + have, sl->len - have, (off_t)(s->asked + have));
                if (got < 0 && errno == EINTR)
                        continue;
                if (got <= 0)
                        return got ? -errno : -ESTALE;
                have += (size_t)got;
        }
        return signal_came() ? -ECANCELED : 0;
}

/* Asks for the next block of the object, if there is one, in its slot. */
static int ask(struct stream *s, unsigned slot)
{
        struct slot *sl = &s->slot[slot];
        uint64_t left = s->size - s->asked;

        if (!left)
                return 0;
        int err = make_room(sl, left < s->how.block ? (size_t)left : s->how.block);
        if (!err)
                err = s->place->store ? ask_store(s, sl) : read_file(s, sl);
        if (!err)
                s->asked += sl->len;
        return err;
}

int stream_begin(struct stream *s, const char *name, uint64_t size)
{
        char path[PATH_MAX];
        int err = 0;

        s->size = size;
        s->asked = s->given = 0;
        s->next = 0;
        mutex_unshared(&s->mtx); /* nothing is under way */
        s->err = 0;
        *s->etag = 0;
        if (snprintf(s->name, sizeof s->name, "%s", name) >= (int)sizeof s->name)
                return -ENAMETOOLONG;
        if (!s->place->store) {
                err = sample_source_path(s->place, name, path);
                s->fd = err ? -1 : open(path, O_RDONLY | O_CLOEXEC);
                if (!err && s->fd < 0)
                        err = -errno;
                if (!err) /* a hint: what does not take it is read all the same */
                        (void)posix_fadvise(s->fd, 0, 0,
                                            s->how.ahead ? POSIX_FADV_SEQUENTIAL
                                                         : POSIX_FADV_RANDOM);
        }
        return err ? err : ask(s, 0);
}

int stream_next(struct stream *s, const void **p, size_t *n)
{
        int err = 0;

        *n = 0;
        if (s->given == s->size)
                return 0;
        if (s->given == s->asked)
                err = ask(s, s->next);
        struct slot *sl = &s->slot[s->next];
        /* ahead: the other slot's block was handed out by the call before, so it is free now */
        if (!err && s->how.ahead && s->place->store)
                err = ask(s, (s->next + 1) % NSLOTS);
        mutex_lock(&s->mtx);
        while (sl->busy)
                mutex_wait(&s->cond, &s->mtx);
        err = err ? err : s->err;
        mutex_unlock(&s->mtx);
        if (err)
                return err;
        *p = sl->buf;
        *n = sl->len;
        s->given += sl->len;
        progress_add(sl->len);
        s->next = (s->next + 1) % NSLOTS;
        return 0;
}

void stream_end(struct stream *s)
{
        mutex_lock(&s->mtx);
        for (unsigned i = 0; i < NSLOTS; i++)
                while (s->slot[i].busy)
                        mutex_wait(&s->cond, &s->mtx);
        mutex_unlock(&s->mtx);
        if (s->fd >= 0)
                close(TAKE_FD(s->fd));
}

void stream_free(struct stream *s)
{
        if (!s)
                return;
        stream_end(s);
        for (unsigned i = 0; i < NSLOTS; i++)
                free(s->slot[i].buf);
        pthread_cond_destroy(&s->cond);
        mutex_destroy(&s->mtx);
        free(s);
}
