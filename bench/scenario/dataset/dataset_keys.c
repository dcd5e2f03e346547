/* SPDX-License-Identifier: Apache-2.0 */
/* dataset_keys.c: what the keys of the scenario "dataset" mean. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "bench/scenario/dataset/dataset.h"
#include "bench/scenario/dataset/tar.h"

#include "base/banned.h"

/* The Python suite's names, and two for any storage. fsspec's file objects fetch blocks on
 * demand. */
static const struct dataset_kind kinds[] = {
        {.name = "iterable"},
        {.name = "map", .map = true},
        {.name = "s3iterabledataset", .storage = "s3"},
        {.name = "s3mapdataset", .storage = "s3", .map = true},
        {.name = "fsspec", .storage = "s3", .by_ranges = true},
        {.name = "mountpoint", .storage = "mount"},
        {.name = "mountpointcache", .storage = "mount", .cached = true},
};
enum { NKINDS = sizeof kinds / sizeof kinds[0] };

const struct dataset_kind *dataset_kind(const struct keys *k, char *why, size_t nwhy)
{
        CLEANUP(buf_release) struct buf b = BUF_INIT;
        const char *name = *k->loader_kind ? k->loader_kind : k->dataloader;

        for (size_t i = 0; i < NKINDS; i++) {
                if (!strcmp(kinds[i].name, name))
                        return &kinds[i];
                buf_addf(&b, "%s%s", i ? ", " : "", kinds[i].name);
        }
        snprintf(why, nwhy, "dataloader '%s' is unknown: give one of %s", name, b.p);
        return NULL;
}

const char *dataset_storage(const struct dataset_kind *kind, const struct keys *k, char *why,
                            size_t nwhy)
{
        if (!kind->storage)
                return sample_source_storage(k, why, nwhy);
        if (!strcmp(k->storage, "auto") || !strcmp(k->storage, kind->storage))
                return kind->storage;
        snprintf(why, nwhy,
                 "dataloader=%s reads from %s, not from storage=%s: give dataloader=%s, or no "
                 "storage",
                 kind->name, kind->storage, k->storage, kind->map ? "map" : "iterable");
        return NULL;
}

static int check_model(const struct keys *k, char *why, size_t nwhy)
{
        struct train_setup setup;

        if (!strcmp(k->model, "vit"))
                return learner_setup(k, &setup, why, nwhy);
        if (k->num_labels) {
                snprintf(why, nwhy, "num_labels is of model=vit: leave it out");
                return -EINVAL;
        }
        if (!strcmp(k->model, "entitlement") || !strcmp(k->model, "decode"))
                return 0;
        snprintf(why, nwhy, "model '%s' is unknown: give entitlement, decode or vit", k->model);
        return -EINVAL;
}

/* A cache on a disk is the mount's own affair; here it is known by its directory. */
static int check_cache(const struct dataset_kind *kind, const struct keys *k, char *why,
                       size_t nwhy)
{
        struct stat st;

        if (!kind->cached)
                return 0;
        if (!*k->mount_cache)
                snprintf(why, nwhy,
                         "dataloader=%s reads through a mount with a cache on a disk, and ckptfs "
                         "has none: mount the bucket by a program that has one and name its "
                         "directory in mount.cache, or leave %s out",
                         kind->name, kind->name);
        else if (stat(k->mount_cache, &st) || !S_ISDIR(st.st_mode))
                snprintf(why, nwhy,
                         "mount.cache=%s is no directory: name that where the mount keeps its "
                         "cache",
                         k->mount_cache);
        else
                return 0;
        return -EINVAL;
}

int dataset_check(const struct dataset_kind *kind, const struct keys *k, char *why, size_t nwhy)
{
        int err = check_model(k, why, nwhy);

        if (!err)
                err = check_cache(kind, k, why, nwhy);

        if (!err && k->direct) {
                snprintf(why, nwhy, "direct=on is for checkpoints, not for datasets: leave it out");
                err = -EINVAL;
        }
        if (!err && k->tar_shards && tar_missing()) {
                snprintf(why, nwhy, "sharding=on: %s", tar_missing());
                err = -EINVAL;
        }
        return err;
}

struct loader_how dataset_how(const struct dataset_kind *kind, const struct keys *k,
                              const struct coll *c)
{
        bool ranges = kind->by_ranges || k->reader_type == READER_RANGE_BASED;

        return (struct loader_how){
                .stream = {.ahead = !ranges, .block = ranges ? k->buffer_size : k->s3_read_size},
                .map = kind->map,
                .lists = !kind->map,
                .tars = k->tar_shards,
                .shuffle = k->shuffle,
                .verify = k->verify,
                .decode = !strcmp(k->model, "decode"),
                .labels = learner_labels(k),
                .seed = k->seed,
                .workers = k->num_workers,
                .batch = k->batch_size,
                .prefetch = k->prefetch_factor,
                .rank = c->rank,
                .ranks = c->ranks,
        };
}
