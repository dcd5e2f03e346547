/* SPDX-License-Identifier: Apache-2.0 */
/* job_monitor.c: see job_monitor.h. */
#include "bench/measure/job_monitor.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "bench/core/clock.h"
#include "bench/core/cpu.h"
#include "bench/measure/timed.h"

#include "base/banned.h"

int job_monitor_begin(struct job_monitor *w, const struct run *r, const struct keys *k,
                      const struct progress_job *shown)
{
        *w = (struct job_monitor){.use = SAMPLER_INIT, .begin = clock_ns(), .self = cpu_self_s()};
        if (r->coll->host_rank == 0) {
                if (*k->mount_path)
                        w->mount = timed_mount(k);
                w->server = (pid_t)k->server_pid;
                w->mounts = cpu_process_s(w->mount);
                w->servers = cpu_process_s(w->server);
                w->kernel = cpu_kernel_s();
        }
        if (!shown)
                return 0;
        progress_begin(shown);
        int err = sampler_start(&w->use);
        sampler_resume(&w->use);
        return err;
}

/* CPU-seconds of this rank, and of what it looks after. */
struct cpu {
        double ranks, mount, server, kernel;
};

static int add_cpu(const struct job_monitor *w, const struct run *r, struct json *job)
{
        struct coll *c = r->coll;
        struct cpu mine = {.ranks = cpu_self_s() - w->self}, sum = {0};
        CLEANUP(freep) struct cpu *all = calloc(c->ranks, sizeof *all);

        if (c->host_rank == 0) {
                mine.mount = cpu_process_s(w->mount) - w->mounts;
                mine.server = cpu_process_s(w->server) - w->servers;
                mine.kernel = cpu_kernel_s() - w->kernel;
        }
        int err = coll_agree(c, all ? 0 : -ENOMEM);
        if (!err)
                err = c->ops->gather(c, &mine, sizeof mine, all);
        if (err || !job)
                return err;
        for (unsigned i = 0; i < c->ranks; i++) {
                sum.ranks += all[i].ranks;
                sum.mount += all[i].mount;
                sum.server += all[i].server;
                sum.kernel += all[i].kernel;
        }
        struct json *o = json_add_object(job, "cpu");
        json_add_number(o, "ranks_s", sum.ranks);
        json_add_number(o, "mount_s", sum.mount > 0 ? sum.mount : 0); /* it may have ended */
        json_add_number(o, "server_s", sum.server > 0 ? sum.server : 0);
        json_add_number(o, "kernel_s", sum.kernel);
        return 0;
}

int job_monitor_end(struct job_monitor *w, const struct run *r, bool together, struct json *job)
{
        double elapsed = clock_s(clock_ns() - w->begin);
        int err = 0;

        progress_end();
        sampler_stop(&w->use);
        if (together)
                err = add_cpu(w, r, job);
        if (job) {
                json_add_number(job, "elapsed_s", elapsed);
                int kept = sampler_json(&w->use, json_add_object(job, "utilization"));
                sampler_curve_json(&w->use, json_add_object(job, "utilization_over_time"));
                err = err ? err : kept;
        }
        sampler_release(&w->use);
        return err;
}
