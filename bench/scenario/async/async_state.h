/* SPDX-License-Identifier: Apache-2.0 */
/* async_state.h: what steps change and saves are of: a GPT that is trained, or, of models that are
 * not and on a device, a pattern that each step makes anew. */
#ifndef CKPTFS_BENCH_SCENARIO_ASYNC_STATE_H
#define CKPTFS_BENCH_SCENARIO_ASYNC_STATE_H

#include "bench/core/run.h"
#include "bench/data/payload.h"
#include "bench/scenario/train/train_copy.h"
#include "bench/train/trainer.h"

struct async_state {
        struct coll *coll;
        struct model model;
        bool trains;
        struct train_data noise; /* random tokens */
        struct trainer trainer;  /* if it trains, FSDP; else: */
        struct payload payload;
        uint64_t seed, step;
};

/* Whether the keys ask for a model that is trained, and its set-up. 0, or -EINVAL with one line in
 * `why`. */
int async_state_choose(const struct keys *k, bool *trains, struct train_setup *out, char *why,
                       size_t nwhy);

/* Collective: 0 or the same negative errno in all ranks after run_error(). Release it whatever that
 * was; a zeroed one is fine. */
int async_state_init(struct async_state *s, const struct run *r, const struct keys *k);
void async_state_release(struct async_state *s);

/* Collective: every value changes. 0, or the same negative errno in all ranks. */
int async_state_step(struct async_state *s);

/* What this rank saves of it. 0 or -ENOMEM. */
int async_state_source(struct async_state *s, struct train_source *out);

#endif
