/* SPDX-License-Identifier: Apache-2.0 */
/* job_monitor.h: what goes on around a whole job, whatever its scenario: processor time, how busy
 * the machine is, how far it has come. */
#ifndef CKPTFS_BENCH_JOB_MONITOR_H
#define CKPTFS_BENCH_JOB_MONITOR_H

#include "bench/core/progress.h"
#include "bench/core/run.h"
#include "bench/measure/sampler.h"

struct job_monitor {
        struct sampler use; /* rank 0 */
        uint64_t begin;
        pid_t mount, server; /* one rank of each machine; 0: none */
        double self, mounts, servers, kernel;
};

/* Begins; `shown` is NULL but in rank 0. 0 or a negative errno. Pair with job_monitor_end(). */
int job_monitor_begin(struct job_monitor *w, const struct run *r, const struct keys *k,
                      const struct progress_job *shown);

/* Ends and, unless the job was stopped (`together` false), brings the ranks' figures together and
 * adds "elapsed_s", "cpu", "utilization" and "utilization_over_time" to `job`, which is NULL but in
 * rank 0. Collective when `together`. 0 or a negative errno. */
int job_monitor_end(struct job_monitor *w, const struct run *r, bool together, struct json *job);

#endif
