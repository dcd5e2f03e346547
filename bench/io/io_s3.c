/* SPDX-License-Identifier: Apache-2.0 */
/* io_s3.c: shards as objects, straight through libstore: parts and ranges in parallel, as many at
 * once as there are connections. Memory is what is in flight; none where the shard is held. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mutex.h"
#include "base/cleanup.h"
#include "bench/io/bucket.h"
#include "bench/core/copies.h"
#include "bench/core/dev.h"
#include "bench/core/io.h"
#include "bench/core/progress.h"
#include "bench/core/signal_cleanup.h"
#include "store.h"

#include "base/banned.h"

/* One request in flight. */
struct slot {
        struct s3_io *s;
        bool busy; /* under s3_io.mtx, as is: */
        bool full; /* a range that was collected waits for check() */
        char *buf; /* of data that is not held; made when first needed */
        size_t room;
        size_t have; /* of a range that is collected */
        struct store_body inner;
        const struct io_data *data;
        uint64_t off, len;
};

struct s3_io {
        struct io io;
        struct store *store;
        char dir[256];
        uint64_t part_size, read_size;
        struct slot *slots;
        size_t nslots;
        pthread_cond_t cond;
        struct mutex mtx;         /* guards slot.busy, too */
        int err GUARDED_BY(&mtx); /* the first of this transfer */
};

struct s3_file {
        struct io_file file;
        char key[STORE_KEY_MAX];
        uint64_t size, part_size;
        struct store_upload *up;    /* NULL: one put, or a load */
        const struct io_data *data; /* what is put at the end, when there is no upload */
        bool unpublished;           /* a save whose object is not there yet */
        struct store_object obj;    /* of a load */
};

static struct s3_io *s3_of(struct io_file *f)
{
        return (struct s3_io *)f->io;
}

/* Part or range size that keeps `size` within STORE_PART_MAX parts, in whole MiB when it grows. */
static uint64_t fit_part(uint64_t part, uint64_t size)
{
        if (size / part < STORE_PART_MAX)
                return part;
        uint64_t least = size / STORE_PART_MAX + 1;
        return (least + (1 << 20) - 1) >> 20 << 20;
}

static void slot_done(struct slot *sl, int err)
{
        struct s3_io *s = sl->s;
        mutex_lock(&s->mtx);
        if (err && !s->err)
                s->err = err;
        sl->busy = false;
        pthread_cond_signal(&s->cond);
        mutex_unlock(&s->mtx);
}

static int trouble_locked(struct s3_io *s) REQUIRES(&s->mtx)
{
        return s->err ? s->err : signal_came() ? -ECANCELED : 0;
}

/* Gives one collected range to whom it is for, in the thread that loads: others arrive meanwhile.
 * False: there was none. */
static bool hand_over_locked(struct s3_io *s) REQUIRES(&s->mtx)
{
        struct slot *sl = NULL;

        for (size_t i = 0; i < s->nslots && !sl; i++)
                if (s->slots[i].full)
                        sl = &s->slots[i];
        if (!sl)
                return false;
        int err = s->err;
        if (!err) {
                mutex_unlock(&s->mtx);
                err = sl->data->check(sl->data->arg, sl->off, sl->buf, sl->have);
                mutex_lock(&s->mtx);
        }
        s->err = s->err ? s->err : err;
        sl->full = sl->busy = false;
        return true;
}

/* Waits for a slot and takes it. 0, or why no more is to be sent. */
static int take_slot(struct s3_io *s, struct slot **out)
{
        int err;
        *out = NULL;
        mutex_lock(&s->mtx);
        while (!(err = trouble_locked(s)) && !*out) {
                while (hand_over_locked(s))
                        ;
                for (size_t i = 0; i < s->nslots && !*out; i++)
                        if (!s->slots[i].busy)
                                *out = &s->slots[i];
                if (!*out)
                        signal_nap_locked(&s->cond, &s->mtx);
        }
        if (*out)
                (*out)->busy = true;
        mutex_unlock(&s->mtx);
        return err;
}

