/* SPDX-License-Identifier: Apache-2.0 */
/* fsdp.h: a model whose weights, gradients and moments are divided among ranks, as torch's
 * fully_shard() divides them: of each tensor a rank has a run of rows, as torch.chunk() makes them.
 * The weights of a unit are gathered before it is used, and its gradients are summed and divided
 * again behind its backward pass. */
#ifndef CKPTFS_BENCH_TRAIN_FSDP_H
#define CKPTFS_BENCH_TRAIN_FSDP_H

#include "bench/core/coll.h"
#include "bench/train/network.h"
#include "bench/train/trace.h"

struct fsdp {
        struct network *net;
        struct coll *coll;
        size_t *at; /* of each tensor: where this rank's part lies in its runs */
        size_t n; /* elements of a run: parts are as long in all ranks, and filled up with zeros */
        float *params, *grads;       /* this rank's */
        float *weights, *sums;       /* of the unit in use, whole: weights and their gradients */
        float *host_mine, *host_all; /* what ranks send each other, in the host's memory */
        int err;             /* the first of this rank; with a collective's, no more follow */
        bool apart;          /* a collective failed */
        struct trace *trace; /* borrowed; NULL: none */
};

/* Elements [first, first + n) of a tensor, which lie at `off` of a run. */
struct fsdp_part {
        size_t first, n, off;
};

/* For a model without memory for weights. 0 or -ENOMEM; release it whatever that was, before the
 * model. */
int fsdp_init(struct fsdp *f, struct network *g, struct coll *c);
void fsdp_release(struct fsdp *f);

struct fsdp_part fsdp_part(const struct fsdp *f, size_t tensor);

/* For struct network_pass: collective. What fails is kept in f->err, and the rank goes on, so that
 * no other waits for it in vain. */
void fsdp_before(void *arg, size_t unit, bool backward);
void fsdp_after(void *arg, size_t unit, bool backward);

/* Bytes that a rank needs but for activations, with so many runs. */
uint64_t fsdp_bytes(const struct model *m, unsigned ranks, unsigned runs);

#endif
