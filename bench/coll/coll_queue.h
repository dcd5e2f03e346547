/* SPDX-License-Identifier: Apache-2.0 */
/* coll_queue.h: collectives beside what a rank computes.
 *
 * A thread makes them one after the other, in the order in which they were given, which is the same
 * in all ranks. From the first until all were waited for, nobody else calls the carrier. */
#ifndef CKPTFS_BENCH_COLL_QUEUE_H
#define CKPTFS_BENCH_COLL_QUEUE_H

#include <pthread.h>

#include "base/mutex.h"
#include "bench/core/coll.h"

/* One of them; the giver's, until it was waited for. */
struct coll_work {
        int (*call)(struct coll_work *w); /* 0 or a negative errno */
        struct coll_work *next;
        bool done;
        int err;
};

struct coll_queue {
        pthread_t thread;
        bool beside; /* there is that thread; else the giver makes each at once */
        struct mutex mtx;
        pthread_cond_t came, done;
        struct {
                struct coll_work *first, *last;
                bool quit;
                int err; /* the first: others meet this rank no more, and nothing else is called */
        } locked GUARDED_BY(&mtx);
};

/* With a thread if it is wanted, there are other ranks, and the carrier lets another thread than
 * the main one call. 0 or -EAGAIN; release it whatever that was. A zeroed one may be released. */
int coll_queue_init(struct coll_queue *q, const struct coll *c, bool thread);
/* When all was waited for. */
void coll_queue_release(struct coll_queue *q);

void coll_queue_add(struct coll_queue *q, struct coll_work *w);
/* What it came to. */
int coll_queue_wait(struct coll_queue *q, struct coll_work *w);

#endif