/* Waits until nothing is in flight; the first error of the transfer. */
static int drain(struct s3_io *s, int err)
{
        mutex_lock(&s->mtx);
        for (size_t i = 0; i < s->nslots;) {
                if (!s->slots[i].busy)
                        i++;
                else if (!hand_over_locked(s))
                        signal_nap_locked(&s->cond, &s->mtx);
        }
        if (s->err)
                err = s->err;
        s->err = 0;
        mutex_unlock(&s->mtx);
        return err;
}

static void s3_stop(struct io *io, bool clean)
{
        (void)clean; /* prefixes are not made and need not be removed */
        struct s3_io *s = (struct s3_io *)io;
        if (!s)
                return;
        bucket_close(s->store);
        for (size_t i = 0; s->slots && i < s->nslots; i++)
                dev_buffer_free(s->slots[i].buf, s->slots[i].room);
        free(s->slots);
        pthread_cond_destroy(&s->cond);
        mutex_destroy(&s->mtx);
        free(s);
}

/* A buffer of `room` bytes, made when first needed. */
static int slot_room(struct slot *sl, size_t room)
{
        if (sl->room >= room)
                return 0;
        dev_buffer_free(sl->buf, sl->room);
        sl->buf = dev_buffer(room);
        sl->room = sl->buf ? room : 0;
        return sl->buf ? 0 : -ENOMEM;
}

static struct s3_io *s3_new(const struct keys *k, const char *dir, unsigned rank)
{
        struct s3_io *s = calloc(1, sizeof *s);
        struct slot *slots = calloc(k->s3_connections, sizeof *slots);

        if (!s || !slots) {
                free(s);
                free(slots);
                return NULL;
        }
        s->io.ops = &io_s3;
        s->io.rank = rank;
        s->part_size = k->s3_part_size;
        s->read_size = k->s3_read_size;
        s->nslots = k->s3_connections;
        s->slots = slots;
        for (size_t i = 0; i < s->nslots; i++)
                slots[i].s = s;
        snprintf(s->dir, sizeof s->dir, "%s", dir);
        mutex_init(&s->mtx, LOCK_BENCH);
        mutex_cond_init(&s->cond);
        return s;
}

static int s3_start(const struct keys *k, const char *storage, const char *dir, unsigned rank,
                    struct io **out, char *why, size_t nwhy)
{
        struct s3_io *s = s3_new(k, dir, rank);
        if (!s) {
                snprintf(why, nwhy, "out of memory: give s3.connections= a smaller number");
                return -ENOMEM;
        }
        int err = bucket_open(k, storage, &s->store, why, nwhy);
        if (err) {
                s3_stop(&s->io, false);
                return err;
        }
        /* pinning takes a time that no save is to pay; without memory the transfer says so */
        for (size_t i = 0; i < s->nslots && dev_get(); i++)
                if (slot_room(&s->slots[i], s->part_size))
                        break;
        *out = &s->io;
        return 0;
}

/* Files may lie at the top, with no directory between. */
static void key_of(const struct s3_io *s, const char *name, char key[STORE_KEY_MAX])
{
        snprintf(key, STORE_KEY_MAX, "%s%s%s", s->dir, *s->dir ? "/" : "", name);
}

static struct s3_file *new_file(struct io *io, const char *name)
{
        struct s3_io *s = (struct s3_io *)io;
        struct s3_file *f = calloc(1, sizeof *f);
        if (f) {
                f->file.io = io;
                key_of(s, name, f->key);
        }
        return f;
}

static int s3_create(struct io *io, const char *name, uint64_t size, struct io_file **out)
{
        struct s3_io *s = (struct s3_io *)io;
        CLEANUP(freep) struct s3_file *f = new_file(io, name);
        int err = f ? 0 : -ENOMEM;

        if (!err) {
                f->size = size;
                f->part_size = fit_part(s->part_size, size);
                if (size > f->part_size)
                        err = store_upload_create_wait(s->store, f->key, NULL, &f->up);
        }
        if (err)
                return io_fail(io, err, name);
        *out = &TAKE_PTR(f)->file;
        return 0;
}

