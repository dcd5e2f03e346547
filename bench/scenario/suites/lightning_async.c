/* SPDX-License-Identifier: Apache-2.0 */
/* lightning_async.c: the Dataflux benchmark of asynchronous saves: how long a whole fit lasts when
 * its steps wait for each save, and when they do not. */
#include <errno.h>

#include "bench/format/format.h"
#include "bench/scenario/async/async.h"
#include "bench/scenario/async/async_table.h"
#include "bench/scenario/suites/dataflux.h"

#include "base/banned.h"

static int resolve_keys(struct keys *k, char *why, size_t nwhy)
{
        uint64_t steps = k->max_epochs * k->steps;

        if (k->min_epochs > k->max_epochs) {
                snprintf(why, nwhy, "min_epochs=%llu is more than max_epochs=%llu: give fewer",
                         (unsigned long long)k->min_epochs, (unsigned long long)k->max_epochs);
                return -EINVAL;
        }
        k->steps = k->max_steps && k->max_steps < steps ? k->max_steps : steps;
        return dataflux_resolve_keys(k, why, nwhy);
}

static int work(const struct run *r, const struct keys *k, struct json *job)
{
        int err = async_job(r, k, job);
        if (!err && job && r->log)
                dataflux_lines(job, r->log);
        return err;
}

static void table(const struct json *run, FILE *to)
{
        async_table(run, to);
        dataflux_table(run, to);
}

static const char *const defaults[] = {"model=demo", "optimizer=off", "format=dcp", NULL};

const struct scenario scenario_lightning_async = {
        .name = "lightning_async",
        .text = "A whole fit with saves of the demo transformer, which its steps wait for or not.",
        .many_ranks = true,
        .device = true,
        .defaults = defaults,
        .dataflux = true,
        .resolve_keys = resolve_keys,
        .formats = FORMATS_OF_SHARDS | 1U << FORMAT_DCP,
        .plan = async_plan,
        .job = work,
        .table = table,
        .says = async_says,
        .page = async_page,
};
