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
#include "bench/core/clock.h"
#include "bench/data/preflight.h"
#include "bench/scenario/mount_vs_store.h"
#include "bench/measure/stats.h"
#include "bench/core/signal_cleanup.h"
#include "bench/report/job.h"

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
        struct store_walk walk;
        size_t n = 0;
        CLEANUP(freep) char *next = NULL;
        uint64_t begin = clock_ns();
        int err = 0;

        snprintf(prefix, sizeof prefix, "%s/", dir);
        do {
                const struct store_list list = {
                        .walk = &walk, .prefix = prefix, .delim = "/", .continuation = next};
                char *more = NULL;
                err = store_list_wait(s, &list, count, &n, &more);
                free(next);
                next = more;
        } while (!err && next && n <= want);
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

static int measure(struct mount_vs_store *v, const char *dir, void *arg)
{
        const struct keys *k = v->k;
        char path[PATH_MAX];
        int err = mount_vs_store_path(v, dir, path);

        (void)arg;
        for (size_t e = 0; e < k->epochs && !err; e++) {
                if (e)
                        clock_sleep_ns(FORGET_NS);
                err = signal_came() ? -ECANCELED
                                    : time_store(v->store, dir, objects_of(k), &v->store_s[e]);
                if (err) {
                        mount_vs_store_fail(v, "list", err);
                        break;
                }
                err = time_mount(path, objects_of(k), &v->mount_s[e]);
                if (err)
                        run_error(v->run, "%s: %s: mount.path must show what is at s3.uri", path,
                                  strerror(-err));
        }
        return err;
}

static int list_plan(const struct run *r, const struct keys *k, FILE *dry, char *why, size_t nwhy)
{
        int err = mount_vs_store_check(r, k, why, nwhy);
        if (!err && dry)
                fprintf(dry, "would put %zu objects at %s and list them there and through %s\n",
                        objects_of(k), k->s3_uri, k->mount_path);
        const struct preflight n = {.moved = objects_of(k) * SIZE};
        return err ? err : preflight_check_at(r, &n, NULL, dry, why, nwhy);
}

static int list_job(const struct run *r, const struct keys *k, struct json *job)
{
        CLEANUP(mount_vs_store_end) struct mount_vs_store v;
        double store, mount;

        int err = mount_vs_store_begin(&v, r, k);
        if (!err)
                err = mount_vs_store_objects(&v, objects_of(k), SIZE, measure, NULL);
        if (err)
                return err;
        struct json *m = json_add_object(job, "metrics");
        json_add_number(m, "objects", (double)objects_of(k));
        err = mount_vs_store_json(&v, m, &store, &mount);
        if (!err)
                json_add_number(m, "mount_over_store", stats_ratio(mount, store));
        return err;
}

static void list_table(const struct json *run, FILE *to)
{
        const struct json *jobs = json_get(run, "job_results");
        for (size_t j = 0; j < json_count(jobs); j++) {
                const struct json *m = json_get(json_at(jobs, j), "metrics");
                fprintf(to, "listing %.0f objects: libstore %.3f s, mount %.3f s\n",
                        json_number(json_get(m, "objects"), 0), mount_vs_store_median(m, "store_s"),
                        mount_vs_store_median(m, "mount_s"));
                fprintf(to, "ls -l over libstore: %.2f\n",
                        json_number(json_get(m, "mount_over_store"), 0));
        }
}

static void list_says(const struct json *run, struct buf *to)
{
        const struct json *m = json_get(json_at(json_get(run, "job_results"), 0), "metrics");
        job_says(
                to,
                "Listing %.0f objects: libstore %.3f s, the mount as ls -l asks %.3f s, %.2f times "
                "as long.",
                json_number(json_get(m, "objects"), 0), mount_vs_store_median(m, "store_s"),
                mount_vs_store_median(m, "mount_s"),
                json_number(json_get(m, "mount_over_store"), 0));
}

const struct scenario scenario_list = {
        .name = "list",
        .text = "Names and attributes of many files through a mount, over libstore's time to list.",
        .plan = list_plan,
        .job = list_job,
        .table = list_table,
        .says = list_says,
};