/* The held shard's bytes, or, made into the slot's buffer, those of one that is not. */
static int bytes_of(struct slot *sl, const struct io_data *d, uint64_t off, size_t len,
                    uint64_t room, const char **out)
{
        *out = d->mem ? d->mem + off : NULL;
        if (*out)
                return 0;
        int err = slot_room(sl, room);
        if (!err)
                err = d->fill(d->arg, off, sl->buf, len);
        *out = sl->buf;
        return err;
}

/* After a signal a part ends at once, else nobody would be left to abort the upload. */
static int read_part(void *arg, uint64_t off, void *dst, size_t len)
{
        struct slot *sl = arg;
        return signal_came() ? -ECANCELED : sl->inner.read(sl->inner.arg, off, dst, len);
}

static void part_done(void *arg, int err, const struct store_object *obj)
{
        (void)obj;
        if (!err)
                progress_add(((struct slot *)arg)->inner.len);
        slot_done(arg, err);
}

static struct store_body body_of(struct slot *sl, const char *p, size_t len)
{
        struct store_body body = sl->inner = store_body_mem(p, len);
        body.read = read_part;
        body.arg = sl;
        return body;
}

static int send_part(struct s3_file *f, struct slot *sl, unsigned partno, const struct io_data *d)
{
        uint64_t off = (partno - 1) * f->part_size, left = d->size - off;
        size_t len = (size_t)(left < f->part_size ? left : f->part_size);
        const char *p;
        int err = bytes_of(sl, d, off, len, f->part_size, &p);
        if (err)
                return err;
        struct store_body body = body_of(sl, p, len);
        return store_upload_part(f->up, partno, &body, part_done, sl);
}

static int s3_write(struct io_file *file, const struct io_data *d)
{
        struct s3_io *s = s3_of(file);
        struct s3_file *f = (struct s3_file *)file;
        struct slot *sl;
        int err = 0;

        f->data = d;
        f->unpublished = true;
        if (!f->up)
                return 0; /* one request, which sync() sends */
        for (unsigned partno = 1; (partno - 1) * f->part_size < d->size && !err; partno++) {
                err = take_slot(s, &sl);
                if (err)
                        break;
                err = send_part(f, sl, partno, d);
                if (err)
                        slot_done(sl, err);
        }
        err = drain(s, err);
        return err ? io_fail(file->io, err, f->key) : 0;
}

/* One PutObject, with a slot as an upload's part has one. */
static int put_whole(struct s3_io *s, struct s3_file *f)
{
        struct slot *sl;
        int err = take_slot(s, &sl);
        if (err)
                return drain(s, err);
        const char *p;
        err = bytes_of(sl, f->data, 0, f->data->size, f->part_size, &p);
        if (!err) {
                struct store_body body = body_of(sl, p, f->data->size);
                err = store_put(s->store, f->key, &body, NULL, NULL, part_done, sl);
        }
        if (err)
                slot_done(sl, err);
        return drain(s, err);
}

static int s3_sync(struct io_file *file)
{
        struct s3_file *f = (struct s3_file *)file;
        struct store_object obj;
        int err = f->up ? store_upload_complete_wait(f->up, NULL, &obj) : put_whole(s3_of(file), f);
        f->unpublished = false;
        return err ? io_fail(file->io, err, f->key) : 0;
}

static void free_file(struct s3_file *f)
{
        store_upload_free(f->up);
        free(f);
}

static int s3_close(struct io_file *file)
{
        struct s3_file *f = (struct s3_file *)file;
        int err = f->unpublished ? s3_sync(file) : 0; /* nobody asked for a sync */
        if (err && f->up)
                store_upload_abort_wait(f->up);
        free_file(f);
        return err;
}

static void s3_abandon(struct io_file *file)
{
        struct s3_file *f = (struct s3_file *)file;
        if (!f)
                return;
        if (f->up)
                store_upload_abort_wait(f->up);
        free_file(f);
}

static int s3_open(struct io *io, const char *name, struct io_file **out)
{
        struct s3_io *s = (struct s3_io *)io;
        CLEANUP(freep) struct s3_file *f = new_file(io, name);
        int err = f ? store_head_wait(s->store, f->key, &f->obj) : -ENOMEM;
        if (err)
                return io_fail(io, err, f ? f->key : name);
        *out = &TAKE_PTR(f)->file;
        return 0;
}

