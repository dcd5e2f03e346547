/* SPDX-License-Identifier: Apache-2.0 */
/* async.h: training steps with saves beside them, for the scenarios that are such. */
#ifndef CKPTFS_BENCH_SCENARIO_ASYNC_H
#define CKPTFS_BENCH_SCENARIO_ASYNC_H

#include "bench/core/run.h"

/* The plan and the job of "async". With a strategy other than auto and async_dataflux_fsdp steps
 * wait for each save. See struct scenario. */
int async_plan(const struct run *r, const struct keys *k, FILE *dry, char *why, size_t nwhy);
int async_job(const struct run *r, const struct keys *k, struct json *job);

#endif
