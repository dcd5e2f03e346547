/* SPDX-License-Identifier: Apache-2.0 */
/* fsdp.h: a model whose weights, gradients and moments are divided among ranks, as torch's
 * fully_shard() divides them: of each tensor a rank has a run of rows, as torch.chunk() makes them.
 * The weights of a unit are gathered before it is used, and its gradients are summed and divided
 * again behind its backward pass; or both go on while the unit beside it is computed. */
#ifndef CKPTFS_BENCH_TRAIN_FSDP_H
#define CKPTFS_BENCH_TRAIN_FSDP_H

#include "bench/coll/coll_queue.h"
#include "bench/train/network.h"
#include "bench/train/trace.h"

/* When the gather of the unit that follows in a pass begins: when that unit is used, which waits;
 * before this one is computed; behind that, and before its gradients are divided. With the last two
 * the next unit does not wait for them. */
enum fsdp_prefetch { FSDP_NOOP, FSDP_PREHOOK, FSDP_POSTHOOK };

struct fsdp {
        struct network *net;
        const struct math_ops
                *home; /* whose memory the runs are in: the network's, or the host's */
        struct coll *coll;
        unsigned device;          /* of all that it has there */
        struct coll_queue *queue; /* borrowed */
        enum fsdp_prefetch prefetch;
        size_t *at; /* of each tensor: where this rank's part lies in its runs */
        size_t n; /* elements of a run: parts are as long in all ranks, and filled up with zeros */
        float *params, *grads; /* this rank's */
        float *weights, *sums; /* of the unit in use, whole: weights and their gradients */
        struct fsdp_work {
                struct coll_work work;
                struct fsdp *of;
                size_t unit;
                bool under_way;
                int own; /* the error of this rank's device in it */
                struct fsdp_place *place;
        } gather[2], scatter;
        float *passing; /* of the device: a rank's part between its run and the others; or NULL */
        bool there;     /* ranks send each other what is in the device's memory, else the host's */
        /* What they send; without prefetch all use the first. */
        struct fsdp_place {
                float *mine; /* NULL: none is needed */
                float *all;
                void *mark; /* until which the device copies to `all`, or from it */
                size_t bytes, all_bytes;
        } place[3];
        int err;             /* the first of this rank */
        struct trace *trace; /* borrowed; NULL: none */
};

/* Elements [first, first + n) of a tensor, which lie at `off` of a run. */
struct fsdp_part {
        size_t first, n, off;
};

/* For a model without memory for weights, with runs in memory of `home`. 0 or -ENOMEM; release it
 * whatever that was, before the model. */
int fsdp_init(struct fsdp *f, struct network *g, const struct math_ops *home, unsigned device,
              struct coll *c, struct coll_queue *q, enum fsdp_prefetch prefetch);
void fsdp_release(struct fsdp *f);

struct fsdp_part fsdp_part(const struct fsdp *f, size_t tensor);

/* For struct network_pass: collective. What fails is kept in f->err, and the rank goes on, so that
 * no other waits for it in vain. */
void fsdp_before(void *arg, size_t unit, bool backward);
void fsdp_after(void *arg, size_t unit, bool backward);

/* Bytes that a rank needs but for activations, with so many runs. */
uint64_t fsdp_bytes(const struct model *m, unsigned ranks, unsigned runs,
                    enum fsdp_prefetch prefetch);
/* Those of them that the runs take. */
uint64_t fsdp_run_bytes(const struct model *m, unsigned ranks, unsigned runs);

#endif
