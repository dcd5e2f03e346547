/* SPDX-License-Identifier: Apache-2.0 */
/* firstbyte.c: the scenario "firstbyte": how long the first byte of a file takes through a mount,
 * over the time in which the store answers a GET, on warm connections. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mutex.h"
#include "base/cleanup.h"
#include "bench/core/clock.h"
#include "bench/measure/measure.h"
#include "bench/data/preflight.h"
#include "bench/scenario/mount_vs_store.h"
#include "bench/measure/stats.h"
#include "bench/core/signal_cleanup.h"
#include "bench/report/doc.h"
#include "bench/report/job.h"

#include "base/banned.h"

enum { FILES = 64, SIZE = 1 << 20, FIRST = 4096 };

struct times {
        double store, open, read; /* seconds */
};

static size_t files_of(const struct keys *k)
{
        return k->objects ? k->objects : FILES;
}

/* One GET, timed to its first bytes. */
struct first {
        uint64_t at; /* of the I/O thread until it is done */
        struct mutex mtx;
        pthread_cond_t cond;
        bool done GUARDED_BY(&mtx);
        int err GUARDED_BY(&mtx);
};

static int first_data(void *arg, uint64_t at, const void *p, size_t n)
{
        (void)at;
        (void)p;
        (void)n;
        struct first *f = arg;
        if (!f->at)
                f->at = clock_ns();
        return 0;
}

static void first_done(void *arg, int err, const struct store_got *got)
{
        (void)got;
        struct first *f = arg;
        mutex_lock(&f->mtx);
        f->err = err;
        f->done = true;
        pthread_cond_signal(&f->cond);
        mutex_unlock(&f->mtx);
}

static int time_store(struct store *s, const char *key, double *out)
{
        struct first f = {.mtx = MUTEX_INITIALIZER(LOCK_BENCH), .cond = PTHREAD_COND_INITIALIZER};
        const struct store_get get = {
                .key = key, .len = FIRST, .data = first_data, .done = first_done, .arg = &f};
        uint64_t begin = clock_ns();
        int err = store_get(s, &get);

        if (err)
                return err;
        mutex_lock(&f.mtx);
        while (!f.done)
                mutex_wait(&f.cond, &f.mtx);
        err = f.err;
        mutex_unlock(&f.mtx);
        *out = clock_s(f.at - begin);
        return err;
}

/* The name is looked up before the clock starts, as a program does that has listed the directory.
 */
static int time_mount(const char *path, struct times *out)
{
        static char bytes[FIRST];
        struct stat st;

        if (stat(path, &st))
                return -errno;
        uint64_t begin = clock_ns();
        CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
        uint64_t opened = clock_ns();
        if (fd < 0)
                return -errno;
        ssize_t n = read(fd, bytes, sizeof bytes);
        if (n <= 0)
                return n ? -errno : -ENODATA;
        out->open = clock_s(opened - begin);
        out->read = clock_s(clock_ns() - opened);
        return 0;
}

static int measure(struct mount_vs_store *vs, const char *dir, void *arg)
{
        struct times *v = arg;
        int err = 0;
        for (size_t i = 0; i < files_of(vs->k) && !err; i++) {
                char key[BUCKET_NAME_MAX], path[PATH_MAX];
                bucket_name(dir, i, key);
                err = mount_vs_store_path(vs, key, path);
                if (err)
                        break;
                err = signal_came() ? -ECANCELED : time_store(vs->store, key, &v[i].store);
                if (err) {
                        mount_vs_store_fail(vs, key, err);
                        break;
                }
                err = time_mount(path, &v[i]);
                if (err)
                        run_error(vs->run, "%s: %s: mount.path must show what is at s3.uri", path,
                                  strerror(-err));
        }
        return err;
}

static int add_stats(struct json *to, const char *name, const struct times *v, size_t n,
                     double (*of)(const struct times *t))
{
        CLEANUP(freep) double *ms = calloc(n, sizeof *ms);
        if (!ms)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++)
                ms[i] = of(&v[i]) * 1e3;
        return measure_each_json(to, name, ms, n);
}

static double of_store(const struct times *t)
{
        return t->store;
}

static double of_open(const struct times *t)
{
        return t->open;
}

static double of_read(const struct times *t)
{
        return t->read;
}

static double of_mount(const struct times *t)
{
        return t->open + t->read;
}

