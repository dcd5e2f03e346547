/* SPDX-License-Identifier: Apache-2.0 */
/* mount_vs_store.h: a mount beside its store, told apart by the time that both take for the same:
 * what the scenarios firstbyte, list and small share. All block. */
#ifndef CKPTFS_BENCH_SCENARIO_MOUNT_VS_STORE_H
#define CKPTFS_BENCH_SCENARIO_MOUNT_VS_STORE_H

#include "bench/io/bucket.h"
#include "bench/core/run.h"

struct mount_vs_store {
        const struct run *run;
        const struct keys *k;
        struct store *store;
        double *store_s, *mount_s; /* seconds, an epoch each */
};

/* Whether the keys name both: 0, or -EINVAL with one line in `why`. */
int mount_vs_store_check(const struct run *r, const struct keys *k, char *why, size_t nwhy);

/* Opens the store. 0 or a negative errno after run_error(). mount_vs_store_end() in both cases. */
int mount_vs_store_begin(struct mount_vs_store *v, const struct run *r, const struct keys *k);
void mount_vs_store_end(struct mount_vs_store *v);

/* Puts n objects of `size` bytes below a directory of this process, has `work` look at them and
 * deletes them. 0, or the first error, which was said by run_error(); work() says its own. */
typedef int mount_vs_store_work_fn(struct mount_vs_store *v, const char *dir, void *arg);
int mount_vs_store_objects(struct mount_vs_store *v, size_t n, size_t size,
                           mount_vs_store_work_fn *work, void *arg);

/* The place in the mount of a name in the store. 0, or -ENAMETOOLONG after run_error(). */
int mount_vs_store_path(const struct mount_vs_store *v, const char *name, char out[PATH_MAX]);

/* What failed at the store; nothing for -ECANCELED. */
void mount_vs_store_fail(const struct mount_vs_store *v, const char *what, int err);

/* Adds both times of all epochs, "store_s" and "mount_s", and their medians to *store and *mount.
 * 0 or -ENOMEM. */
int mount_vs_store_json(const struct mount_vs_store *v, struct json *metrics, double *store,
                        double *mount);

/* Of the results: the median of one of a job's metrics; 0 when it is not there. */
double mount_vs_store_median(const struct json *metrics, const char *name);

#endif
