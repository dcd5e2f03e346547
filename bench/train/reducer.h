/* SPDX-License-Identifier: Apache-2.0 */
/* reducer.h: gradients become the sum of all ranks', in buckets that go while the backward pass
 * goes on, as in torch's DistributedDataParallel: they are cut from the end of the model, where the
 * backward pass begins, the first one smaller than the others. */
#ifndef CKPTFS_BENCH_TRAIN_REDUCER_H
#define CKPTFS_BENCH_TRAIN_REDUCER_H

#include "bench/coll/coll_queue.h"
#include "bench/train/pipe.h"

enum { REDUCER_FIRST = 1 << 20, REDUCER_BUCKET = 25 << 20 /* bytes */ };

struct reducer {
        struct coll *coll;
        const struct math_ops *ops;
        unsigned device;          /* of the thread that begins and ends */
        struct coll_queue *queue; /* borrowed, as the next */
        struct trace *trace;      /* NULL: none */
        struct reducer_bucket {
                struct coll_work work;
                struct reducer *of;
                float *grads;
                size_t n;
                unsigned device;
                void *mark;  /* behind its gradients */
                size_t unit; /* its gradients are complete when those of this unit are */
        } * bucket;
        size_t n;    /* buckets */
        size_t next; /* to be given to the queue */
        float *host; /* REDUCER_BUCKET bytes: of the bucket under way */
        float *room; /* as much on the first device, if carriers sum there; NULL: all is there */
        int own;     /* the first error of this rank's device there */
        int pass;    /* and what it told in the pass */
};

/* For the gradients of all stages. 0 or -ENOMEM; release it whatever that was. */
int reducer_init(struct reducer *r, const struct pipe *p, struct coll *c, struct coll_queue *q);
void reducer_release(struct reducer *r);

/* Before a backward pass. */
void reducer_begin(struct reducer *r);
/* For struct network_pass. */
void reducer_complete(void *arg, size_t unit);
/* Collective, after the pass, also for a rank that made none: when it returns, all is summed. 0, or
 * what failed; with the device of one rank, *own of that rank alone. */
int reducer_end(struct reducer *r, int *own);

#endif
