/* SPDX-License-Identifier: Apache-2.0 */
/* mlperf_shape.h: which files a rank of MLPerf Storage's checkpointing writes, and what is in them.
 *
 * Ranks count tensor parallelism first, then the stages of the pipeline, then replicas. Matrices
 * are divided among the ranks of tensor parallelism, vectors are not; with ZeRO-3 replicas share
 * both. With ZeRO-3 a rank writes one file of weights; with ZeRO-1 the first replica writes one a
 * layer. The optimizer's state, three fp32 values a parameter, is one file a rank, an equal share
 * of all parameters laid end to end. */
#ifndef CKPTFS_BENCH_SCENARIO_MLPERF_SHAPE_H
#define CKPTFS_BENCH_SCENARIO_MLPERF_SHAPE_H

#include "bench/core/keys.h"
#include "bench/data/model.h"
#include "bench/data/shard.h"

struct mlperf_shape {
        unsigned tp, pp, dp; /* tensor parallelism, stages of the pipeline, replicas */
        unsigned zero;       /* 1 or 3 */
};

/* That of a model by its name, with what the keys say instead. 0, or -EINVAL with one line in
 * `why`. */
int mlperf_shape(const struct model *m, const struct keys *k, struct mlperf_shape *out, char *why,
                 size_t nwhy);
unsigned mlperf_ranks(const struct mlperf_shape *s);

enum { MLPERF_NAME_MAX = 48 };
struct mlperf_file {
        char name[MLPERF_NAME_MAX];
        struct shard shard; /* tensors alone, no format around them */
};

/* The files of a rank, malloc'ed. 0 or -ENOMEM; end with mlperf_files_release(). */
int mlperf_files(const struct model *m, const struct mlperf_shape *s, unsigned rank,
                 struct mlperf_file **out, size_t *n);
void mlperf_files_release(struct mlperf_file **v, size_t n);

/* Bytes of weights and of the optimizer's state that a rank writes. */
struct mlperf_bytes {
        uint64_t weights, optimizer;
};
struct mlperf_bytes mlperf_rank_bytes(const struct model *m, const struct mlperf_shape *s,
                                      unsigned rank);

#endif
