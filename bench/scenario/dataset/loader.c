/* SPDX-License-Identifier: Apache-2.0 */
/* loader.c: see loader.h. */
#include "bench/scenario/dataset/loader.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mutex.h"
#include "base/cleanup.h"
#include "base/digest.h"
#include "bench/core/clock.h"
#include "bench/core/signal_cleanup.h"
#include "bench/scenario/dataset/image_crop.h"
#include "bench/scenario/dataset/sample.h"
#include "bench/scenario/dataset/tar.h"
#include "bench/train/math/random.h"

#include "base/banned.h"

#define SAMPLE_MAX (1UL << 30) /* of one; more is no sample */

struct worker {
        struct loader *l;
        size_t index;
        pthread_t thread;
        struct stream *stream;
        struct crop *crop;      /* with labels */
        struct sample_list own; /* where every worker lists */
        const struct sample_list *list;
        uint32_t *order;            /* of the list, this epoch */
        struct buf bytes;           /* of a sample that came in several blocks */
        const char *item;           /* object being read */
        struct sample_id first;     /* of a tar */
        uint64_t in_tar, in_row;    /* good ones of it; those that follow the first in order */
        struct batch making;        /* not full yet */
        struct loader_seen seen;    /* its own until it ended */
        char why[LOADER_WHY_MAX];   /* its own until err is set */
        struct {                    /* under loader.mtx */
                struct batch *ring; /* made and not taken: `ready` of them from `first` on */
                size_t first, ready;
                size_t credits; /* batches that it may begin */
                bool ended;
                int err;
        } locked;
};

struct loader {
        struct loader_how how;
        struct worker *worker;
        size_t nworkers, running;
        size_t turn; /* worker whose batch is next */
        size_t epoch;
        uint32_t *order;  /* of the list that all share, this epoch */
        const char *why;  /* of the worker that failed */
        struct mutex mtx; /* guards worker.locked, too */
        bool stop GUARDED_BY(&mtx);
        pthread_cond_t cond;
};

/* --- what samples there are --- */

/* splitmix64's last step: numbers that are close get sums that are not. */
static uint64_t mix(uint64_t x)
{
        x += 0x9e3779b97f4a7c15ULL;
        x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
        x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
        return x ^ x >> 31;
}

/* The order of an epoch: by name, or shuffled by seed and epoch alike in all ranks (Fisher, Yates).
 */
static int make_order(const struct loader *l, size_t n, uint32_t **out)
{
        uint64_t state = mix(l->how.seed) ^ l->epoch;
        uint32_t *order = n <= UINT32_MAX ? malloc((n ? n : 1) * sizeof *order) : NULL;

        if (!order)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++)
                order[i] = (uint32_t)i;
        for (size_t i = n; l->how.shuffle && i > 1; i--) {
                size_t j = (state = mix(state)) % i;
                uint32_t other = order[j];
                order[j] = order[i - 1];
                order[i - 1] = other;
        }
        *out = order;
        return 0;
}

/* A sample with a line: one of another dataset than the first one is what a store should not have
 * any more. */
static void see_good(struct loader_seen *s, const struct sample_id *id, const char *name)
{
        if (!*s->name) {
                s->id = *id;
                snprintf(s->name, sizeof s->name, "%.255s", name);
        } else if ((id->seed != s->id.seed || id->total != s->id.total) && !*s->stray) {
                snprintf(s->stray, sizeof s->stray, "%.255s", name);
        }
}

void loader_seen_add(struct loader_seen *to, const struct loader_seen *more)
{
        if (*more->name)
                see_good(to, &more->id, more->name);
        if (!*to->stray)
                memcpy(to->stray, more->stray, sizeof to->stray);
        to->samples += more->samples;
        to->bytes += more->bytes;
        to->good += more->good;
        to->sum += more->sum;
        to->list_s = more->list_s > to->list_s ? more->list_s : to->list_s;
        if (!*to->plain)
                memcpy(to->plain, more->plain, sizeof to->plain);
}

