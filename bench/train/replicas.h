/* SPDX-License-Identifier: Apache-2.0 */
/* replicas.h: a rank with several devices under data parallelism: on each a trainer with the whole
 * model and an equal part of the rank's samples, in a thread of its own. They average gradients as
 * ranks do, so that a rank with n devices learns what n ranks learn.
 *
 * With one device, or a pipeline, which has a stage on each, there is one trainer, and the caller's
 * thread is its own. */
#ifndef CKPTFS_BENCH_TRAIN_REPLICAS_H
#define CKPTFS_BENCH_TRAIN_REPLICAS_H

#include <pthread.h>
#include <semaphore.h>

#include "bench/coll/coll_team.h"
#include "bench/train/trainer.h"

struct replicas {
        unsigned n;
        struct coll *ranks;    /* borrowed */
        struct trainer *v;     /* the first is that of the caller's thread, and what is saved */
        struct coll_team team; /* with several */
        struct replica {
                struct replicas *of;
                pthread_t thread;
                bool running;
                sem_t go, done;
                struct train_setup setup;
                struct train_step step;
                int err;
        } * replica;
        int (*task)(struct replicas *r, unsigned number); /* NULL: threads end */
};

/* How many trainers such a rank has. */
unsigned replicas_count(const struct train_setup *s);
/* As those of a trainer, of all of a rank's. */
uint64_t replicas_bytes(const struct train_setup *s, unsigned ranks);
uint64_t replicas_pass_bytes(const struct train_setup *s);
uint64_t replicas_host_bytes(const struct train_setup *s, unsigned ranks);

/* Of s->devices and the rank's samples, which they divide. 0 or a negative errno; release it
 * whatever that was. A zeroed one is fine. */
int replicas_init(struct replicas *r, const struct train_setup *s, struct coll *c);
void replicas_release(struct replicas *r);

/* Whether steps weigh: struct trainer has what that is. */
void replicas_weigh(struct replicas *r, bool weighs);

/* As trainer_step(), with the seconds of the slowest, and trainer_compare(), of all. */
int replicas_step(struct replicas *r, struct train_step *out);
int replicas_compare(struct replicas *r);

#endif
