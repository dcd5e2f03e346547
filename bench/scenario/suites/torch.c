/* SPDX-License-Identifier: Apache-2.0 */
/* torch.c: see torch.h. */
#include "bench/scenario/suites/torch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "bench/format/format.h"
#include "bench/core/signal_cleanup.h"
#include "bench/format/torch.h"
#include "bench/data/model_keys.h"
#include "bench/data/preflight.h"
#include "bench/measure/stats.h"
#include "bench/scenario/suites/staged.h"

#include "base/banned.h"

const char *const torch_defaults[] = {"optimizer=off", "epochs=5", "format=torch", "fsync=off",
                                      NULL};

size_t torch_count_saves(const struct keys *k)
{
        return k->save_one_in ? (size_t)(k->epochs / k->save_one_in) : 0;
}

/* Whether a save goes by memory and a temporary file. */
static bool stages(const struct run *r, const struct io_storage *to)
{
        return strstr(r->scenario->name, "lightning") && to->ops == &io_posix;
}

static int torch_plan(const struct run *r, const struct keys *k, size_t saves, FILE *dry, char *why,
                      size_t nwhy)
{
        struct model m;
        char size[BYTES_TEXT];
        if (!io_find(k->storage, why, nwhy) || model_choose(k, &m, why, nwhy))
                return -EINVAL;
        if (dry)
                fprintf(dry, "would %s %s: %s, %zu times, on %s, files SUFFIX/%s-N.ckpt\n",
                        r->scenario->name, m.name,
                        bytes_text(model_params(&m) * model_param_bytes(&m, k->optimizer), size),
                        saves, k->storage, m.name);
        uint64_t bytes = model_params(&m) * model_param_bytes(&m, k->optimizer);
        bool staged = !k->sharded && stages(r, io_find(k->storage, why, nwhy));
        char *top = NULL;
        if (staged && staged_top(&top, why, nwhy))
                return -EINVAL;
        const struct preflight n = {
                .moved = 2 * bytes * saves,
                .stored = bytes * (k->keep ? saves : 1),
                .shards = staged ? bytes : 0,
                .held = bytes,
        };
        int err = preflight_check(r, k, &n, dry, why, nwhy);
        return err || !staged ? err : preflight_check_staging(r, top, bytes, dry, why, nwhy);
}

int torch_plan_epochs(const struct run *r, const struct keys *k, FILE *dry, char *why, size_t nwhy)
{
        if (torch_count_saves(k))
                return torch_plan(r, k, torch_count_saves(k), dry, why, nwhy);
        snprintf(why, nwhy, "save_one_in=%llu of %llu epochs saves nothing: give a smaller one",
                 (unsigned long long)k->save_one_in, (unsigned long long)k->epochs);
        return -EINVAL;
}

static void fail(void *arg, const char *what, int err)
{
        struct torch_job *j = arg;
        char text[512];

        if (err == -ECANCELED)
                return;
        payload_why(&j->payload, err, j->timed.io ? j->timed.io->why : NULL, text, sizeof text);
        run_error(j->run, "%s of %s/%s: %s", what, j->dir, j->file, text);
}

/* The file's bytes with the seed of a save; the same size each time. */
static int plan_bytes(struct torch_job *j, uint64_t seed)
{
        struct shard *s = &j->payload.shard;
        shard_release(s);
        int err = shard_plan(&j->model, j->k->optimizer, SHARD_WHOLE, 0, 1, s);
        s->seed = seed;
        if (!err)
                err = j->lightning ? lightning_wrap(s) : torch_wrap(s);
        payload_init(&j->payload, j->k->verify);
        return err;
}

static int make_ready(struct torch_job *j, const char *dir, char *why, size_t nwhy)
{
        struct coll *c = j->run->coll;
        bool held = false;

        int err = model_choose(j->k, &j->model, why, nwhy);
        j->save = calloc(j->nsaves + 1, sizeof *j->save);
        j->load = calloc(j->nloads + 1, sizeof *j->load);
        if (!err && (!j->save || !j->load))
                err = -ENOMEM;
        if (!err)
                err = plan_bytes(j, j->k->seed);
        if (!err)
                err = payload_choose(c,
                                     j->payload.shard.size * (stages(j->run, j->storage) ? 2 : 1),
                                     j->k->hold, &held);
        if (!err && held)
                err = payload_hold(&j->payload);
        if (!err && dir)
                snprintf(j->dir, sizeof j->dir, "%.*s", (int)strcspn(dir, "/"), dir);
        else if (!err)
                err = run_name(c, j->dir);
        return err;
}

