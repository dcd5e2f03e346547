/* SPDX-License-Identifier: Apache-2.0 */
/* train_keys.h: what the keys of "train" ask for. */
#ifndef CKPTFS_BENCH_SCENARIO_TRAIN_KEYS_H
#define CKPTFS_BENCH_SCENARIO_TRAIN_KEYS_H

#include "bench/core/run.h"
#include "bench/train/trainer.h"

/* Spellings of the suite, and names of its models: GPTSmall is gpt-small. */
extern const struct run_flag train_flags[];
extern const struct run_fixed train_fixed[];
int train_resolve_keys(struct keys *k, char *why, size_t nwhy);

/* All but the data and the opened table. 0, or -EINVAL with one line in `why`. */
int train_setup(const struct keys *k, struct train_setup *out, char *why, size_t nwhy);

#endif
