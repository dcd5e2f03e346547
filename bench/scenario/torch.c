/* SPDX-License-Identifier: Apache-2.0 */
/* torch.c: the scenarios pytorch_checkpointing and lightning_checkpointing: one file of the whole
 * model, as torch.save() writes it, saved by one rank and loaded again, epoch by epoch. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "bench/cpu.h"
#include "bench/format/format.h"
#include "bench/fresh.h"
#include "bench/model_keys.h"
#include "bench/payload.h"
#include "bench/run.h"
#include "bench/sampler.h"
#include "bench/shards_table.h"
#include "bench/timed.h"

#include "base/banned.h"

struct torch_job {
        const struct run *run;
        const struct keys *k;
        const struct io_storage *storage;
        struct model model;
        struct payload payload;
        struct timed timed;
        char dir[FRESH_NAME_MAX];
        struct sample *save, *load; /* a save each */
        size_t saves;
        const char *dropped;
};

static size_t count_saves(const struct keys *k)
{
        return k->save_one_in ? (size_t)(k->epochs / k->save_one_in) : 0;
}

static int torch_plan(const struct run *r, const struct keys *k, FILE *dry, char *why, size_t nwhy)
{
        struct model m;
        if (!io_find(k->storage, why, nwhy) || model_choose(k, &m, why, nwhy))
                return -EINVAL;
        if (!count_saves(k)) {
                snprintf(why, nwhy,
                         "save_one_in=%llu of %llu epochs saves nothing: give a smaller one",
                         (unsigned long long)k->save_one_in, (unsigned long long)k->epochs);
                return -EINVAL;
        }
        if (dry)
                fprintf(dry, "would %s %s: %.3f GB, %zu times, on %s, files SUFFIX/%s-N.ckpt\n",
                        r->scenario->name, m.name,
                        (double)(model_params(&m) * model_param_bytes(&m, k->optimizer)) / 1e9,
                        count_saves(k), k->storage, m.name);
        return 0;
}

static void fail(void *arg, const char *what, int err)
{
        struct torch_job *j = arg;
        char text[512];

        if (err == -ECANCELED)
                return;
        if (err == -EBADMSG && j->payload.fault.first.piece)
                payload_explain(&j->payload, text, sizeof text);
        else
                snprintf(text, sizeof text, "%s",
                         j->timed.io && *j->timed.io->why ? j->timed.io->why : strerror(-err));
        run_error(j->run, "%s: %s", what, text);
}

/* The file's bytes with the seed of a save; the same size each time. */
static int plan_bytes(struct torch_job *j, uint64_t seed)
{
        struct shard *s = &j->payload.shard;
        shard_release(s);
        int err = shard_plan(&j->model, j->k->optimizer, SHARD_WHOLE, 0, 1, s);
        s->seed = seed;
        if (!err)
                err = torch_wrap(s);
        payload_init(&j->payload, j->k->verify);
        return err;
}

static int prepare(struct torch_job *j)
{
        struct coll *c = j->run->coll;
        char why[512] = "";
        bool held = false;

        int err = model_choose(j->k, &j->model, why, sizeof why);
        j->saves = count_saves(j->k);
        j->save = calloc(j->saves, sizeof *j->save);
        j->load = calloc(j->saves, sizeof *j->load);
        if (!err && (!j->save || !j->load))
                err = -ENOMEM;
        if (!err)
                err = plan_bytes(j, j->k->seed);
        if (!err)
                err = payload_choose(c, j->payload.shard.size, j->k->hold, &held);
        if (!err && held)
                err = payload_hold(&j->payload);
        if (!err)
                err = fresh_name(c, j->dir);
        if (err) {
                run_error(j->run, "cannot prepare: %s", *why ? why : strerror(-err));
                return err;
        }
        err = j->storage->ops->start(j->k, j->storage->name, j->dir, 0, &j->timed.io, why,
                                     sizeof why);
        if (err)
                run_error(j->run, "%s", why);
        if (!strcmp(j->k->storage, "mount"))
                j->timed.mount =
                        j->k->mount_pid ? (pid_t)j->k->mount_pid : cpu_find_mount(j->k->mount_path);
        j->timed.server = (pid_t)j->k->server_pid;
        return err;
}

