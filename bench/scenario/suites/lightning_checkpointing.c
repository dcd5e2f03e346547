/* SPDX-License-Identifier: Apache-2.0 */
/* lightning_checkpointing.c: saves as a Lightning callback makes them: every save_one_in-th epoch,
 * as one .ckpt of rank 0 or sharded, of which the newest or best few stay. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "bench/format/format.h"
#include "bench/scenario/dcp/dcp_rounds.h"
#include "bench/scenario/suites/torch.h"
#include "bench/measure/stats.h"

#include "base/banned.h"

#define LAST "last.ckpt"

static int resolve_keys(struct keys *k, char *why, size_t nwhy)
{
        if (k->sharded || k->format == FORMAT_DCP) { /* one says the other */
                k->sharded = true;
                k->format = FORMAT_DCP;
        }
        if (k->sharded && k->save_last) {
                snprintf(why, nwhy,
                         "checkpoint.save_last is for one file a save: leave it out with "
                         "checkpoint.sharded");
                return -EINVAL;
        }
        if (!k->sharded && k->thread_count > 1) {
                snprintf(why, nwhy,
                         "thread_count is for the files of a sharded save: give "
                         "checkpoint.sharded=on");
                return -EINVAL;
        }
        if (!k->sharded)
                k->world_size = 1; /* rank 0 has the whole model */
        return 0;
}

/* --- one file a save --- */

struct single {
        struct torch_job torch;
        struct rotation rotation;
        struct sample *last; /* the saves of last.ckpt */
};

static int one_epoch(struct single *s, size_t i)
{
        struct torch_job *j = &s->torch;
        char name[TORCH_NAME_MAX];

        torch_name(j, i, name);
        int err = torch_save(j, i, name, &j->save[i]);
        if (err)
                return err;
        err = torch_load(j, i, name, &j->load[i]);
        if (!err && j->k->save_last)
                err = torch_save(j, i, LAST, &s->last[i]);
        size_t goes = rotation_add(&s->rotation, i);
        if (!j->k->save_top_k &&
            !j->k->keep) /* no save waits for its end: room for one is enough */
                goes = s->rotation.kept[--s->rotation.n];
        if (goes == ROTATION_NONE)
                return err;
        torch_name(j, goes, name);
        int gone = torch_remove(j, name);
        return err ? err : gone;
}

/* The saves that are left go, unless they are to stay, which those of a job that a signal ended are
 * not. */
static int remove_rest(struct single *s, size_t saved, bool stay)
{
        struct torch_job *j = &s->torch;
        char name[TORCH_NAME_MAX];
        int err = 0;

        for (size_t i = 0; i < s->rotation.n && !stay; i++) {
                torch_name(j, s->rotation.kept[i], name);
                int gone = torch_remove(j, name);
                err = err ? err : gone;
        }
        if (saved && j->k->save_last && !stay) {
                int gone = torch_remove(j, LAST);
                err = err ? err : gone;
        }
        return err;
}

static void add_rotation(const struct rotation *r, struct json *suite)
{
        struct json *kept = json_add_array(suite, "kept");
        for (size_t i = 0; i < r->n; i++)
                json_add_number(kept, NULL, (double)r->kept[i]);
}

static int report_single(struct single *s, struct json *job)
{
        struct json *suite;
        int err = torch_report(&s->torch, job, &suite);
        if (err)
                return err;
        add_rotation(&s->rotation, suite);
        if (!s->torch.k->save_last)
                return 0;
        struct json *last = json_add_array(suite, "last_save_times_s");
        for (size_t i = 0; i < s->torch.nsaves; i++)
                json_add_number(last, NULL, s->last[i].total);
        return 0;
}

static int single_job(const struct run *run, const struct keys *k, struct json *job)
{
        size_t n = torch_count_saves(k), saved = 0;
        struct single s = {.last = calloc(n, sizeof *s.last)};

        int err = torch_begin(&s.torch, run, k, NULL, n, n);
        if (!err && !s.last)
                err = -ENOMEM;
        if (!err)
                err = rotation_init(&s.rotation, k->save_top_k, k->monitor == MONITOR_LOSS, n);
        for (; saved < n && !err; saved++)
                err = one_epoch(&s, saved);
        if (!err)
                err = report_single(&s, job);
        if (s.rotation.kept) {
                int gone = remove_rest(&s, saved, k->keep && err != -ECANCELED);
                err = err ? err : gone;
        }
        torch_end(&s.torch);
        rotation_release(&s.rotation);
        free(s.last);
        return err;
}

/* --- a shard of each rank --- */

static int report_sharded(const struct dcp_rounds *r, const struct sampler *use, struct json *job)
{
        double mib =
                (double)(model_params(&r->model) * model_param_bytes(&r->model, r->k->optimizer)) /
                (1 << 20);
        int err = dcp_rounds_json(r, job);
        struct json *suite = json_open_object(job, "metrics");
        struct json *rates = json_add_array(suite, "throughput_mibs");
        struct json *times = json_add_array(suite, "save_times_s");

        for (size_t i = 0; i < r->saves; i++) {
                json_add_number(rates, NULL, stats_ratio(mib, r->save_s[i]));
                json_add_number(times, NULL, r->save_s[i]);
        }
        add_rotation(r->rotation, suite);
        return err ? err : sampler_json(use, json_add_object(suite, "utilization"));
}

static int sharded_job(const struct run *run, const struct keys *k, struct json *job)
{
        size_t n = torch_count_saves(k);
        CLEANUP(sampler_release) struct sampler use = SAMPLER_INIT;
        CLEANUP(rotation_release) struct rotation rotation = {0};
        CLEANUP(dcp_rounds_release)
        struct dcp_rounds r = {
                .run = run,
                .k = k,
                .saves = n,
                .loads = n,
                .rotation = &rotation,
                .use = &use,
        };

        int err = rotation_init(&rotation, k->save_top_k, k->monitor == MONITOR_LOSS, n);
        if (!err)
                err = sampler_start(&use);
        err = coll_agree(run->coll, err);
        if (!err)
                err = dcp_rounds(&r);
        sampler_stop(&use);
        return err || !job ? err : report_sharded(&r, &use, job);
}

static int work(const struct run *r, const struct keys *k, struct json *job)
{
        return k->sharded ? sharded_job(r, k, job) : single_job(r, k, job);
}

const struct scenario scenario_lightning_checkpointing = {
        .name = "lightning_checkpointing",
        .text = "Every save_one_in-th epoch saved, in one file or sharded, the last or best kept.",
        .many_ranks = true,
        TORCH_EPOCHS,
        .resolve_keys = resolve_keys,
        .formats = 1U << FORMAT_TORCH | 1U << FORMAT_DCP,
        .job = work,
};
