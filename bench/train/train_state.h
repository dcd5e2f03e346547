/* SPDX-License-Identifier: Apache-2.0 */
/* train_state.h: what of a trainer is saved and loaded, as it stands in the host's memory: weights
 * under their names, AdamW's moments as exp_avg.NAME and exp_avg_sq.NAME, and the steps that were
 * done as `step`, one float. */
#ifndef CKPTFS_BENCH_TRAIN_STATE_H
#define CKPTFS_BENCH_TRAIN_STATE_H

#include "bench/data/shard.h"
#include "bench/train/trainer.h"

enum { TRAIN_STEPS_MAX = 1 << 24 /* which a float still counts */ };

/* All that this rank's trainer has, or what of it this rank writes where all ranks save together:
 * where each has all tensors, each tensor is dealt to one. */
enum train_share { TRAIN_SHARE_ALL, TRAIN_SHARE_DEALT };

struct train_state {
        struct shard shard; /* the tensors, which lie in `host`; a format may be put around them */
        float *host;
        uint64_t bytes;       /* of it */
        struct shard trained; /* the same tensors where the trainer has them, and nothing around */
};

/* Memory and tensors for the state of a trainer. 0 or -ENOMEM; release it whatever that was. */
int train_state_init(struct train_state *s, const struct trainer *t, enum train_share share);
void train_state_release(struct train_state *s);

/* Copies the trainer's state; formats are put around the tensors anew after that. 0, -ENOMEM,
 * -EOVERFLOW (more steps than a float counts) or what the device says. */
int train_state_take(struct train_state *s, const struct trainer *t);
/* The trainer goes on from the state, which is all that it has. 0, or -EBADMSG when `step` is no
 * number of steps. */
int train_state_put(const struct train_state *s, struct trainer *t);

/* Bytes of the state of all ranks together. */
uint64_t train_state_bytes(const struct train_setup *s);

#endif
