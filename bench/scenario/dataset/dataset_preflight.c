/* SPDX-License-Identifier: Apache-2.0 */
/* dataset_preflight.c: what a run over a dataset will move, before anything is read: a directory is
 * listed. A bucket is not asked in a plan, and a mount may be on another machine than the one that
 * plans, but the name that datagen gives a dataset tells. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "bench/data/model.h"
#include "bench/data/preflight.h"
#include "bench/scenario/dataset/dataset.h"
#include "bench/scenario/dataset/image.h"

#include "base/banned.h"

struct amount {
        uint64_t samples, bytes, largest; /* 0: not known */
};

/* "100k_496x387_images_64MiB_shards", also behind a prefix. */
static struct amount by_name(const struct keys *k)
{
        char name[256], why[200];
        unsigned width, height;
        uint64_t each = 0;
        char *end;
        int used = 0;

        snprintf(name, sizeof name, "%s", k->dataset);
        for (size_t n = strlen(name); n && name[n - 1] == '/'; n--)
                name[n - 1] = 0;
        const char *slash = strrchr(name, '/');
        unsigned long long n = strtoull(slash ? slash + 1 : name, &end, 10);
        uint64_t unit = *end == 'k' ? 1000 : *end == 'M' ? 1000000 : 1;
        if (sscanf(end + (unit > 1), "_%5ux%5u_images%n", &width, &height, &used) != 2 || !used ||
            n > UINT32_MAX || !width || !height || width > IMAGE_SIDE_MAX ||
            height > IMAGE_SIDE_MAX)
                return (struct amount){0};
        const struct image_format *f = image_find(k->image_format, why, sizeof why);
        if (f && image_estimate(f, width, height, &each))
                each = 0;
        return (struct amount){.samples = n * unit, .bytes = n * unit * each, .largest = each};
}

/* 0, or a negative errno with `why`. */
static int by_list(const struct keys *k, const char *storage, struct amount *out, char *why,
                   size_t nwhy)
{
        struct sample_list l = SAMPLE_LIST_INIT;
        struct sample_source *p = NULL;
        int err = sample_source_open(k, storage, k->dataset, false, &p, why, nwhy);

        if (!err && (err = sample_source_list(p, &l)))
                snprintf(why, nwhy, "%s: %s: name a directory that can be read",
                         sample_source_text(p), strerror(-err));
        for (size_t i = 0; i < l.n; i++) {
                out->bytes += l.v[i].size;
                out->largest = l.v[i].size > out->largest ? l.v[i].size : out->largest;
        }
        if (!k->tar_shards || !out->samples)
                out->samples = l.n;
        sample_source_list_release(&l);
        sample_source_close(p);
        return err;
}

/* The directory that is there and below which checkpoints will be. */
static void directory_of(const struct keys *k, char out[PATH_MAX])
{
        snprintf(out, PATH_MAX, "%s", *k->ckpt_uri ? k->ckpt_uri : k->path);
        while (*out && access(out, F_OK)) {
                char *slash = strrchr(out, '/');
                if (slash == out)
                        slash++;
                else if (!slash)
                        slash = out;
                *slash = 0;
        }
        if (!*out)
                snprintf(out, PATH_MAX, ".");
}

int dataset_preflight(const struct run *r, const struct keys *k, const char *storage, FILE *dry,
                      char *why, size_t nwhy)
{
        struct train_setup learns;
        const struct model *m = model_find(k->ckpt_model);
        const struct amount named = by_name(k);
        struct amount a = named;
        bool bucket = !strcmp(storage, "s3") || !strcmp(storage, "gcs");
        char path[PATH_MAX];
        struct loader_how how;

        if (!bucket && (dry || k->ckpt_save_one_in)) {
                a.bytes = a.largest = 0;
                int err = by_list(k, storage, &a, why, nwhy);
                if (err && (!dry || !named.bytes))
                        return err;
                if (err)
                        a = named;
        }
        how = dataset_how(dataset_kind(k, why, nwhy), k, r->coll);
        uint64_t block = a.largest && a.largest < how.stream.block ? a.largest : how.stream.block;
        struct preflight n = {
                .moved = a.bytes * k->epochs,
                .memory = block * (how.stream.ahead ? 2 : 1) * (how.workers ? how.workers : 1),
        };
        if (learner_labels(k)) {
                int err = learner_setup(k, &learns, why, nwhy);
                if (err)
                        return err;
                m = &learns.model;
                n.memory += learner_bytes(k, r->coll->ranks);
                if (k->ckpt_save_one_in) /* the copy in rank 0 */
                        n.memory += model_params(m) * sizeof(float) / r->coll->host_ranks;
                if (dry)
                        fprintf(dry,
                                "  %s learns: %llu parameters, %.4g operations a step and rank\n",
                                m->name, (unsigned long long)model_params(m),
                                network_flop(m, k->batch_size));
        }
        if (k->ckpt_save_one_in && m) {
                uint64_t batches = a.samples / r->coll->ranks / k->batch_size;
                uint64_t save = model_params(m) * model_param_bytes(m, false);
                n.stored = save * (batches / k->ckpt_save_one_in);
                n.moved += n.stored * k->epochs;
        }
        directory_of(k, path);
        bool disk = n.stored && !strcmp(k->ckpt_destination, "disk");
        return preflight_check_at(r, &n, disk ? path : NULL, dry, why, nwhy);
}