int loader_seen_check(const struct loader_seen *all, char *why, size_t nwhy)
{
        uint64_t sum = 0;

        if (!all->good)
                return 0;
        if (*all->plain) {
                snprintf(why, nwhy,
                         "%s has no line of datagen, as the other samples have: it is "
                         "damaged, or does not belong there",
                         all->plain);
                return -EBADMSG;
        }
        if (*all->stray) {
                snprintf(why, nwhy,
                         "%s and %s are samples of two datasets, made with another seed or "
                         "number of samples: make it anew",
                         all->name, all->stray);
                return -EBADMSG;
        }
        const uint64_t total = all->id.total;
        /* a sample says how many there are: as many as were read, or nothing is summed up */
        for (uint64_t i = 0; i < total && all->samples == total; i++)
                sum += mix(i);
        if (all->samples == total && all->sum == sum)
                return 0;
        snprintf(why, nwhy, "datagen made %llu samples, and %llu were read%s: make it anew",
                 (unsigned long long)total, (unsigned long long)all->samples,
                 all->samples == total ? ", some of them twice" : "");
        return -EBADMSG;
}

/* --- a worker's samples --- */

/* Waits until a batch may be begun. -ECANCELED: nobody wants more. */
static int await_credit(struct worker *w)
{
        struct loader *l = w->l;

        mutex_lock(&l->mtx);
        while (!w->locked.credits && !l->stop)
                mutex_wait(&l->cond, &l->mtx);
        int err = l->stop ? -ECANCELED : 0;
        if (!err)
                w->locked.credits--;
        mutex_unlock(&l->mtx);
        return err;
}

/* Hands the batch over, if there is one. */
static void hand_over(struct worker *w)
{
        struct loader *l = w->l;

        if (!w->making.samples)
                return;
        mutex_lock(&l->mtx);
        size_t room = l->how.prefetch + 1, at = (w->locked.first + w->locked.ready) % room;
        w->locked.ring[at] = w->making;
        w->locked.ready++;
        pthread_cond_broadcast(&l->cond);
        mutex_unlock(&l->mtx);
        w->making = (struct batch){0};
}

/* Whether the number of a sample is the one in its name, where that is datagen's. */
static bool right_number(const char *name, uint64_t number)
{
        const char *last = strrchr(name, '/');
        unsigned long long named;
        return sscanf(last ? last + 1 : name, "image_%llu.", &named) != 1 || named == number;
}

/* `full` names the sample in messages, `name` is its own. */
static int verify(struct worker *w, const char *full, const char *name, const void *p, size_t n)
{
        struct sample_id id;

        switch (sample_check(p, n, &id)) {
        case SAMPLE_PLAIN:
                if (!*w->seen.plain)
                        snprintf(w->seen.plain, sizeof w->seen.plain, "%.255s", full);
                return 0;
        case SAMPLE_WRONG:
                snprintf(w->why, sizeof w->why,
                         "%s: a byte of its %zu differs from what datagen "
                         "wrote",
                         full, n);
                return -EBADMSG;
        case SAMPLE_GOOD:
                break;
        }
        if (!right_number(name, id.number)) {
                snprintf(w->why, sizeof w->why, "%s holds sample %llu", full,
                         (unsigned long long)id.number);
                return -EBADMSG;
        }
        if (!w->in_row)
                w->first = id;
        w->in_row += id.number == w->first.number + w->in_row;
        w->in_tar++;
        w->seen.good++;
        w->seen.sum += mix(id.number);
        see_good(&w->seen, &id, full);
        return 0;
}

void batch_release(struct batch *b)
{
        free(b->rgb);
        free(b->label);
        *b = (struct batch){0};
}

/* A sample of a network: a part of it, another in each epoch, and a label that stays. Both are
 * drawn by its name, so that they do not depend on who reads it. */
static int take_crop(struct worker *w, const char *full, const void *p, size_t n)
{
        const struct loader_how *how = &w->l->how;
        struct batch *b = &w->making;
        uint64_t name = 0;
        char why[400];

        if (!b->rgb) {
                b->rgb = malloc(how->batch * CROP_BYTES);
                b->label = malloc(how->batch * sizeof *b->label);
        }
        if (!b->rgb || !b->label)
                return -ENOMEM;
        for (const char *c = full; *c; c++)
                name = mix(name ^ (unsigned char)*c);
        const uint64_t key = random_key(how->seed, RANDOM_CROP, w->l->epoch, name);
        int err = crop_make(w->crop, key, p, n, b->rgb + b->samples * CROP_BYTES, why, sizeof why);
        if (err)
                snprintf(w->why, sizeof w->why, "%s: %s", full, why);
        b->label[b->samples] = (int32_t)random_below(random_key(how->seed, RANDOM_LABELS, 0, 0),
                                                     name, how->labels);
        return err;
}

