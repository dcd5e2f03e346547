/* SPDX-License-Identifier: Apache-2.0 */
/* list.c: the scenario "list": names and attributes of many files through a mount, as `ls -l` takes
 * them, over the time in which libstore lists the objects. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "bench/bucket.h"
#include "bench/clock.h"
#include "bench/measure.h"
#include "bench/run.h"
#include "bench/stats.h"
#include "bench/stop.h"

#include "base/banned.h"

enum { OBJECTS = 100000, SIZE = 16 };
/* Longer than what a mount believes of names unless told otherwise (attr_ttl). */
#define FORGET_NS 2500000000ULL

static size_t objects_of(const struct keys *k)
{
        return k->objects ? k->objects : OBJECTS;
}

static void count(void *arg, const struct store_entry *e)
{
        (void)e;
        (*(size_t *)arg)++;
}

static int time_store(struct store *s, const char *dir, size_t want, double *out)
{
        char prefix[BUCKET_NAME_MAX];
        size_t n = 0;
        CLEANUP(freep) char *next = NULL;
        uint64_t begin = clock_ns();
        int err = 0;

        snprintf(prefix, sizeof prefix, "%s/", dir);
        do {
                const struct store_list list = {
                        .prefix = prefix, .delim = "/", .continuation = next};
                char *more = NULL;
                err = store_list_wait(s, &list, count, &n, &more);
                free(next);
                next = more;
        } while (!err && next);
        *out = clock_s(clock_ns() - begin);
        return err ? err : n == want ? 0 : -EIO;
}

/* What `ls -l` asks of each name: its attributes, then its label and access list until the file
 * system says that it has none. */
static int look(int dir, const char *path, const char *name, bool *labels)
{
        char full[PATH_MAX], value[256];
        struct stat st;

        if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW))
                return -errno;
        if (!*labels || snprintf(full, sizeof full, "%s/%s", path, name) >= PATH_MAX)
                return 0;
        if (lgetxattr(full, "security.selinux", value, sizeof value) < 0 && errno != ENODATA)
                *labels = false;
        if (*labels)
                lgetxattr(full, "system.posix_acl_access", value, sizeof value);
        return 0;
}

static int time_mount(const char *path, size_t want, double *out)
{
        uint64_t begin = clock_ns();
        bool labels = true;
        size_t n = 0;
        int err = 0;
        DIR *d = opendir(path);

        if (!d)
                return -errno;
        for (struct dirent *e; !err && (e = readdir(d));) {
                if (*e->d_name == '.')
                        continue;
                n++;
                err = look(dirfd(d), path, e->d_name, &labels);
        }
        closedir(d);
        *out = clock_s(clock_ns() - begin);
        return err ? err : n == want ? 0 : -EIO;
}

static int measure(const struct run *r, const struct keys *k, struct store *s, const char *dir,
                   double *store, double *mount)
{
        char path[PATH_MAX];
        int err = 0;

        if (snprintf(path, sizeof path, "%s/%s", k->mount_path, dir) >= PATH_MAX)
                return -ENAMETOOLONG;
        for (size_t e = 0; e < k->epochs && !err; e++) {
                if (e)
                        clock_sleep_ns(FORGET_NS);
                err = stop_wanted() ? -ECANCELED : time_store(s, dir, objects_of(k), &store[e]);
                if (err && err != -ECANCELED)
                        run_error(r, "%s/%s: list: %s", k->s3_uri, dir, strerror(-err));
                if (err)
                        break;
                err = time_mount(path, objects_of(k), &mount[e]);
                if (err)
                        run_error(r, "%s: %s: mount.path must show what is at s3.uri", path,
                                  strerror(-err));
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
        json_add_number(m, "objects", (double)objects_of(k));
        if (measure_values_json(m, "store_s", store, k->epochs) ||
            measure_values_json(m, "mount_s", mount, k->epochs))
                return -ENOMEM;
        json_add_number(m, "mount_over_store", stats_ratio(b.median, a.median));
        return 0;
}

static int list_plan(const struct run *r, const struct keys *k, FILE *dry, char *why, size_t nwhy)
{
        (void)r;
        if (!*k->mount_path || !*k->s3_uri) {
                snprintf(why, nwhy,
                         "list compares a mount with its store: give mount.path= and the "
                         "s3.uri= that is mounted there");
                return -EINVAL;
        }
        if (dry)
                fprintf(dry, "would put %zu objects at %s and list them there and through %s\n",
                        objects_of(k), k->s3_uri, k->mount_path);
        return 0;
}

static int list_job(const struct run *r, const struct keys *k, struct json *job)
{
        char why[512], dir[64];
        size_t n = objects_of(k);
        struct store *s = NULL;
        CLEANUP(freep) double *store = calloc(k->epochs, sizeof *store);
        CLEANUP(freep) double *mount = calloc(k->epochs, sizeof *mount);
        int err = store && mount ? bucket_open(k, "s3", &s, why, sizeof why) : -ENOMEM;

        if (err) {
                run_error(r, "%s", err == -ENOMEM ? strerror(ENOMEM) : why);
                return err;
        }
        snprintf(dir, sizeof dir, "list-%d", (int)getpid());
        err = bucket_fill(s, dir, n, SIZE);
        if (err && err != -ECANCELED)
                run_error(r, "%s: put: %s", k->s3_uri, strerror(-err));
        if (!err)
                err = measure(r, k, s, dir, store, mount);
        int gone = bucket_empty(s, dir, n);
        store_close(s);
        if (!err && gone)
                run_error(r, "%s: delete: %s", k->s3_uri, strerror(-gone));
        return err ? err : gone ? gone : add_metrics(job, k, store, mount);
}

static double median_of(const struct json *m, const char *name)
{
        return json_number(json_get(json_get(m, name), "median"), 0);
}

static void list_table(const struct json *run, FILE *to)
{
        const struct json *jobs = json_get(run, "job_results");
        for (size_t j = 0; j < json_count(jobs); j++) {
                const struct json *m = json_get(json_at(jobs, j), "metrics");
                fprintf(to, "listing %.0f objects: libstore %.3f s, mount %.3f s\n",
                        json_number(json_get(m, "objects"), 0), median_of(m, "store_s"),
                        median_of(m, "mount_s"));
                fprintf(to, "ls -l over libstore: %.2f\n",
                        json_number(json_get(m, "mount_over_store"), 0));
        }
}

static void list_page(const struct json *run, struct doc *d)
{
        const struct json *m = json_get(json_at(json_get(run, "job_results"), 0), "metrics");
        doc_say(d,
                "Listing %.0f objects: libstore %.3f s, the mount as ls -l asks %.3f s, %.2f times "
                "as long.",
                json_number(json_get(m, "objects"), 0), median_of(m, "store_s"),
                median_of(m, "mount_s"), json_number(json_get(m, "mount_over_store"), 0));
}

const struct scenario scenario_list = {
        .name = "list",
        .text = "Names and attributes of many files through a mount, over libstore's time to list.",
        .plan = list_plan,
        .job = list_job,
        .table = list_table,
        .page = list_page,
};
