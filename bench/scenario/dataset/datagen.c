/* SPDX-License-Identifier: Apache-2.0 */
/* datagen.c: the scenario "datagen": images of noise, as objects or packed into tars, for the
 * scenario "dataset" and for others.
 *
 * The same keys make the same bytes under the same names, however many ranks and threads share the
 * work: an image is a function of seed and number, and how many of them a tar takes follows from
 * the largest of a few. Threads take tars, or runs of images, and write them as they are made. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "bench/core/clock.h"
#include "bench/core/cpu.h"
#include "bench/core/io.h"
#include "bench/measure/measure.h"
#include "bench/data/preflight.h"
#include "bench/core/run.h"
#include "bench/report/job.h"
#include "bench/scenario/dataset/image.h"
#include "bench/scenario/dataset/sample_source.h"
#include "bench/scenario/dataset/sample.h"
#include "bench/scenario/dataset/tar.h"
#include "bench/core/signal_cleanup.h"
#include "bench/report/job.h"

#include "base/banned.h"

enum {
        RUN = 16,     /* images that a thread takes at once */
        TRIES = 4,    /* images that tell how large they get */
        MARGIN = 100, /* a hundredth more than the largest of them */
        TAR_HEADER = 512,
        TAR_END = 1024,
        NAME_MAX_LEN = 64,
        THREADS_MAX = 256
};

/* What the keys say. */
struct set {
        uint64_t samples;
        unsigned width, height;
        const struct image_format *format;
        uint64_t shard_size, seed;
        const char *storage;
        char name[128]; /* of the dataset */
};

struct work {
        const struct run *run;
        struct set set;
        struct sample_source *place;
        uint64_t per_shard, units; /* images of a tar (0: no tars); tars or runs of images */
        atomic_uint_fast64_t next; /* unit of this rank */
        atomic_uint_fast64_t samples, bytes;
        atomic_int err; /* the first */
};

/* --- keys --- */

/* "100k", "2M", "1Ki" or "1500", as the Python suite counts. */
static int parse_count(const char *text, uint64_t *out)
{
        static const struct {
                const char *unit;
                uint64_t factor;
        } units[] = {{"", 1},        {"k", 1000},     {"K", 1000},
                     {"M", 1000000}, {"Ki", 1 << 10}, {"Mi", 1 << 20}};
        char *end;
        unsigned long long n = strtoull(text, &end, 10);

        for (size_t i = 0; end != text && i < sizeof units / sizeof units[0]; i++)
                if (!strcmp(end, units[i].unit) && *text != '-' && n && n <= 1000000000) {
                        *out = n * units[i].factor;
                        return *out <= 1000000000 ? 0 : -EINVAL;
                }
        return -EINVAL;
}

static int parse_resolution(const char *text, struct set *s)
{
        char behind;
        return sscanf(text, "%5u%*1[xX]%5u%c", &s->width, &s->height, &behind) == 2 && s->width &&
                               s->height && s->width <= IMAGE_SIDE_MAX &&
                               s->height <= IMAGE_SIDE_MAX
                       ? 0
                       : -EINVAL;
}

/* <n>_<w>x<h>_images[_<b>_shards], with n and b in the largest unit that fits. */
static void make_name(struct set *s)
{
        CLEANUP(buf_release) struct buf b = BUF_INIT;
        static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
        uint64_t size = s->shard_size;
        size_t u = 0;

        if (s->samples % 1000000 == 0)
                buf_addf(&b, "%lluM", (unsigned long long)(s->samples / 1000000));
        else if (s->samples % 1000 == 0)
                buf_addf(&b, "%lluk", (unsigned long long)(s->samples / 1000));
        else
                buf_addf(&b, "%llu", (unsigned long long)s->samples);
        buf_addf(&b, "_%ux%u_images", s->width, s->height);
        for (; size && size % 1024 == 0 && u < 4; u++)
                size /= 1024;
        if (size)
                buf_addf(&b, "_%llu%s_shards", (unsigned long long)size, units[u]);
        snprintf(s->name, sizeof s->name, "%s", b.p);
}

