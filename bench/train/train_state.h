/* SPDX-License-Identifier: Apache-2.0 */
/* train_state.h: what of a trainer is saved and loaded, as it stands in the host's memory: weights
 * under their names, AdamW's moments as exp_avg.NAME and exp_avg_sq.NAME, and the steps that were
 * done as `step`, one float. */
#ifndef CKPTFS_BENCH_TRAIN_STATE_H
#define CKPTFS_BENCH_TRAIN_STATE_H

#include "bench/data/shard.h"
#include "bench/train/trainer.h"

enum { TRAIN_STEPS_MAX = 1 << 24 /* which a float still counts */ };

struct train_state {
        struct shard shard; /* the tensors, which lie in: */
        float *host;
        size_t n; /* floats of it */
};

/* Memory and tensors for the state of a trainer. 0 or -ENOMEM; release it whatever that was. */
int train_state_init(struct train_state *s, const struct trainer *t);
void train_state_release(struct train_state *s);

/* Copies the trainer's state; formats are put around the tensors anew after that. 0, -ENOMEM,
 * -EOVERFLOW (more steps than a float counts) or what the device says. */
int train_state_take(struct train_state *s, const struct trainer *t);
/* The trainer goes on from the state. 0, or -EBADMSG when `step` is no number of steps. */
int train_state_put(const struct train_state *s, struct trainer *t);

/* Bytes of a state. */
uint64_t train_state_bytes(const struct train_setup *s);

#endif