int torch_begin(struct torch_job *j, const struct run *r, const struct keys *k, const char *dir,
                size_t saves, size_t loads)
{
        char why[512] = "";

        *j = (struct torch_job){
                .run = r,
                .k = k,
                .lightning = strstr(r->scenario->name, "lightning"),
                .storage = io_find(k->storage, why, sizeof why),
                .nsaves = saves,
                .nloads = loads,
                .dropped = "none",
                .use = SAMPLER_INIT,
        };
        timed_init(&j->timed, r->coll, k, k->storage);
        int err = make_ready(j, dir, why, sizeof why);
        if (err) {
                run_error(r, "cannot prepare: %s", *why ? why : strerror(-err));
                return err;
        }
        err = j->storage->ops->start(k, j->storage->name, j->dir, 0, &j->timed.io, why, sizeof why);
        if (!err && stages(r, j->storage))
                err = staged_start(k, j->dir, &j->staging, why, sizeof why);
        if (err && err != -ECANCELED)
                run_error(r, "%s", why);
        if (err)
                return err;
        return sampler_start(&j->use);
}

void torch_end(struct torch_job *j)
{
        sampler_stop(&j->use);
        sampler_release(&j->use);
        staged_stop(j->staging);
        if (j->timed.io)
                j->storage->ops->stop(j->timed.io, !j->k->keep || signal_came());
        payload_release(&j->payload);
        free(j->save);
        free(j->load);
}

void torch_name(const struct torch_job *j, size_t i, char out[TORCH_NAME_MAX])
{
        snprintf(out, TORCH_NAME_MAX, "%s-%zu.ckpt", j->model.name, i);
}

static bool verifies(const struct torch_job *j)
{
        return j->k->verify && !(j->timed.io->ops->flags & IO_EMPTY);
}

/* The bytes of save i, unless they are planned already. */
static int plan_save(struct torch_job *j, size_t i)
{
        return j->payload.shard.seed == j->k->seed + i ? 0 : plan_bytes(j, j->k->seed + i);
}

int torch_save(struct torch_job *j, size_t i, const char *name, struct sample *out)
{
        j->file = name;
        int err = plan_save(j, i);
        if (!err)
                err = payload_fill(&j->payload);
        if (err)
                return err;
        sampler_resume(&j->use); /* the suites look while they save, and at no other time */
        err = j->staging ? staged_save(&j->timed, j->staging, name, &j->payload, out, fail, j)
                         : timed_save(&j->timed, name, &j->payload.data, out, fail, j);
        sampler_pause(&j->use);
        return err;
}

int torch_load(struct torch_job *j, size_t i, const char *name, struct sample *out)
{
        j->file = name;
        int err = plan_save(j, i);
        if (!err)
                err = timed_drop(&j->timed, name, j->k->drop, &j->dropped, fail, j);
        if (!err && verifies(j))
                err = payload_wipe(&j->payload);
        if (!err)
                err = timed_load(&j->timed, name, &j->payload.data, out, fail, j);
        if (err || !verifies(j))
                return err;
        err = payload_check(&j->payload);
        if (!err)
                err = timed_check_size(j->timed.io, name, j->payload.data.size);
        if (err)
                fail(j, "load", err);
        return err;
}

int torch_remove(struct torch_job *j, const char *name)
{
        j->file = name;
        int err = j->timed.io->ops->remove(j->timed.io, name);
        if (err)
                fail(j, "remove", err);
        return err;
}

int torch_report(struct torch_job *j, struct json *job, struct json **suite)
{
        double mib = (double)j->payload.shard.size / (1 << 20);
        struct shards_facts facts = {
                .keys = j->k,
                .epochs = j->nsaves,
                .loads = j->nloads,
                .model = &j->model,
                .ranks = 1,
                .suffix = j->dir,
                .held = payload_held(&j->payload),
                .verified = verifies(j) && j->nloads,
                .moves_data = !(j->timed.io->ops->flags & IO_EMPTY),
                .dropped = j->dropped,
                .mount_pid = j->timed.mount,
                .save = j->nsaves ? j->save : NULL,
                .load = j->nloads ? j->load : NULL,
        };
        sampler_stop(&j->use);
        int err = shards_json(&facts, job);
        if (err)
                return err;
        *suite = json_open_object(job, "metrics");
        struct json *rates = json_add_array(*suite, "throughput_mibs");
        struct json *times = json_add_array(*suite, "save_times_s");
        for (size_t i = 0; i < j->nsaves; i++) {
                json_add_number(rates, NULL, stats_ratio(mib, j->save[i].total));
                json_add_number(times, NULL, j->save[i].total);
        }
        return sampler_json(&j->use, json_add_object(*suite, "utilization"));
}
