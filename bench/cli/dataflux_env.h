/* SPDX-License-Identifier: Apache-2.0 */
/* dataflux_env.h: the environment variables of the Dataflux benchmarks as keys, for the scenarios
 * that are those benchmarks. */
#ifndef CKPTFS_BENCH_DATAFLUX_ENV_H
#define CKPTFS_BENCH_DATAFLUX_ENV_H

#include <stddef.h>

#include "bench/core/coll.h"
#include "bench/cli/sweep.h"

/* Collective: adds what rank 0's environment says to `scenario`, at SWEEP_ENVIRONMENT. 0, or a
 * negative errno with one line in `why` that names the variable; the same in all ranks. */
int dataflux_env_read(struct coll *c, const char *scenario, struct sweep *s, char *why,
                      size_t nwhy);

/* Adds the keys that CKPT_DIR_PATH=place stands for, a bucket with a prefix or a directory: the
 * storage, and where it is. 0, or a negative errno with one line in `why`. */
int dataflux_env_place(struct sweep *s, enum sweep_level level, const char *place, char *why,
                       size_t nwhy);

#endif