/* What the model does with a sample. */
static int take_sample(void *arg, const char *name, const void *p, size_t n)
{
        struct worker *w = arg;
        const struct loader_how *how = &w->l->how;
        char full[512], why[400];

        if (how->tars)
                snprintf(full, sizeof full, "%.250s: %.250s", w->item, name);
        else
                snprintf(full, sizeof full, "%s", name);
        int err = w->making.samples ? 0 : await_credit(w);
        if (!err && signal_came())
                err = -ECANCELED;
        if (!err && how->verify)
                err = verify(w, full, name, p, n);
        if (!err && how->decode && (err = image_decode(p, n, NULL, why, sizeof why)))
                snprintf(w->why, sizeof w->why, "%s: %s", full, why);
        if (!err && how->labels)
                err = take_crop(w, full, p, n);
        if (!err && !how->verify && !how->decode && !how->labels)
                w->seen.sum += crc32c(0, p, n); /* touches each byte */
        if (err)
                return err;
        w->seen.samples++;
        w->seen.bytes += n;
        w->making.samples++;
        w->making.bytes += n;
        if (w->making.samples == how->batch)
                hand_over(w);
        return 0;
}

static int next_piece(void *arg, const void **p, size_t *n)
{
        return stream_next(arg, p, n);
}

/* Whether a tar that datagen named has the samples that it put there: each is right by itself, and
 * stays so in another tar. */
static int check_tar(struct worker *w)
{
        const char *last = strrchr(w->item, '/'), *name = last ? last + 1 : w->item;
        unsigned long long number;
        int end = 0;

        if (!w->in_tar || sscanf(name, "shard_%llu.tar%n", &number, &end) != 1 || !end ||
            name[end] ||
            (w->in_row == w->in_tar &&
             sample_fits_tar(number, w->first.number, w->in_tar, w->first.total)))
                return 0;
        snprintf(w->why, sizeof w->why,
                 "%s holds %llu samples from %llu on, and datagen put others there: make it anew",
                 w->item, (unsigned long long)w->in_tar, (unsigned long long)w->first.number);
        return -EBADMSG;
}

static int read_tar(struct worker *w)
{
        char why[400] = "";

        w->in_tar = w->in_row = 0;
        int err = tar_read(next_piece, w->stream, take_sample, w, SAMPLE_MAX, why, sizeof why);
        if (err && *why)
                snprintf(w->why, sizeof w->why, "%s: %s%s", w->item, why,
                         err == -EBADMSG ? ": give sharding=off if it is no tar" : "");
        return err ? err : check_tar(w);
}

/* An object or file that is a sample. */
static int take_whole(struct worker *w, uint64_t size)
{
        const void *p = "";
        size_t n = 0;
        int err = size <= SAMPLE_MAX ? 0 : -EFBIG;

        buf_reset(&w->bytes);
        while (!err && !(err = stream_next(w->stream, &p, &n)) && n && n < size)
                err = buf_add(&w->bytes, p, n);
        if (!err && n < size) {
                p = w->bytes.p;
                n = w->bytes.len;
        }
        return err ? err : take_sample(w, w->item, p, n);
}

static int read_item(struct worker *w, size_t i)
{
        const struct loader_how *how = &w->l->how;
        uint64_t size = w->list->v[i].size;

        w->item = sample_source_name(w->list, i);
        int err = stream_begin(w->stream, w->item, size);
        if (!err)
                err = how->tars ? read_tar(w) : take_whole(w, size);
        stream_end(w->stream);
        if (err && err != -ECANCELED && !*w->why)
                snprintf(w->why, sizeof w->why, "%s: %s", w->item, strerror(-err));
        return err;
}

/* Where in the epoch's order the i-th item of this worker stands; at the list's end there is none.
 */
static size_t position_of(const struct worker *w, size_t i)
{
        const struct loader_how *how = &w->l->how;
        size_t workers = w->l->nworkers;

        if (!how->map || how->tars)
                return (i * workers + w->index) * how->ranks + how->rank;
        size_t batch = i / how->batch * workers + w->index;
        return (batch * how->batch + i % how->batch) * how->ranks + how->rank;
}

/* What there is to read: the list of all, or one of this worker's own. */
static int find_items(struct worker *w)
{
        struct loader *l = w->l;
        uint64_t begin = clock_ns();

        w->list = l->how.list;
        w->order = l->order;
        if (!l->how.lists)
                return 0;
        int err = sample_source_list(l->how.place, &w->own);
        w->seen.list_s = clock_s(clock_ns() - begin);
        w->list = &w->own;
        w->order = NULL;
        if (!err)
                err = make_order(l, w->own.n, &w->order);
        if (err && err != -ECANCELED)
                snprintf(w->why, sizeof w->why, "the listing of a worker: %s", strerror(-err));
        return err;
}

