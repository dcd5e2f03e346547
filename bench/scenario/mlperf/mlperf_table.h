/* SPDX-License-Identifier: Apache-2.0 */
/* mlperf_table.h: what "mlperf" measured, as JSON with the benchmark's own figures, and its table.
 */
#ifndef CKPTFS_BENCH_SCENARIO_MLPERF_TABLE_H
#define CKPTFS_BENCH_SCENARIO_MLPERF_TABLE_H

#include "bench/scenario/mlperf/mlperf_shape.h"
#include "bench/report/shards_table.h"

/* Adds all of it; a checkpoint has `here` bytes of the `all` that the shape's own ranks would
 * write. 0 or -ENOMEM. */
int mlperf_json(const struct shards_facts *f, const struct mlperf_shape *s, uint64_t here,
                uint64_t all, struct json *job);

void mlperf_table(const struct json *run, FILE *to);

#endif
