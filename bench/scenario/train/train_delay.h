/* SPDX-License-Identifier: Apache-2.0 */
/* train_delay.h: the results of "train" as the published benchmark writes them. */
#ifndef CKPTFS_BENCH_SCENARIO_TRAIN_DELAY_H
#define CKPTFS_BENCH_SCENARIO_TRAIN_DELAY_H

#include "bench/scenario/train/train_table.h"

/* Writes a text named as there into `delay` below the job's directory `dir`. 0 or a negative errno.
 */
int train_delay_write(const struct train_facts *f, const char *dir);

#endif
