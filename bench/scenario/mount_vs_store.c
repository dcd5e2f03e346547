/* SPDX-License-Identifier: Apache-2.0 */
/* mount_vs_store.c: see mount_vs_store.h. */
#include "bench/scenario/mount_vs_store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "bench/measure/measure.h"

#include "base/banned.h"

int mount_vs_store_check(const struct run *r, const struct keys *k, char *why, size_t nwhy)
{
        if (*k->mount_path && *k->s3_uri)
                return 0;
        snprintf(why, nwhy,
                 "%s compares a mount with its store: give mount.path= and the s3.uri= that is "
                 "mounted there",
                 r->scenario->name);
        return -EINVAL;
}

int mount_vs_store_begin(struct mount_vs_store *v, const struct run *r, const struct keys *k)
{
        char why[512] = "out of memory: give fewer epochs=";

        *v = (struct mount_vs_store){
                .run = r,
                .k = k,
                .store_s = calloc(k->epochs, sizeof *v->store_s),
                .mount_s = calloc(k->epochs, sizeof *v->mount_s),
        };
        int err = v->store_s && v->mount_s ? bucket_open(k, "s3", &v->store, why, sizeof why)
                                           : -ENOMEM;
        if (err)
                run_error(r, "%s", why);
        return err;
}

void mount_vs_store_end(struct mount_vs_store *v)
{
        bucket_close(v->store);
        freep(&v->store_s);
        freep(&v->mount_s);
        v->store = NULL;
}

void mount_vs_store_fail(const struct mount_vs_store *v, const char *what, int err)
{
        if (err != -ECANCELED)
                run_error(v->run, "%s: %s: %s", v->k->s3_uri, what, strerror(-err));
}

int mount_vs_store_objects(struct mount_vs_store *v, size_t n, size_t size,
                           mount_vs_store_work_fn *work, void *arg)
{
        char dir[64];

        snprintf(dir, sizeof dir, "%s-%d", v->run->scenario->name, (int)getpid());
        int err = bucket_fill(v->store, dir, n, size);
        if (err)
                mount_vs_store_fail(v, "put", err);
        else
                err = work(v, dir, arg);
        int gone = bucket_empty(v->store, dir, n);
        if (gone)
                mount_vs_store_fail(v, "delete", gone);
        return err ? err : gone;
}

int mount_vs_store_path(const struct mount_vs_store *v, const char *name, char out[PATH_MAX])
{
        if (snprintf(out, PATH_MAX, "%s/%s", v->k->mount_path, name) < PATH_MAX)
                return 0;
        run_error(v->run, "%s/%s: %s: give a shorter mount.path=", v->k->mount_path, name,
                  strerror(ENAMETOOLONG));
        return -ENAMETOOLONG;
}

int mount_vs_store_json(const struct mount_vs_store *v, struct json *metrics, double *store,
                        double *mount)
{
        struct stats a, b;

        if (stats_of(v->store_s, v->k->epochs, &a) || stats_of(v->mount_s, v->k->epochs, &b) ||
            measure_each_json(metrics, "store_s", v->store_s, v->k->epochs) ||
            measure_each_json(metrics, "mount_s", v->mount_s, v->k->epochs))
                return -ENOMEM;
        *store = a.median;
        *mount = b.median;
        return 0;
}

double mount_vs_store_median(const struct json *metrics, const char *name)
{
        return json_number(json_get(json_get(metrics, name), "median"), 0);
}
