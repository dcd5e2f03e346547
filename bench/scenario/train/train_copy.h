/* SPDX-License-Identifier: Apache-2.0 */
/* train_copy.h: this rank's file of a save, out of the way of the steps: the tensors are copied to
 * their places in memory that is the file, byte by byte, and the format is put around them there.
 *
 * Whether what was stored is what was to be saved is told by checksums of the tensors where
 * training has them, so that a copy that a step has overwritten does not pass. */
#ifndef CKPTFS_BENCH_SCENARIO_TRAIN_COPY_H
#define CKPTFS_BENCH_SCENARIO_TRAIN_COPY_H

#include "bench/data/shard.h"
#include "bench/scenario/train/train_stage.h"

/* What is saved, where training has it. */
struct train_source {
        struct shard shard; /* tensors alone; held NULL: a float, as number() tells it */
        /* Copies n bytes of a tensor to the host, and waits. 0 or a negative errno. */
        int (*get)(void *arg, void *to, const void *from, size_t n);
        float (*number)(const void *arg, const char *name); /* NULL: all are the step's */
        void *arg;                                          /* borrowed */
};

struct train_copy {
        struct train_source from;
        struct shard file; /* the last one that train_copy_finish() made */
        uint64_t size;     /* of every one */
        struct stage stage;
        int (*wrap)(struct shard *s); /* of format.h */
        uint64_t *at;                 /* where the tensors lie in the file */
        uint32_t *crc;                /* of the tensors, as train_copy_note() found them */
};

/* Takes over `from`, and plans the file; `kind` as for stage_init(). 0 or -ENOMEM.
 * Release it whatever that was; a zeroed one is fine. */
int train_copy_init(struct train_copy *c, struct train_source *from, int (*wrap)(struct shard *),
                    struct stage_kind kind);
void train_copy_release(struct train_copy *c);

/* Copies the tensors. 0, -EOVERFLOW (more steps than a float counts) or another negative errno. */
int train_copy_take(struct train_copy *c, uint64_t step);
/* Puts the format around them; from any thread. */
int train_copy_finish(struct train_copy *c);

/* Keeps the checksums of what training has now. */
int train_copy_note(struct train_copy *c, uint64_t step);
/* Memory for the file, which is stage.p, to load it back to. */
int train_copy_clear(struct train_copy *c);
/* Compares what stands there with the checksums, and with the format around that. 0, or -EBADMSG
 * with one line in `why`. */
int train_copy_check(struct train_copy *c, char *why, size_t nwhy);

#endif