static int read_set(const struct keys *k, struct set *s, char *why, size_t nwhy)
{
        *s = (struct set){.shard_size = k->shard_size, .seed = k->seed};
        if (parse_count(k->num_samples, &s->samples)) {
                snprintf(why, nwhy,
                         "num_samples=%s is no count: give 1 to 1000000000, with k, M, Ki or Mi",
                         k->num_samples);
                return -EINVAL;
        }
        if (parse_resolution(k->resolution, s)) {
                snprintf(why, nwhy,
                         "resolution=%s is none: give WIDTHxHEIGHT, each 1 to 16384, as 496x387",
                         k->resolution);
                return -EINVAL;
        }
        s->format = image_find(k->image_format, why, nwhy);
        s->storage = s->format ? sample_source_storage(k, why, nwhy) : NULL;
        if (!s->storage)
                return -EINVAL;
        if (s->shard_size && tar_missing()) {
                snprintf(why, nwhy, "shard_size: %s", tar_missing());
                return -EOPNOTSUPP;
        }
        make_name(s);
        if (*k->dataset &&
            snprintf(s->name, sizeof s->name, "%s", k->dataset) >= (int)sizeof s->name) {
                snprintf(why, nwhy, "dataset=%.32s... is too long: give at most 127 bytes",
                         k->dataset);
                return -EINVAL;
        }
        return 0;
}

/* --- images --- */

static int make_image(const struct set *s, uint64_t number, struct buf *out)
{
        char line[SAMPLE_LINE_MAX];
        const struct image im = {s->width, s->height, s->seed, number, line};

        sample_line(line, s->seed, number, s->samples);
        int err = s->format->encode(&im, out);
        return err ? err : sample_seal(out->p, out->len);
}

/* How many images a tar takes so that it is no larger than asked: at least one. */
static int plan_shards(struct work *w)
{
        CLEANUP(buf_release) struct buf b = BUF_INIT;
        const struct set *s = &w->set;
        uint64_t most = 0;

        w->units = (s->samples + RUN - 1) / RUN;
        if (!s->shard_size)
                return 0;
        for (uint64_t i = 0; i < TRIES && i < s->samples; i++) {
                int err = make_image(s, i, &b);
                if (err)
                        return err;
                most = b.len > most ? b.len : most;
        }
        most += most / MARGIN;
        uint64_t entry = TAR_HEADER + (most + TAR_HEADER - 1) / TAR_HEADER * TAR_HEADER;
        uint64_t room = s->shard_size > TAR_END ? s->shard_size - TAR_END : 0;
        w->per_shard = room / entry ? room / entry : 1;
        w->units = (s->samples + w->per_shard - 1) / w->per_shard;
        return 0;
}

static void image_name(const struct set *s, uint64_t i, char *out, size_t n)
{
        snprintf(out, n, "image_%llu.%s", (unsigned long long)i, s->format->name);
}

static int push_to_sink(void *arg, const void *p, size_t n)
{
        return sink_write(arg, p, n);
}

static int fill_tar(struct work *w, uint64_t unit, struct tar_out *t, struct buf *b)
{
        uint64_t i = unit * w->per_shard, end = i + w->per_shard;
        int err = 0;

        for (; i < end && i < w->set.samples && !err; i++) {
                char name[NAME_MAX_LEN];
                image_name(&w->set, i, name, sizeof name);
                err = signal_came() ? -ECANCELED : make_image(&w->set, i, b);
                if (!err)
                        err = tar_add(t, name, b->p, b->len);
                atomic_fetch_add(&w->samples, !err);
                atomic_fetch_add(&w->bytes, err ? 0 : b->len);
        }
        return err;
}

static int make_shard(struct work *w, uint64_t unit, struct buf *b)
{
        char name[NAME_MAX_LEN];
        struct tar_out *t = NULL;
        struct sink *to = NULL;

        snprintf(name, sizeof name, "shard_%llu.tar", (unsigned long long)unit + 1);
        int err = sink_open(w->place, name, &to);
        if (!err)
                err = tar_begin(push_to_sink, to, &t);
        if (!err)
                err = fill_tar(w, unit, t, b);
        if (err)
                tar_forget(t);
        else
                err = tar_end(t);
        if (err)
                sink_abandon(to);
        else
                err = sink_close(to);
        return err;
}

static int put_image(struct work *w, uint64_t i, struct buf *b)
{
        char name[NAME_MAX_LEN];
        struct sink *to = NULL;

        image_name(&w->set, i, name, sizeof name);
        int err = signal_came() ? -ECANCELED : make_image(&w->set, i, b);
        if (!err)
                err = sink_open(w->place, name, &to);
        if (!err)
                err = sink_write(to, b->p, b->len);
        if (err)
                sink_abandon(to);
        else
                err = sink_close(to);
        atomic_fetch_add(&w->samples, !err);
        atomic_fetch_add(&w->bytes, err ? 0 : b->len);
        return err;
}

static int make_unit(struct work *w, uint64_t unit, struct buf *b)
{
        int err = 0;

        if (w->per_shard)
                return make_shard(w, unit, b);
        for (uint64_t i = unit * RUN; i < (unit + 1) * RUN && i < w->set.samples && !err; i++)
                err = put_image(w, i, b);
        return err;
}

