/* SPDX-License-Identifier: Apache-2.0 */
/* trainer.h: a model that learns, step by step, alone or as one of the ranks of a data-parallel
 * job: each has the whole model, in one stage or in several (pipe.h), or its part (fsdp.h), and
 * samples of its own, and gradients are averaged. With the cross entropy N ranks compute what one
 * rank with N times the batch does, to rounding. */
#ifndef CKPTFS_BENCH_TRAIN_TRAINER_H
#define CKPTFS_BENCH_TRAIN_TRAINER_H

#include "bench/core/coll.h"
#include "bench/train/fsdp.h"
#include "bench/train/loss_scale.h"
#include "bench/train/pipe.h"
#include "bench/train/reducer.h"
#include "bench/train/train_data.h"

struct train_setup {
        const struct math_ops *ops; /* opened */
        struct model model;
        size_t batch;             /* samples of a rank */
        unsigned stages, chunks;  /* of its pipeline, and micro-batches; 0: it has none */
        unsigned device, devices; /* of the rank: the first, and how many; 0: one */
        enum network_stash stash; /* what its blocks keep */
        uint64_t seed;
        float dropout;
        bool sharded;                /* FSDP; else each rank has the whole model */
        enum fsdp_prefetch prefetch; /* of FSDP */
        bool offloaded;              /* FSDP's runs lie in the host's memory, which updates them */
        bool apart;       /* else gradients are averaged while the backward pass goes on */
        bool adamw;       /* else SGD without momentum */
        bool undecayed;   /* with adamw: no weight decays, which is Adam */
        bool half;        /* products are of halves; weights stay in fp32 */
        float loss_scale; /* with it: as loss_scale_begin() takes it */
        bool entropy; /* the loss is the cross entropy with the next token, else the logits' sum */
        double lr;
        const struct train_data *data; /* borrowed; NULL: it is fed */
        struct trace *trace;           /* borrowed; NULL: none */
};

/* Seconds of one step in this rank; the loss is the mean over ranks. */
struct train_step {
        double forward, backward, reduce, update, zero, total, loss;
        bool skipped; /* a gradient was too large for a half: no weight has changed */
        /* Bytes of memory behind each part, where the trainer weighs; else 0. */
        struct train_held {
                double forward, backward, update, zero;
        } held;
};

/* What this rank has of a stage: runs of n elements, of which the last two are AdamW's. */
struct trainer_runs {
        float *params, *grads, *m, *v;
        float *overflow; /* NULL, or one number, which is not 0 if a gradient was none */
        size_t n;
        size_t off; /* of its first element in the run of the whole model */
};

struct trainer {
        struct train_setup setup;
        struct coll *coll;
        struct pipe pipe;
        struct coll_queue queue;   /* of one of the two */
        struct fsdp fsdp;          /* if sharded */
        struct reducer reducer;    /* else, with other ranks */
        struct trainer_runs *runs; /* of each stage */
        int32_t *tokens, *targets, *host_tokens;
        float *patches, *host_patches; /* of all samples, and of one */
        size_t samples;                /* of the next step, in this rank */
        float share;                   /* of them in the mean over all ranks */
        float *loss;                   /* of each micro-batch */
        struct loss_scale scale;       /* with halves */
        uint64_t step;                 /* done so far, with those that were skipped */
        bool weighs;                   /* steps say what memory is taken behind each part */
};

/* What this rank has of a tensor: elements [first, first + n), and where those of the weights and
 * of the moments are. */
struct trainer_part {
        size_t first, n;
        float *weight, *m, *v;
};

/* With weights drawn from the seed. 0 or a negative errno; release it whatever that was. */
int trainer_init(struct trainer *t, const struct train_setup *s, struct coll *c);
void trainer_release(struct trainer *t);

/* Collective, before each step of a network that sees images: n of them, at most `batch`, as
 * patches_make() takes them, and their labels. Ranks may have different numbers, or none; *all is
 * the number in all ranks, each of which counts as much, and 0 means that there is no step. 0 or a
 * negative errno, the same in all ranks. */
int trainer_feed(struct trainer *t, const unsigned char *rgb, const int32_t *label, size_t n,
                 size_t *all);

/* Collective. 0, or the same negative errno in all ranks. */
int trainer_step(struct trainer *t, struct train_step *out);

/* Collective: 0 when all ranks that have the same weights have the same values, or -EBADMSG. */
int trainer_compare(struct trainer *t);

/* For the tensors of the whole model: it is the first stage's. */
const struct network *trainer_model(const struct trainer *t);
struct trainer_part trainer_part(const struct trainer *t, size_t tensor);
/* Whose memory that is in. */
const struct math_ops *trainer_home(const struct trainer *t);

/* "ddp", "fsdp" or "pdp"; and what blocks keep: "noop", "checkpoint" or "offload". */
const char *trainer_mode(const struct train_setup *s);
const char *trainer_activation(const struct train_setup *s);
/* Bytes that a rank needs, and those of them that its passes take. */
uint64_t trainer_bytes(const struct train_setup *s, unsigned ranks);
uint64_t trainer_pass_bytes(const struct train_setup *s);
/* Those of them that lie in the host's memory whatever the device. */
uint64_t trainer_host_bytes(const struct train_setup *s, unsigned ranks);

#endif
