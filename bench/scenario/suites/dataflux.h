/* SPDX-License-Identifier: Apache-2.0 */
/* dataflux.h: what the scenarios that are the Dataflux Lightning benchmarks share: their keys, and
 * the lines that they report. */
#ifndef CKPTFS_BENCH_SCENARIO_DATAFLUX_H
#define CKPTFS_BENCH_SCENARIO_DATAFLUX_H

#include <stdio.h>

#include "base/text/json.h"
#include "bench/core/keys.h"
#include "bench/core/run.h"
#include "bench/format/format.h"
#include "bench/report/shards_table.h"
#include "bench/scenario/dcp/dcp_rounds.h"

/* A scenario's resolve_keys(): strategy, num_nodes with num_devices, phase and clear_kernel_cache
 * become the keys they stand for. */
int dataflux_resolve_keys(struct keys *k, char *why, size_t nwhy);

/* A scenario's plan() of how often is saved and loaded, and of what: 0, or -EINVAL with one line in
 * `why`. */
int dataflux_plan(const struct run *r, const struct keys *k, FILE *dry, char *why, size_t nwhy);

/* Adds the seconds of saves or loads (`what`: "save", "load"), as one rank saw them, with their
 * mean and standard deviation. 0 or -ENOMEM. */
int dataflux_times(struct json *suite, const char *what, const double *v, size_t n);

/* Adds what rounds of saves and loads measured, to be read by dataflux_lines(); *metrics is where
 * more may be added. 0 or -ENOMEM. */
int dataflux_rounds(const struct dcp_rounds *r, struct json *job, struct json **metrics);

/* Prints the lines of a job, also of one that failed. */
void dataflux_lines(const struct json *job, FILE *to);

/* A scenario's table(): these lines for each job. */
void dataflux_table(const struct json *run, FILE *to);

/* What scenarios of such rounds have alike. */
#define DATAFLUX_ROUNDS                                                                            \
        .many_ranks = true, .device = true, .dataflux = true, .formats = 1U << FORMAT_DCP,         \
        .table = dataflux_table, .says = shards_says, .page = shards_page

#endif
