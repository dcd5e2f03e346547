/* SPDX-License-Identifier: Apache-2.0 */
/* pipe.h: the passes of a rank's samples through its model, in stages: each stage has a run of the
 * model's units and a thread of its own, on one of the rank's devices. Samples go through
 * as micro-batches, all forward, then all backward in turned order (Huang et al., "GPipe", 2019). A
 * stage keeps what its last micro-batch needs for the backward pass, and of the others what came
 * in, from which it computes the rest anew.
 *
 * One stage and one micro-batch are the plain passes, in the caller's thread. */
#ifndef CKPTFS_BENCH_TRAIN_PIPE_H
#define CKPTFS_BENCH_TRAIN_PIPE_H

#include <pthread.h>
#include <semaphore.h>

#include "bench/train/network.h"
#include "bench/train/trace.h"

struct pipe_shape {
        size_t batch;             /* samples of a step */
        unsigned stages, chunks;  /* 1 or more; micro-batches that are asked for */
        unsigned device, devices; /* of the first stage, and how many they are dealt to */
        enum network_stash stash;
};

/* Called in the thread of the last stage when the logits of samples [first, first + g->batch) of
 * the rank stand in g->logits, which it turns into the gradient. It may be called twice of each,
 * with the same values. */
typedef void pipe_loss_fn(void *arg, const struct network *g, unsigned chunk, size_t first);

struct pipe_pass {
        struct network_pass net; /* of all samples */
        pipe_loss_fn *loss;
        void *arg;
        struct trace *trace; /* of micro-batches; NULL: none */
};

struct pipe {
        struct pipe_shape shape;
        struct pipe_stage {
                struct pipe *pipe;
                struct network net;
                unsigned device; /* which all of it is on */
                float *in;       /* of each micro-batch what came in, and later its gradient */
                sem_t came, due; /* a micro-batch came in; its gradient is ready */
                sem_t go, done;  /* of the thread */
                pthread_t thread;
                bool running;
                int err;
        } * stage;
        const struct pipe_pass *pass; /* under way */
        enum pipe_task { PIPE_FORWARD, PIPE_BACKWARD, PIPE_QUIT } task;
};

/* Micro-batches as torch.chunk() makes them: how many, which may be fewer than asked for, and the
 * samples [*first, *first + return value) of one. */
unsigned pipe_chunks(const struct pipe_shape *s);
size_t pipe_samples(const struct pipe_shape *s, unsigned chunk, size_t *first);
/* Into `end`, for each stage, the first unit that is not its own any more: a stage ends when the
 * elements up to there exceed its share of all. The number of stages that have units. */
unsigned pipe_cut(const struct model *m, unsigned stages, size_t *end);
/* Bytes that passes need beside weights and gradients; at most NETWORK_BYTES_MAX. */
uint64_t pipe_bytes(const struct model *m, const struct pipe_shape *s);

/* With zero weights, or for one stage without memory for them. 0, -EINVAL (more stages than have
 * units), -ENOMEM or -EAGAIN (no thread). Release it whatever that was; a zeroed one is fine. */
int pipe_init(struct pipe *p, const struct math_ops *ops, const struct model *m,
              const struct pipe_shape *s, bool weights);
void pipe_release(struct pipe *p);

/* Done when they return; 0, or what the device says. The backward adds to the gradients of the
 * stages; after the forward of the same pass. */
int pipe_forward(struct pipe *p, const struct pipe_pass *pass);
int pipe_backward(struct pipe *p, const struct pipe_pass *pass);

#endif
