/* SPDX-License-Identifier: Apache-2.0 */
/* train_resume.h: where training goes on. */
#ifndef CKPTFS_BENCH_SCENARIO_TRAIN_RESUME_H
#define CKPTFS_BENCH_SCENARIO_TRAIN_RESUME_H

#include "bench/core/run.h"
#include "bench/train/replicas.h"

/* Collective. The trainers of a rank go on from what the key resume names: each rank reads what it
 * needs of a file, or of a directory with .metadata, whichever ranks saved it. 0, or the same
 * negative errno in all ranks after run_error(). */
int train_resume(const struct run *r, const struct keys *k, struct replicas *all);

#endif