static int one_save(struct torch_job *j, size_t i)
{
        char name[128];
        struct timed *t = &j->timed;
        bool verify = j->k->verify && !(t->io->ops->flags & IO_EMPTY);

        snprintf(name, sizeof name, "%s-%zu.ckpt", j->model.name, i);
        int err = plan_bytes(j, j->k->seed + i);
        if (!err)
                err = payload_fill(&j->payload);
        if (!err)
                err = timed_save(t, name, &j->payload.data, &j->save[i], fail, j);
        if (err)
                return err;
        err = timed_drop(t, name, j->k->drop, &j->dropped, fail, j);
        if (!err && verify)
                err = payload_wipe(&j->payload);
        if (!err)
                err = timed_load(t, name, &j->payload.data, &j->load[i], fail, j);
        if (!err && verify && (err = payload_check(&j->payload)))
                fail(j, "load", err);
        int gone = j->k->keep && !err ? 0 : t->io->ops->remove(t->io, name);
        if (gone)
                fail(j, "remove", gone);
        return err ? err : gone;
}

static int report(const struct torch_job *j, const struct sampler *use, struct json *job)
{
        double mib = (double)j->payload.shard.size / (1 << 20);
        struct shards_facts facts = {
                .keys = j->k,
                .epochs = j->saves,
                .model = &j->model,
                .ranks = 1,
                .suffix = j->dir,
                .held = j->payload.data.mem,
                .verified = j->k->verify && !(j->timed.io->ops->flags & IO_EMPTY),
                .moves_data = !(j->timed.io->ops->flags & IO_EMPTY),
                .dropped = j->dropped,
                .mount_pid = j->timed.mount,
                .save = j->save,
                .load = j->load,
        };
        int err = shards_json(&facts, job);
        if (err)
                return err;
        struct json *suite = json_add_object(job, "suite");
        struct json *rates = json_add_array(suite, "throughput_mibs");
        struct json *times = json_add_array(suite, "save_times_s");
        for (size_t i = 0; i < j->saves; i++) {
                json_add_number(rates, NULL, stats_ratio(mib, j->save[i].total));
                json_add_number(times, NULL, j->save[i].total);
        }
        return sampler_json(use, json_add_object(suite, "utilization"));
}

static int torch_job(const struct run *r, const struct keys *k, struct json *job)
{
        char why[512];
        CLEANUP(sampler_release) struct sampler use = SAMPLER_INIT;
        struct torch_job j = {
                .run = r,
                .k = k,
                .storage = io_find(k->storage, why, sizeof why),
                .timed = {.coll = r->coll},
                .dropped = "none",
        };
        int err = prepare(&j);
        if (!err)
                err = sampler_start(&use);
        for (size_t i = 0; i < j.saves && !err; i++)
                err = one_save(&j, i);
        sampler_stop(&use);
        if (!err)
                err = report(&j, &use, job);
        if (j.timed.io)
                j.storage->ops->stop(j.timed.io, !k->keep);
        payload_release(&j.payload);
        free(j.save);
        free(j.load);
        return err;
}

static const char *const defaults[] = {"optimizer=off", "epochs=5", NULL};

const struct scenario scenario_pytorch_checkpointing = {
        .name = "pytorch_checkpointing",
        .text = "One rank saves a model as torch.save() does, and loads it.",
        .defaults = defaults,
        .plan = torch_plan,
        .job = torch_job,
        .table = shards_table,
        .page = shards_page,
};
const struct scenario scenario_lightning_checkpointing = {
        .name = "lightning_checkpointing",
        .text = "The same with every save_one_in-th epoch saved, as a Lightning callback does.",
        .defaults = defaults,
        .plan = torch_plan,
        .job = torch_job,
        .table = shards_table,
        .page = shards_page,
};
