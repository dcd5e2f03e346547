/* SPDX-License-Identifier: Apache-2.0 */
/* lightning_singlenode.c: the Dataflux benchmark of one node: a step saves the whole model as one
 * file, all steps first; then the files that stay are loaded. */
#include <errno.h>

#include "base/cleanup.h"
#include "bench/format/format.h"
#include "bench/scenario/suites/dataflux.h"
#include "bench/scenario/dcp/rotation.h"
#include "bench/scenario/suites/torch.h"
#include "bench/report/shards_table.h"

#include "base/banned.h"

static int resolve_keys(struct keys *k, char *why, size_t nwhy)
{
        k->num_save_calls = k->steps / k->steps_per_save;
        k->num_load_calls = k->save_only_latest ? 1 : k->num_save_calls;
        if (!k->num_save_calls) {
                snprintf(why, nwhy, "steps=%llu with a save every %llu saves nothing: give more",
                         (unsigned long long)k->steps, (unsigned long long)k->steps_per_save);
                return -EINVAL;
        }
        return dataflux_resolve_keys(k, why, nwhy);
}

/* Saves all; the names of those that go are removed as soon as the next is there. */
static int save_steps(struct torch_job *j, struct rotation *latest)
{
        char name[TORCH_NAME_MAX];
        int err = 0;
        for (size_t i = 0; i < j->nsaves && !err; i++) {
                torch_name(j, i, name);
                err = torch_save(j, i, name, &j->save[i]);
                size_t gone = err ? ROTATION_NONE : rotation_add(latest, i);
                if (gone != ROTATION_NONE) {
                        torch_name(j, gone, name);
                        err = torch_remove(j, name);
                }
        }
        return err;
}

static int load_steps(struct torch_job *j, const struct rotation *latest)
{
        char name[TORCH_NAME_MAX];
        int err = 0;
        for (size_t i = 0; i < j->nloads && !err; i++) {
                /* of another run: its last one, where only that stayed */
                size_t other = j->k->save_only_latest ? j->k->steps / j->k->steps_per_save - 1 : i;
                size_t save = latest->n ? latest->kept[i % latest->n] : other;
                torch_name(j, save, name);
                err = torch_load(j, save, name, &j->load[i]);
        }
        return err;
}

static int remove_steps(struct torch_job *j, const struct rotation *latest)
{
        char name[TORCH_NAME_MAX];
        int err = 0;
        for (size_t i = 0; i < latest->n && !j->k->keep && j->k->phase == PHASE_BOTH; i++) {
                torch_name(j, latest->kept[i], name);
                int gone = torch_remove(j, name);
                err = err ? err : gone;
        }
        return err;
}

static int report(struct torch_job *j, struct json *job)
{
        struct json *suite;
        int err = torch_report(j, job, &suite);
        double *v = err ? NULL : calloc(j->nsaves + j->nloads + 1, sizeof *v);
        if (!v)
                return err ? err : -ENOMEM;
        for (size_t i = 0; i < j->nsaves; i++)
                v[i] = j->save[i].total;
        for (size_t i = 0; i < j->nloads; i++)
                v[j->nsaves + i] = j->load[i].total;
        err = dataflux_times(suite, "save", v, j->nsaves);
        if (!err)
                err = dataflux_times(suite, "load", v + j->nsaves, j->nloads);
        free(v);
        if (j->run->log)
                dataflux_lines(job, j->run->log);
        return err;
}

static int work(const struct run *run, const struct keys *k, struct json *job)
{
        CLEANUP(rotation_release) struct rotation latest = {0};
        struct torch_job j;

        int err = torch_begin(&j, run, k, *k->suffix ? k->suffix : NULL, k->num_save_calls,
                              k->num_load_calls);
        if (!err)
                err = rotation_init(&latest, k->save_only_latest, false, k->num_save_calls);
        if (!err)
                err = save_steps(&j, &latest);
        if (!err)
                err = load_steps(&j, &latest);
        if (latest.kept) {
                int gone = remove_steps(&j, &latest);
                err = err ? err : gone;
        }
        if (!err)
                err = report(&j, job);
        torch_end(&j);
        return err;
}

static const char *const defaults[] = {"model=demo", "model.layers=100", "optimizer=off",
                                       "steps=5",    "format=torch",     "fsync=off",
                                       NULL};

static const struct run_flag flags[] = {
        {"--project", "", NULL}, /* a bucket's name says enough */
        {"--ckpt-dir-path", "CKPT_DIR_PATH", NULL},
        {"--save-only-latest", "save_only_latest", "on"},
        {"--layers", "model.layers", NULL},
        {"--steps", "steps", NULL},
        {"--clear-kernel-cache", "clear_kernel_cache", "on"},
        {NULL, NULL, NULL},
};

const struct scenario scenario_lightning_singlenode = {
        .name = "lightning_singlenode",
        .text = "One rank saves the demo transformer as one file at each step, then loads them.",
        .device = true,
        .defaults = defaults,
        .flags = flags,
        .dataflux = true,
        .resolve_keys = resolve_keys,
        .formats = 1U << FORMAT_TORCH,
        .plan = dataflux_plan,
        .job = work,
        .table = dataflux_table,
        .says = shards_says,
        .page = shards_page,
};
