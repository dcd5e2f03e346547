/* SPDX-License-Identifier: Apache-2.0 */
/* train_save.h: the saves of "train", and where it goes on. Rank 0 writes the file, since every
 * rank has the same model; all ranks wait for it, and all read the one that they go on from. */
#ifndef CKPTFS_BENCH_SCENARIO_TRAIN_SAVE_H
#define CKPTFS_BENCH_SCENARIO_TRAIN_SAVE_H

#include "bench/core/run.h"
#include "bench/data/run_name.h"
#include "bench/measure/timed.h"
#include "bench/train/train_state.h"

/* Seconds of one save: the copy of the state, the bytes around it, and the file. */
struct train_saved {
        uint64_t step;
        double stage, file, total;
};

struct train_saves {
        const struct run *run;
        const struct keys *k;
        const struct io_storage *storage;
        struct io *io; /* rank 0's; NULL: nothing is saved */
        char dir[FRESH_NAME_MAX];
        struct train_state state;
        struct train_saved *v;
        size_t n;
};

/* How many saves the keys ask for. */
size_t train_saves_planned(const struct keys *k);

/* Collective. The trainer goes on from the file that the key resume names. 0, or the same negative
 * errno in all ranks after run_error(). */
int train_resume(const struct run *r, const struct keys *k, struct trainer *t);

/* Collective, all three. Errors as of train_resume(). */
int train_saves_begin(struct train_saves *s, const struct run *r, const struct keys *k,
                      const struct trainer *t);
int train_saves_add(struct train_saves *s, const struct trainer *t);
/* Loads the last save and compares it with what was to be saved. */
int train_saves_verify(struct train_saves *s);

/* Removes the files, unless they are to be kept. 0, or a negative errno after run_error(). */
int train_saves_end(struct train_saves *s);

#endif