/* The first pair warms both sides up and is left out. */
static int add_metrics(struct json *job, const struct times *v, size_t n)
{
        struct json *m = json_add_object(job, "metrics");
        int err = add_stats(m, "store_ms", v + 1, n - 1, of_store);
        if (!err)
                err = add_stats(m, "open_ms", v + 1, n - 1, of_open);
        if (!err)
                err = add_stats(m, "read_ms", v + 1, n - 1, of_read);
        if (!err)
                err = add_stats(m, "mount_ms", v + 1, n - 1, of_mount);
        if (!err)
                json_add_number(m, "over_store_ms",
                                mount_vs_store_median(m, "mount_ms") -
                                        mount_vs_store_median(m, "store_ms"));
        return err;
}

static int firstbyte_plan(const struct run *r, const struct keys *k, FILE *dry, char *why,
                          size_t nwhy)
{
        int err = mount_vs_store_check(r, k, why, nwhy);
        if (err)
                return err;
        if (k->objects == 1) {
                snprintf(why, nwhy, "objects=1 leaves none after the warm-up: give 2 or more");
                return -EINVAL;
        }
        if (dry)
                fprintf(dry, "would put %zu objects of 1 MiB at %s and read each through %s\n",
                        files_of(k), k->s3_uri, k->mount_path);
        const struct preflight n = {.moved = 2 * files_of(k) * (uint64_t)SIZE};
        return preflight_check_at(r, &n, NULL, dry, why, nwhy);
}

static int firstbyte_job(const struct run *r, const struct keys *k, struct json *job)
{
        CLEANUP(mount_vs_store_end) struct mount_vs_store vs;
        size_t n = files_of(k);
        CLEANUP(freep) struct times *v = calloc(n, sizeof *v);

        int err = mount_vs_store_begin(&vs, r, k);
        if (!err && !v)
                err = -ENOMEM;
        if (!err)
                err = mount_vs_store_objects(&vs, n, SIZE, measure, v);
        return err ? err : add_metrics(job, v, n);
}

static const struct {
        const char *name, *text;
} rows[] = {
        {"store_ms", "store, GET to its first byte"},
        {"open_ms", "mount, open"},
        {"read_ms", "mount, read of 4 KiB"},
        {"mount_ms", "mount, open and read"},
};

static void firstbyte_table(const struct json *run, FILE *to)
{
        const struct json *jobs = json_get(run, "job_results");
        for (size_t j = 0; j < json_count(jobs); j++) {
                const struct json *m = json_get(json_at(jobs, j), "metrics");
                fprintf(to, "%-32s %9s %9s %9s\n", "milliseconds", "median", "p90", "min");
                for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
                        const struct json *row = json_get(m, rows[i].name);
                        fprintf(to, "%-32s %9.3f %9.3f %9.3f\n", rows[i].text,
                                json_number(json_get(row, "median"), 0),
                                json_number(json_get(row, "p90"), 0),
                                json_number(json_get(row, "min"), 0));
                }
                fprintf(to, "over the store: %.3f ms\n",
                        json_number(json_get(m, "over_store_ms"), 0));
        }
}

static void firstbyte_says(const struct json *run, struct buf *to)
{
        const struct json *m = json_get(json_at(json_get(run, "job_results"), 0), "metrics");

        if (json_get(m, "over_store_ms"))
                job_says(to,
                         "The first byte through the mount comes %.3f ms after the store's own.",
                         json_number(json_get(m, "over_store_ms"), 0));
}

static void firstbyte_page(const struct json *run, struct doc *d)
{
        static const struct doc_column columns[] = {
                {NULL, "milliseconds"}, {NULL, "median"}, {NULL, "p90"}};
        const struct json *m = json_get(json_at(json_get(run, "job_results"), 0), "metrics");

        doc_table(d, columns, sizeof columns / sizeof columns[0]);
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
                const struct json *row = json_get(m, rows[i].name);
                doc_text(d, rows[i].text);
                doc_figure(d, json_number(json_get(row, "median"), 0), 3);
                doc_figure(d, json_number(json_get(row, "p90"), 0), 3);
        }
        doc_table_end(d);
}

const struct scenario scenario_firstbyte = {
        .name = "firstbyte",
        .text = "The first byte of a file through a mount, over the store's own time to first "
                "byte.",
        .plan = firstbyte_plan,
        .job = firstbyte_job,
        .table = firstbyte_table,
        .says = firstbyte_says,
        .page = firstbyte_page,
};
