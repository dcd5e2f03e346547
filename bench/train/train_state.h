/* SPDX-License-Identifier: Apache-2.0 */
/* train_state.h: what of a trainer is saved and loaded, as it stands in the host's memory: weights
 * under their names, AdamW's moments as exp_avg.NAME and exp_avg_sq.NAME, and numbers, each one
 * float: the steps that were done as `step`, and with halves the loss scale as `scaler.scale`, the
 * good steps since it changed as `scaler._growth_tracker` (both as in torch's state_dict()), and
 * the steps that were skipped as `scaler.skipped`. */
#ifndef CKPTFS_BENCH_TRAIN_STATE_H
#define CKPTFS_BENCH_TRAIN_STATE_H

#include "bench/data/shard.h"
#include "bench/train/trainer.h"

enum { TRAIN_STEPS_MAX = 1 << 24 /* which a float still counts */ };

/* All that this rank's trainer has; the same with what a save may have beside it, to be loaded; its
 * weights alone, as a state_dict() of torch's model; or what this rank writes where all ranks save
 * together: where each has all tensors, each tensor is dealt to one. */
enum train_share { TRAIN_SHARE_ALL, TRAIN_SHARE_LOADED, TRAIN_SHARE_WEIGHTS, TRAIN_SHARE_DEALT };

/* A number that is in no memory of the device: `held` is NULL. */
float train_state_number(const void *trainer, const char *name);
/* Whether a save may lack it: it then begins anew. */
bool train_state_optional(const char *name);
/* Whether it is one of AdamW's, which SGD has not. */
bool train_state_moment(const char *name);

/* The tensors where a rank's trainers have them, of which there is one for each device, dealt to
 * those ranks: trainers that have the same are as one. 0 or -ENOMEM; release them whatever that
 * was. */
int train_state_list(struct shard *out, const struct trainer *v, unsigned n,
                     const struct coll *ranks, enum train_share share);
/* Copies n bytes of what is listed to the host's memory; `arg` is the trainer. */
int train_state_get(void *arg, void *to, const void *from, size_t n);

/* All that a rank has, to be loaded. */
struct train_state {
        float *host;          /* the tensors one behind the other */
        uint64_t bytes;       /* of it */
        struct shard trained; /* as listed: `off` is where a tensor lies in `host` */
};

/* Memory for the state of a trainer. 0 or -ENOMEM; release it whatever that was. */
int train_state_init(struct train_state *s, const struct trainer *t);
void train_state_release(struct train_state *s);

/* The trainer goes on from the state, which is all that it has. 0, or -EBADMSG when a number is
 * none that a save has. */
int train_state_put(const struct train_state *s, struct trainer *t);

/* Bytes of the state of all ranks together. */
uint64_t train_state_bytes(const struct train_setup *s);

#endif