static int range_data(void *arg, uint64_t at, const void *p, size_t n)
{
        struct slot *sl = arg;
        const struct io_data *d = sl->data;
        uint64_t off = sl->off + at;

        progress_add(n);
        if (signal_came())
                return -ECANCELED;
        if (off + n > d->size)
                return -EMSGSIZE;
        if (d->mem) {
                copies_host(d->mem + off, p, n);
        } else if (d->check && d->large) {
                if (at != sl->have || n > sl->room - sl->have)
                        return -EIO;
                copies_host(sl->buf + at, p, n);
                sl->have += n;
        } else if (d->check && d->check(d->arg, off, p, n)) {
                return -EBADMSG;
        }
        return 0;
}

static void range_done(void *arg, int err, const struct store_got *got)
{
        struct slot *sl = arg;

        if (!err && got->bytes != sl->len)
                err = -ENODATA;
        if (err || !sl->have) {
                slot_done(sl, err);
                return;
        }
        mutex_lock(&sl->s->mtx);
        sl->full = true;
        pthread_cond_signal(&sl->s->cond);
        mutex_unlock(&sl->s->mtx);
}

static int ask_range(struct s3_io *s, struct s3_file *f, struct slot *sl, const struct io_data *d,
                     const struct io_step *step)
{
        sl->data = d;
        sl->off = step->off;
        sl->len = step->len;
        sl->have = 0;
        int err = !d->mem && d->large ? slot_room(sl, s->read_size) : 0;
        if (err)
                return err;
        const struct store_get get = {
                .key = f->key,
                .off = step->from,
                .len = sl->len,
                .if_match = *f->obj.etag ? f->obj.etag : NULL,
                .data = range_data,
                .done = range_done,
                .arg = sl,
        };
        return store_get(s->store, &get);
}

static int s3_read(struct io_file *file, const struct io_data *d)
{
        struct s3_io *s = s3_of(file);
        struct s3_file *f = (struct s3_file *)file;
        struct io_step step = {0};
        struct slot *sl;
        int err = f->obj.size < io_reach(d) ? -ENODATA : 0;

        while (!err && io_next(d, s->read_size, &step)) {
                err = take_slot(s, &sl);
                if (err)
                        break;
                err = ask_range(s, f, sl, d, &step);
                if (err)
                        slot_done(sl, err);
        }
        err = drain(s, err);
        return err ? io_fail(file->io, err, f->key) : 0;
}

static int s3_forget(struct io *io, const char *name)
{
        (void)io;
        (void)name;
        return 0;
}

static int s3_remove(struct io *io, const char *name)
{
        struct s3_io *s = (struct s3_io *)io;
        char key[STORE_KEY_MAX];
        key_of(s, name, key);
        int err = store_delete_wait(s->store, key);
        return err ? io_fail(io, err, key) : 0;
}

static int s3_size(struct io *io, const char *name, uint64_t *out)
{
        struct s3_io *s = (struct s3_io *)io;
        struct store_object obj;
        char key[STORE_KEY_MAX];
        key_of(s, name, key);
        int err = store_head_wait(s->store, key, &obj);
        *out = err ? 0 : obj.size;
        return err ? io_fail(io, err, key) : 0;
}

static int s3_count(struct io *io, struct io_count *out, bool *host)
{
        (void)io; /* a rank may have several, for files that it moves at once */
        *out = (struct io_count){0};
        *host = false;
        bucket_count(&out->sent, &out->received);
        return 0;
}

const struct io_ops io_s3 = {
        .name = "s3",
        .start = s3_start,
        .stop = s3_stop,
        .create = s3_create,
        .write = s3_write,
        .sync = s3_sync,
        .open = s3_open,
        .read = s3_read,
        .close = s3_close,
        .abandon = s3_abandon,
        .forget = s3_forget,
        .remove = s3_remove,
        .keep = io_keep_none,
        .keep_not = io_keep_not_none,
        .size = s3_size,
        .count = s3_count,
};
