/* SPDX-License-Identifier: Apache-2.0 */
/* small.c: the scenario "small": many small files that 16 threads create, write and close through a
 * mount, over the time in which 16 threads put as many objects by libstore. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "bench/bucket.h"
#include "bench/clock.h"
#include "bench/measure.h"
#include "bench/run.h"
#include "bench/stats.h"
#include "bench/stop.h"

#include "base/banned.h"

enum { FILES = 10000, SIZE = 4096, THREADS = 16 };

/* What the threads share. */
struct work {
        struct store *store; /* NULL: files below `mount` */
        const char *mount, *dir;
        size_t n;
        atomic_size_t next;
        atomic_int err; /* the first */
};

static size_t files_of(const struct keys *k)
{
        return k->objects ? k->objects : FILES;
}

static int write_file(const char *path)
{
        static const char bytes[SIZE];
        CLEANUP(closep) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

        if (fd < 0)
                return -errno;
        ssize_t n = write(fd, bytes, sizeof bytes);
        if (n != (ssize_t)sizeof bytes)
                return n < 0 ? -errno : -EIO;
        return close(TAKE_FD(fd)) ? -errno : 0;
}

static int write_one(struct work *w, size_t i)
{
        static const char bytes[SIZE];
        char key[BUCKET_NAME_MAX], path[PATH_MAX];

        if (stop_wanted())
                return -ECANCELED;
        bucket_name(w->dir, i, key);
        if (w->store)
                return store_put_wait(w->store, key, bytes, sizeof bytes, NULL, NULL, NULL);
        if (snprintf(path, sizeof path, "%s/%s", w->mount, key) >= PATH_MAX)
                return -ENAMETOOLONG;
        return write_file(path);
}

static void *worker(void *arg)
{
        struct work *w = arg;
        size_t i = 0;

        while (!atomic_load(&w->err) && (i = atomic_fetch_add(&w->next, 1)) < w->n) {
                int none = 0, err = write_one(w, i);
                if (err)
                        atomic_compare_exchange_strong(&w->err, &none, err);
        }
        return NULL;
}

/* All of them, by THREADS threads. */
static int time_all(struct work *w, double *out)
{
        pthread_t thread[THREADS];
        size_t n = 0;
        uint64_t begin = clock_ns();

        atomic_store(&w->next, 0);
        for (int err = 0; n < THREADS && !err; n++) {
                err = pthread_create(&thread[n], NULL, worker, w);
                if (err) {
                        atomic_store(&w->err, -err);
                        break;
                }
        }
        while (n)
                pthread_join(thread[--n], NULL);
        *out = clock_s(clock_ns() - begin);
        return atomic_load(&w->err);
}

/* Deletes what was written through the mount past it, and the directory's own object. */
static int empty_folder(struct store *s, const char *dir, size_t n)
{
        char marker[BUCKET_NAME_MAX];
        int err = bucket_empty(s, dir, n);

        snprintf(marker, sizeof marker, "%s/", dir);
        int gone = store_delete_wait(s, marker);
        return err ? err : gone;
}

static int measure(const struct run *r, const struct keys *k, struct store *s, double *store,
                   double *mount)
{
        int err = 0;

        for (size_t e = 0; e < k->epochs && !err; e++) {
                char direct[64], files[64], path[PATH_MAX];
                snprintf(direct, sizeof direct, "small-%d-%zu-direct", (int)getpid(), e);
                snprintf(files, sizeof files, "small-%d-%zu-files", (int)getpid(), e);
                if (snprintf(path, sizeof path, "%s/%s", k->mount_path, files) >= PATH_MAX)
                        return -ENAMETOOLONG;
                struct work w = {.store = s, .dir = direct, .n = files_of(k)};
                err = time_all(&w, &store[e]);
                if (err && err != -ECANCELED)
                        run_error(r, "%s/%s: put: %s", k->s3_uri, direct, strerror(-err));
                int gone = bucket_empty(s, direct, w.n);
                struct work m = {.mount = k->mount_path, .dir = files, .n = w.n};
                if (!err && mkdir(path, 0777))
                        err = -errno;
                if (!err)
                        err = time_all(&m, &mount[e]);
                if (err && err != -ECANCELED)
                        run_error(r, "%s: %s", path, strerror(-err));
                int left = empty_folder(s, files, m.n);
                err = err ? err : gone ? gone : left;
        }
        return err;
}

static int add_metrics(struct json *job, const struct keys *k, const double *store,
                       const double *mount)
{
        struct json *m = json_add_object(job, "metrics");
        struct stats a, b;

        if (stats_of(store, k->epochs, &a) || stats_of(mount, k->epochs, &b))
                return -ENOMEM;
        json_add_number(m, "files", (double)files_of(k));
        if (measure_values_json(m, "store_s", store, k->epochs) ||
            measure_values_json(m, "mount_s", mount, k->epochs))
                return -ENOMEM;
        json_add_number(m, "mount_rate_over_store", stats_ratio(a.median, b.median));
        return 0;
}

static int small_plan(const struct run *r, const struct keys *k, FILE *dry, char *why, size_t nwhy)
{
        (void)r;
        if (!*k->mount_path || !*k->s3_uri) {
                snprintf(why, nwhy,
                         "small compares a mount with its store: give mount.path= and the "
                         "s3.uri= that is mounted there");
                return -EINVAL;
        }
        if (dry)
                fprintf(dry, "would write %zu files through %s and put as many objects at %s\n",
                        files_of(k), k->mount_path, k->s3_uri);
        return 0;
}

static int small_job(const struct run *r, const struct keys *k, struct json *job)
{
        char why[512];
        struct store *s = NULL;
        CLEANUP(freep) double *store = calloc(k->epochs, sizeof *store);
        CLEANUP(freep) double *mount = calloc(k->epochs, sizeof *mount);
        int err = store && mount ? bucket_open(k, "s3", &s, why, sizeof why) : -ENOMEM;

        if (err) {
                run_error(r, "%s", err == -ENOMEM ? strerror(ENOMEM) : why);
                return err;
        }
        err = measure(r, k, s, store, mount);
        store_close(s);
        return err ? err : add_metrics(job, k, store, mount);
}

static double median_of(const struct json *m, const char *name)
{
        return json_number(json_get(json_get(m, name), "median"), 0);
}

static void small_table(const struct json *run, FILE *to)
{
        const struct json *jobs = json_get(run, "job_results");
        for (size_t j = 0; j < json_count(jobs); j++) {
                const struct json *m = json_get(json_at(jobs, j), "metrics");
                fprintf(to, "%.0f files of 4 KiB: libstore %.3f s, mount %.3f s\n",
                        json_number(json_get(m, "files"), 0), median_of(m, "store_s"),
                        median_of(m, "mount_s"));
                fprintf(to, "rate over libstore: %.2f\n",
                        json_number(json_get(m, "mount_rate_over_store"), 0));
        }
}

static void small_page(const struct json *run, struct doc *d)
{
        const struct json *m = json_get(json_at(json_get(run, "job_results"), 0), "metrics");
        doc_say(d,
                "%.0f files of 4 KiB, written by 16 threads: libstore %.3f s, the mount %.3f s, "
                "%.2f of its rate.",
                json_number(json_get(m, "files"), 0), median_of(m, "store_s"),
                median_of(m, "mount_s"), json_number(json_get(m, "mount_rate_over_store"), 0));
}

const struct scenario scenario_small = {
        .name = "small",
        .text = "Many small files through a mount, by 16 threads, over libstore's time to put "
                "them.",
        .plan = small_plan,
        .job = small_job,
        .table = small_table,
        .page = small_page,
};