static void *worker(void *arg)
{
        CLEANUP(buf_release) struct buf b = BUF_INIT;
        struct work *w = arg;
        const struct coll *c = w->run->coll;
        uint64_t unit;

        while (!atomic_load(&w->err) &&
               (unit = atomic_fetch_add(&w->next, 1) * c->ranks + c->rank) < w->units) {
                int none = 0, err = make_unit(w, unit, &b);
                if (err)
                        atomic_compare_exchange_strong(&w->err, &none, err);
        }
        return NULL;
}

static int make_all(struct work *w, size_t threads)
{
        pthread_t thread[THREADS_MAX];
        size_t n = 0;

        for (int err = 0; n < threads && !err; n += !err) {
                err = pthread_create(&thread[n], NULL, worker, w);
                if (err)
                        atomic_store(&w->err, -err);
        }
        while (n)
                pthread_join(thread[--n], NULL);
        return atomic_load(&w->err);
}

/* --- the scenario --- */

/* The i-th name of what this rank may have made. */
static void made_name(void *arg, size_t i, char *out, size_t n)
{
        const struct work *w = arg;
        const struct coll *c = w->run->coll;
        uint64_t per = w->per_shard ? 1 : RUN;
        uint64_t unit = i / per * c->ranks + c->rank;

        if (w->per_shard)
                snprintf(out, n, "shard_%llu.tar", (unsigned long long)unit + 1);
        else
                image_name(&w->set, unit * RUN + i % per, out, n);
}

/* A dataset is whole or not there. */
static void remove_made(struct work *w)
{
        uint64_t units = atomic_load(&w->next), per = w->per_shard ? 1 : RUN;
        int err = sample_source_remove(w->place, made_name, w, units * per);

        if (err)
                run_error(w->run, "%s: what was made cannot be removed: %s",
                          sample_source_text(w->place), strerror(-err));
}

struct made {
        double samples, bytes, seconds;
};

/* Of all ranks. */
static int sum_up(const struct work *w, double seconds, struct made *out)
{
        struct coll *c = w->run->coll;
        const struct made mine = {(double)atomic_load(&w->samples), (double)atomic_load(&w->bytes),
                                  seconds};
        CLEANUP(freep) struct made *all = calloc(c->ranks, sizeof *all);
        int err = coll_agree(c, all ? 0 : -ENOMEM);

        if (!err)
                err = c->ops->gather(c, &mine, sizeof mine, all);
        *out = (struct made){0};
        for (unsigned i = 0; i < c->ranks && !err; i++) {
                out->samples += all[i].samples;
                out->bytes += all[i].bytes;
                out->seconds = all[i].seconds > out->seconds ? all[i].seconds : out->seconds;
        }
        return err;
}

static void report(const struct work *w, const struct made *m, struct json *job)
{
        const struct set *s = &w->set;
        struct json *o = json_add_object(job, "setup");

        json_add_number(o, "ranks", w->run->coll->ranks);
        json_add_string(o, "storage", s->storage);
        json_add_string(o, "address", sample_source_text(w->place));
        json_add_string(o, "dataset", s->name);
        o = json_add_object(job, "metrics");
        json_add_number(o, "samples", m->samples);
        json_add_number(o, "objects", (double)(w->per_shard ? w->units : s->samples));
        json_add_number(o, "samples_a_shard", (double)w->per_shard);
        json_add_number(o, "bytes", m->bytes);
        json_add_number(o, "seconds", m->seconds);
        json_add_number(o, "samples_per_s", stats_ratio(m->samples, m->seconds));
        json_add_number(o, "mib_per_s", stats_ratio(m->bytes / (1 << 20), m->seconds));
}

static size_t threads_of(const struct keys *k)
{
        size_t n = k->threads ? k->threads : 2 * (size_t)cpu_cores();
        return n < THREADS_MAX ? n : THREADS_MAX;
}

static int datagen_plan(const struct run *r, const struct keys *k, FILE *dry, char *why,
                        size_t nwhy)
{
        struct set s;
        uint64_t each;
        const char *path = NULL;
        int err = read_set(k, &s, why, nwhy);

        if (!err && strcmp(s.storage, "s3") && strcmp(s.storage, "gcs"))
                err = io_posix_top(k, s.storage, &path, why, nwhy);
        if (err)
                return err;
        if (dry)
                fprintf(dry, "would make %llu images of %ux%u, %s, as dataset %s on %s\n",
                        (unsigned long long)s.samples, s.width, s.height, s.format->name, s.name,
                        s.storage);
        err = image_estimate(s.format, s.width, s.height, &each);
        if (err) {
                snprintf(why, nwhy, "an image of %ux%u: %s", s.width, s.height, strerror(-err));
                return err;
        }
        const struct preflight n = {
                .moved = each * s.samples,
                .stored = each * s.samples,
                .memory = each * threads_of(k),
        };
        return preflight_check_at(r, &n, strcmp(s.storage, "disk") ? NULL : path, dry, why, nwhy);
}

