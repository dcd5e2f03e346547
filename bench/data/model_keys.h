/* SPDX-License-Identifier: Apache-2.0 */
/* model_keys.h: the model that the keys of a job ask for. */
#ifndef CKPTFS_BENCH_MODEL_KEYS_H
#define CKPTFS_BENCH_MODEL_KEYS_H

#include "bench/core/keys.h"
#include "bench/data/model.h"

/* 0, or -EINVAL with one line in `why`. */
int model_choose(const struct keys *k, struct model *m, char *why, size_t nwhy);
/* Bytes of the smallest model, where model=auto finds none as small as the size; 0: it does. */
uint64_t model_least(const struct keys *k);

#endif
