/* SPDX-License-Identifier: Apache-2.0 */
/* network.h: a transformer with its gradients, or a stage of one: an embedding with learnt
 * positions, blocks of LayerNorm, attention and a GELU network of four times the width, a last norm
 * and a head. Tensors have PyTorch's names.
 *
 * It is a GPT, whose attention is causal and whose head, without a bias, tells of each token the
 * next; or a vision transformer, which sees patches of images behind a class of its own, and whose
 * head tells the label from the class.
 *
 * Weights and gradients are one run of floats each, in the order of the tensors, which is that of
 * the forward pass, or they are divided among ranks (fsdp.h). One thread uses a model. */
#ifndef CKPTFS_BENCH_TRAIN_NETWORK_H
#define CKPTFS_BENCH_TRAIN_NETWORK_H

#include "bench/data/model.h"
#include "bench/train/math/math_ops.h"

struct network_tensor {
        char name[52];        /* "blocks.3.attn.key.weight" */
        size_t off, n;        /* elements of the run */
        size_t rows, cols;    /* cols is 1 for a vector */
        float *weight, *grad; /* whole; while the model is divided, those of the unit in use; NULL:
                                 another stage's */
        unsigned lead;        /* dimensions of 1 that torch has before those */
        unsigned kernel;      /* as in struct shard_piece */
};

/* Where each tensor of a block lies, and what a forward pass keeps of it for the backward. */
struct network_block {
        size_t ln1, ln2; /* tensors: the weight's number; its bias is the next */
        size_t key, query, value, proj, up, down;
        float *x, *ln1_out, *k, *q, *v, *attention, *mixed, *middle, *ln2_out, *wide, *gelu;
        float *mean1, *rstd1, *mean2, *rstd2;
};

/* What a block keeps of its forward pass for the backward: all; what came in, from which it is
 * computed anew; or what came in, and a copy of the rest in the host's memory. */
enum network_stash { NETWORK_STASH_ALL, NETWORK_STASH_INPUT, NETWORK_STASH_COPY };

struct network {
        const struct math_ops *ops;
        struct model model;
        size_t batch, rows; /* samples of a pass, and tokens or patches of them, with classes */
        size_t from, end;   /* the units that it has */
        enum network_stash stash;
        bool half;   /* products are of halves; */
        float grows; /* gradients times that, a power of two, where they become halves */
        struct network_tensor *tensors;
        size_t ntensors, nparams;
        float *params, *grads; /* NULL: divided */
        struct network_block *blocks;
        float *last, *last_out, *last_mean, *last_rstd; /* around ln_f */
        float *logits;                                  /* network_answers() x vocab */
        float *activations;                             /* all of the above that a pass writes */
        /* Of them the place for the rest of all blocks, unless they keep all; where they keep
         * copies of it, two that take turns, so that one is copied while the other is used. */
        float *shared;
        float *copies; /* in the host's memory: one for each block */
        size_t place;  /* elements of a place */
        struct network_turn {
                size_t unit; /* whose rest it has, or will have */
                void *used;  /* behind what has used it so far */
                void *moved; /* behind the last copy from it or to it */
        } turn[2];
        int err; /* the first of the copies */
        struct {
                float *dx, *d1, *d2, *wide, *attention, *dropped;
        } scratch;
};

/* What makes a pass the same wherever it is computed: dropout is a function of the seed, the step
 * and the place of an element in the batch of all ranks. */
struct network_pass {
        uint64_t seed, step;
        uint64_t first; /* number of this batch's first sample among those of all ranks */
        float dropout;
        const int32_t *tokens; /* rows of them, on the device */
        const float *patches;  /* those of images instead (patches.h) */
        /* Called before the weights of a unit are used, and after that; NULL: they are there. */
        void (*before)(void *arg, size_t unit, bool backward);
        void (*after)(void *arg, size_t unit, bool backward);
        /* Called when the backward pass has queued the last that adds to the gradients of a unit;
         * NULL: nobody waits for that, or other samples are to come. */
        void (*complete)(void *arg, size_t unit);
        void *arg;
};

/* A model, or a stage of a pipeline, for passes of at most `batch` samples, with zero weights, or
 * without memory for them. It has units [from, end): tensors are all listed, and those of its units
 * have memory. Where it does not begin with the embedding, its passes want *network_stream(g, from)
 * set. 0 or -ENOMEM. Release it whatever that was; a zeroed one is fine. */
int network_init_stage(struct network *g, const struct math_ops *ops, const struct model *m,
                       size_t batch, size_t from, size_t end, enum network_stash stash,
                       bool weights);
void network_release(struct network *g);
/* Whether it sees images, and how many answers a pass has: a row of logits each. */
bool network_sees(const struct network *g);
size_t network_answers(const struct network *g);
/* The passes that follow are of so many samples. */
void network_set_batch(struct network *g, size_t batch);

/* The units of a model, which passes use one after the other: the embedding, each block, the last
 * norm, the head. */
struct network_unit {
        size_t first, n; /* tensors */
        size_t elements; /* of all of them, which follow each other */
};
size_t network_units(const struct model *m);
struct network_unit network_unit(const struct network *g, size_t unit);
/* Those that a model, or a stage of it, has, as one. */
struct network_unit network_own(const struct network *g);

/* Stream u is what unit u reads and unit u - 1 writes, the last one the logits. Where its gradient
 * stands after the backward of unit u, and before that of unit u - 1. */
float **network_stream(struct network *g, size_t u);
float *network_gradient(const struct network *g, size_t u);
size_t network_stream_elements(const struct network *g, size_t u);

/* Bytes of weights and gradients, and of what passes need beside them; at most NETWORK_BYTES_MAX
 * each, which is more than any machine has and may be multiplied by ranks. */
#define NETWORK_BYTES_MAX 1e15
uint64_t network_bytes_state(const struct model *m);
uint64_t network_bytes_activations(const struct model *m, size_t batch, size_t from, size_t end,
                                   enum network_stash stash);
/* The number of a block's unit among those of the stage. */
size_t network_block_number(const struct network *g, size_t unit);
/* And those of copies in the host's memory. */
uint64_t network_bytes_copies(const struct model *m, size_t batch, size_t from, size_t end);

/* First weights: matrices, and class and positions of images, normal with a deviation of 0.02,
 * norms 1, the rest 0. Fills `to`, in the
 * device's memory, with elements [first, first + n) of a tensor. 0 or a negative errno. */
int network_draw(const struct network *g, uint64_t seed, size_t tensor, size_t first, size_t n,
                 float *to);

/* Queued: fills the last stream, g->logits. Once a signal has come both passes only meet the other
 * ranks: their results are void, as trainer_step() says. */
void network_forward(struct network *g, const struct network_pass *p);
/* Queued: adds to g->grads those of the loss whose gradient stands where that of the last stream
 * does; after the forward of the same pass. */
void network_backward(struct network *g, const struct network_pass *p);

/* The operations of one step as the suite counts them, with blocks computed anew in the backward
 * (Narayanan et al., "Efficient Large-Scale Language Model Training", 2021), and without. */
double network_flop_suite(const struct model *m, size_t batch);
double network_flop(const struct model *m, size_t batch);

#endif