static int datagen_job(const struct run *r, const struct keys *k, struct json *job)
{
        struct work w = {.run = r};
        struct made made;
        char why[512] = "";
        int err = read_set(k, &w.set, why, sizeof why);

        if (!err)
                err = sample_source_open(k, w.set.storage, w.set.name, true, &w.place, why,
                                         sizeof why);
        if (!err)
                err = plan_shards(&w);
        if (err)
                run_error(r, "%s", *why ? why : strerror(-err));
        err = coll_agree(r->coll, err);
        uint64_t begin = clock_ns();
        if (!err) {
                err = make_all(&w, threads_of(k));
                if (err && err != -ECANCELED)
                        run_error(r, "%s: %s", sample_source_text(w.place), strerror(-err));
                double seconds = clock_s(clock_ns() - begin);
                err = coll_agree(r->coll, err);
                if (err)
                        remove_made(&w);
                else
                        err = sum_up(&w, seconds, &made);
        }
        if (!err && job)
                report(&w, &made, job);
        sample_source_close(w.place);
        return err;
}

/* As one word of a shell. */
static void print_word(const char *s, FILE *to)
{
        if (!s[strspn(
                    s,
                    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789%+,-./:=@_")]) {
                fputs(s, to);
                return;
        }
        fputc('\'', to);
        for (; *s; s++)
                if (*s == '\'')
                        fputs("'\\''", to);
                else
                        fputc(*s, to);
        fputc('\'', to);
}

/* The keys that say what and where the images are, as the command line had them. */
static void say_place(const struct json *job, FILE *to)
{
        static const char *const keys[] = {"image_format", "path",    "mount.path",
                                           "s3.bucket",    "s3.uri",  "s3.region",
                                           "s3.endpoint",  "gcs.uri", "gcs.endpoint"};

        for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
                const char *value = json_string(job_key(job, keys[i]), "");
                if (*value) {
                        fprintf(to, " %s=", keys[i]);
                        print_word(value, to);
                }
        }
}

static void datagen_table(const struct json *run, FILE *to)
{
        const struct json *jobs = json_get(run, "job_results");

        for (size_t i = 0; i < json_count(jobs); i++) {
                const struct json *setup = json_get(json_at(jobs, i), "setup");
                const struct json *m = json_get(json_at(jobs, i), "metrics");
                if (!m)
                        continue;
                fprintf(to, "%.0f images in %.0f objects of %s, %.1f MiB: %.3f s, %.0f images/s\n",
                        json_number(json_get(m, "samples"), 0),
                        json_number(json_get(m, "objects"), 0),
                        json_string(json_get(setup, "address"), "?"),
                        json_number(json_get(m, "bytes"), 0) / (1 << 20),
                        json_number(json_get(m, "seconds"), 0),
                        json_number(json_get(m, "samples_per_s"), 0));
                fprintf(to, "read it with: ckptbench dataset dataset=%s%s",
                        json_string(json_get(setup, "dataset"), "?"),
                        json_number(json_get(m, "samples_a_shard"), 0) > 0 ? " sharding=on" : "");
                say_place(json_at(jobs, i), to);
                fputc('\n', to);
        }
}

static void datagen_says(const struct json *run, struct buf *to)
{
        const struct json *job = json_at(json_get(run, "job_results"), 0);
        const struct json *m = json_get(job, "metrics");

        job_says(to, "%.0f images in %.0f objects, %.1f MiB, were made in %.3f s.",
                 json_number(json_get(m, "samples"), 0), json_number(json_get(m, "objects"), 0),
                 json_number(json_get(m, "bytes"), 0) / (1 << 20),
                 json_number(json_get(m, "seconds"), 0));
}

static const struct run_flag flags[] = {
        {"-n", "num_samples", NULL},
        {"--num-samples", "num_samples", NULL},
        {"--resolution", "resolution", NULL},
        {"--image-format", "image_format", NULL},
        {"--shard-size", "shard_size", NULL},
        {"--s3-bucket", "s3.bucket", NULL},
        {"--s3-prefix", "dataset", NULL},
        {"--region", "s3.region", NULL},
        {NULL, NULL, NULL},
};
static const char *const defaults[] = {"storage=auto", NULL};

const struct scenario scenario_datagen = {
        .name = "datagen",
        .text = "Makes images, single or in tars, for dataset.",
        .many_ranks = true,
        .flags = flags,
        .defaults = defaults,
        .plan = datagen_plan,
        .job = datagen_job,
        .table = datagen_table,
        .says = datagen_says,
};
