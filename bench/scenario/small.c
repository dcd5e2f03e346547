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
#include "base/fdio.h"
#include "bench/core/clock.h"
#include "bench/data/preflight.h"
#include "bench/scenario/mount_vs_store.h"
#include "bench/measure/stats.h"
#include "bench/core/signal_cleanup.h"
#include "bench/report/job.h"

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
        int err = fd_write(fd, bytes, sizeof bytes);
        return err ? err : close(TAKE_FD(fd)) ? -errno : 0;
}

static int write_one(struct work *w, size_t i)
{
        static const char bytes[SIZE];
        char key[BUCKET_NAME_MAX], path[PATH_MAX];

        if (signal_came())
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

/* One epoch: objects that are put, then files; both go. */
static int measure(struct mount_vs_store *v, size_t epoch)
{
        const struct keys *k = v->k;
        char direct[64], files[64], path[PATH_MAX];

        snprintf(direct, sizeof direct, "small-%d-%zu-direct", (int)getpid(), epoch);
        snprintf(files, sizeof files, "small-%d-%zu-files", (int)getpid(), epoch);
        int err = mount_vs_store_path(v, files, path);
        if (err)
                return err;
        struct work w = {.store = v->store, .dir = direct, .n = files_of(k)};
        err = time_all(&w, &v->store_s[epoch]);
        if (err)
                mount_vs_store_fail(v, "put", err);
        int gone = bucket_empty(v->store, direct, w.n);
        struct work m = {.mount = k->mount_path, .dir = files, .n = w.n};
        if (!err) {
                err = mkdir(path, 0777) ? -errno : time_all(&m, &v->mount_s[epoch]);
                if (err && err != -ECANCELED)
                        run_error(v->run, "%s: %s", path, strerror(-err));
        }
        int left = empty_folder(v->store, files, m.n);
        gone = gone ? gone : left;
        if (gone)
                mount_vs_store_fail(v, "delete", gone);
        return err ? err : gone;
}

static int small_plan(const struct run *r, const struct keys *k, FILE *dry, char *why, size_t nwhy)
{
        int err = mount_vs_store_check(r, k, why, nwhy);
        if (!err && dry)
                fprintf(dry, "would write %zu files through %s and put as many objects at %s\n",
                        files_of(k), k->mount_path, k->s3_uri);
        const struct preflight n = {.moved = 2 * k->epochs * files_of(k) * SIZE};
        return err ? err : preflight_check_at(r, &n, NULL, dry, why, nwhy);
}

static int small_job(const struct run *r, const struct keys *k, struct json *job)
{
        CLEANUP(mount_vs_store_end) struct mount_vs_store v;
        double store, mount;

        int err = mount_vs_store_begin(&v, r, k);
        for (size_t e = 0; e < k->epochs && !err; e++)
                err = measure(&v, e);
        if (err)
                return err;
        struct json *m = json_add_object(job, "metrics");
        json_add_number(m, "files", (double)files_of(k));
        err = mount_vs_store_json(&v, m, &store, &mount);
        if (!err)
                json_add_number(m, "mount_rate_over_store", stats_ratio(store, mount));
        return err;
}

static void small_table(const struct json *run, FILE *to)
{
        const struct json *jobs = json_get(run, "job_results");
        for (size_t j = 0; j < json_count(jobs); j++) {
                const struct json *m = json_get(json_at(jobs, j), "metrics");
                fprintf(to, "%.0f files of 4 KiB: libstore %.3f s, mount %.3f s\n",
                        json_number(json_get(m, "files"), 0), mount_vs_store_median(m, "store_s"),
                        mount_vs_store_median(m, "mount_s"));
                fprintf(to, "rate over libstore: %.2f\n",
                        json_number(json_get(m, "mount_rate_over_store"), 0));
        }
}

static void small_says(const struct json *run, struct buf *to)
{
        const struct json *m = json_get(json_at(json_get(run, "job_results"), 0), "metrics");
        job_says(to,
                 "%.0f files of 4 KiB, written by 16 threads: libstore %.3f s, the mount %.3f s, "
                 "%.2f of its rate.",
                 json_number(json_get(m, "files"), 0), mount_vs_store_median(m, "store_s"),
                 mount_vs_store_median(m, "mount_s"),
                 json_number(json_get(m, "mount_rate_over_store"), 0));
}

const struct scenario scenario_small = {
        .name = "small",
        .text = "Many small files through a mount, by 16 threads, over libstore's time to put "
                "them.",
        .plan = small_plan,
        .job = small_job,
        .table = small_table,
        .says = small_says,
};
