/* SPDX-License-Identifier: Apache-2.0 */
/* lightning_multinode.c: the Dataflux benchmark of several nodes: every rank saves its rows of the
 * demo transformer so many times, then loads them so many times; rank 0 reports. */
#include <errno.h>

#include "base/cleanup.h"
#include "bench/scenario/suites/dataflux.h"

#include "base/banned.h"

static int report(const struct dcp_rounds *r, struct json *job)
{
        struct json *metrics;
        int err = dataflux_rounds(r, job, &metrics);
        if (r->run->log)
                dataflux_lines(job, r->run->log);
        return err;
}

static int work(const struct run *run, const struct keys *k, struct json *job)
{
        CLEANUP(rotation_release) struct rotation latest = {0};
        CLEANUP(dcp_rounds_release)
        struct dcp_rounds r = {
                .run = run,
                .k = k,
                .saves = k->num_save_calls,
                .loads = k->num_load_calls,
                .in = "checkpoints",
                .rotation = &latest,
        };
        int err = rotation_init(&latest, k->save_only_latest, false, k->num_save_calls);
        err = coll_agree(run->coll, err);
        if (!err)
                err = dcp_rounds(&r);
        return err || !job ? err : report(&r, job);
}

static const char *const defaults[] = {"model=demo-wide", "optimizer=off", "format=dcp",
                                       "fsync=off", NULL};

static const struct run_flag flags[] = {
        {"--strategy", "strategy", NULL},
        {"--save_only", "phase", "save"},
        {"--load_only", "phase", "load"},
        {"--distributed_filesystem", "strategy", "fsdp"},
        {NULL, NULL, NULL},
};

const struct scenario scenario_lightning_multinode = {
        .name = "lightning_multinode",
        .text = "Every rank saves its rows of Lightning's demo transformer, and loads them.",
        DATAFLUX_ROUNDS,
        .defaults = defaults,
        .flags = flags,
        .resolve_keys = dataflux_resolve_keys,
        .plan = dataflux_plan,
        .job = work,
};