static void *work(void *arg)
{
        struct worker *w = arg;
        struct loader *l = w->l;
        size_t at;
        int err = stream_new(l->how.place, &l->how.stream, &w->stream);

        if (!err && l->how.labels && !(w->crop = crop_new()))
                err = -ENOMEM;

        if (!err)
                err = find_items(w);
        for (size_t i = 0; !err && (at = position_of(w, i)) < w->list->n; i++)
                err = read_item(w, w->order[at]);
        if (!err)
                hand_over(w);
        stream_free(w->stream);
        crop_free(w->crop);
        batch_release(&w->making);
        buf_release(&w->bytes);
        sample_source_list_release(&w->own);
        if (w->order != l->order)
                free(w->order);
        mutex_lock(&l->mtx);
        w->locked.ended = true;
        w->locked.err = err;
        pthread_cond_broadcast(&l->cond);
        mutex_unlock(&l->mtx);
        return NULL;
}

/* --- the epoch --- */

int loader_start(const struct loader_how *how, size_t epoch, struct loader **out)
{
        struct loader *l = calloc(1, sizeof *l);

        if (!l)
                return -ENOMEM;
        l->how = *how;
        l->epoch = epoch;
        l->nworkers = how->workers ? how->workers : 1;
        mutex_init(&l->mtx, LOCK_BENCH);
        pthread_cond_init(&l->cond, NULL);
        l->worker = calloc(l->nworkers, sizeof *l->worker);
        int err = l->worker ? make_order(l, how->list->n, &l->order) : -ENOMEM;
        for (size_t i = 0; !err && i < l->nworkers; i++) {
                struct worker *w = &l->worker[i];
                w->l = l;
                w->index = i;
                w->bytes = (struct buf)BUF_INIT;
                w->own = (struct sample_list)SAMPLE_LIST_INIT;
                w->locked.credits = how->workers ? how->prefetch : 0;
                w->locked.ring = calloc(how->prefetch + 1, sizeof *w->locked.ring);
                err = w->locked.ring ? -pthread_create(&w->thread, NULL, work, w) : -ENOMEM;
                l->running += !err;
        }
        if (err)
                loader_end(l, NULL);
        else
                *out = l;
        return err;
}

/* Takes the batch of worker `w`, or learns that it has none any more. */
static int take_batch(struct loader *l, struct worker *w, struct batch *out)
{
        int got = 0;

        mutex_lock(&l->mtx);
        if (!l->how.workers)
                w->locked.credits++;
        pthread_cond_broadcast(&l->cond);
        while (!w->locked.ready && !w->locked.ended)
                mutex_wait(&l->cond, &l->mtx);
        if (w->locked.ready) {
                *out = w->locked.ring[w->locked.first];
                w->locked.first = (w->locked.first + 1) % (l->how.prefetch + 1);
                w->locked.ready--;
                w->locked.credits += l->how.workers != 0;
                got = 1;
        } else if (w->locked.err) {
                got = w->locked.err;
                l->why = w->why;
        }
        pthread_cond_broadcast(&l->cond);
        mutex_unlock(&l->mtx);
        return got;
}

int loader_next(struct loader *l, struct batch *out)
{
        for (size_t tried = 0; tried < l->nworkers; tried++) {
                int got = take_batch(l, &l->worker[l->turn], out);
                l->turn = (l->turn + 1) % l->nworkers;
                if (got)
                        return got;
        }
        return 0;
}

const char *loader_why(const struct loader *l)
{
        return l->why ? l->why : "";
}

void loader_end(struct loader *l, struct loader_seen *seen)
{
        if (!l)
                return;
        mutex_lock(&l->mtx);
        l->stop = true;
        pthread_cond_broadcast(&l->cond);
        mutex_unlock(&l->mtx);
        for (size_t i = 0; i < l->running; i++) {
                pthread_join(l->worker[i].thread, NULL);
                if (seen)
                        loader_seen_add(seen, &l->worker[i].seen);
        }
        for (size_t i = 0; l->worker && i < l->nworkers; i++) {
                struct batch *ring = l->worker[i].locked.ring;
                const size_t first = l->worker[i].locked.first, room = l->how.prefetch + 1;
                for (size_t k = 0; k < l->worker[i].locked.ready; k++)
                        batch_release(&ring[(first + k) % room]);
                free(ring);
        }
        free(l->worker);
        free(l->order);
        pthread_cond_destroy(&l->cond);
        mutex_destroy(&l->mtx);
        free(l);
}
