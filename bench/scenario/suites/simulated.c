/* SPDX-License-Identifier: Apache-2.0 */
/* simulated.c: the Dataflux benchmark of more ranks than there are: world_size ranks are played,
 * each with its share of equal tensors, so that a few machines make the files of hundreds. */
#include <errno.h>

#include "base/cleanup.h"
#include "bench/data/model_keys.h"
#include "bench/scenario/suites/dataflux.h"

#include "base/banned.h"

enum { FILES_MAX = 256 }; /* that one rank writes at once, a thread each */

static unsigned played(const struct run *r, const struct keys *k)
{
        return k->world_size ? (unsigned)k->world_size : r->coll->ranks;
}

static int resolve_keys(struct keys *k, char *why, size_t nwhy)
{
        k->num_save_calls = k->num_load_calls = k->epochs;
        return dataflux_resolve_keys(k, why, nwhy);
}

static int plan(const struct run *r, const struct keys *k, FILE *dry, char *why, size_t nwhy)
{
        unsigned play = played(r, k), ranks = r->coll->ranks;

        if (play % ranks) {
                snprintf(why, nwhy,
                         "world_size=%u cannot be played by %u ranks: give a multiple of them",
                         play, ranks);
                return -EINVAL;
        }
        if (play / ranks * k->thread_count > FILES_MAX) {
                snprintf(why, nwhy,
                         "world_size=%u makes each of %u ranks write %llu files at once, and %d is "
                         "the most: start more ranks",
                         play, ranks, (unsigned long long)(play / ranks * k->thread_count),
                         FILES_MAX);
                return -EINVAL;
        }
        return dataflux_plan(r, k, dry, why, nwhy);
}

static int report(const struct dcp_rounds *r, struct json *job)
{
        double bytes =
                (double)(model_params(&r->model) * model_param_bytes(&r->model, r->k->optimizer));
        struct json *metrics;
        int err = dataflux_rounds(r, job, &metrics);
        json_add_number(metrics, "ranks_played", r->play);
        json_add_number(metrics, "bytes_a_rank", bytes / r->play);
        json_add_number(metrics, "bytes", bytes);
        if (r->run->log)
                dataflux_lines(job, r->run->log);
        return err;
}

static int work(const struct run *run, const struct keys *k, struct json *job)
{
        CLEANUP(dcp_rounds_release)
        struct dcp_rounds r = {
                .run = run,
                .k = k,
                .saves = k->num_save_calls,
                .loads = k->num_load_calls,
                .play = played(run, k),
        };
        int err = dcp_rounds(&r);
        return err || !job ? err : report(&r, job);
}

static const char *const defaults[] = {"model=padding", "optimizer=off", "epochs=8",
                                       "format=dcp",    "fsync=off",     NULL};

const struct scenario scenario_simulated = {
        .name = "simulated",
        .text = "A few ranks save and load the files of many, each with its share of equal "
                "tensors.",
        DATAFLUX_ROUNDS,
        .defaults = defaults,
        .plays_ranks = true,
        .resolve_keys = resolve_keys,
        .plan = plan,
        .job = work,
};
