/* SPDX-License-Identifier: Apache-2.0 */
/* coll_team.h: threads of a rank as ranks of their own.
 *
 * Each has a carrier that joins what all threads of all ranks say: that of this rank's threads, in
 * the order of their numbers, and then, called by the first of them alone, that of the ranks.
 *
 * Where threads have a device each, bytes go from one device to the other, and what goes to other
 * ranks from the first one's and to it. */
#ifndef CKPTFS_BENCH_COLL_TEAM_H
#define CKPTFS_BENCH_COLL_TEAM_H

#include <pthread.h>

#include "base/mutex.h"
#include "bench/core/coll.h"

enum { COLL_TEAM_MAX = 64 /* threads */, COLL_TEAM_ROOM = 25 << 20 /* bytes */ };

/* What copies and adds up in the memory of devices, that of the calling thread and others; each is
 * done when it returns. As in math_ops.h. */
struct coll_memory {
        int (*reach)(void *mark);
        int (*join)(float *to, const float *const *from, unsigned n, size_t elements);
        int (*get)(void *to, const void *from, size_t n, void *mark);
        int (*put)(void *to, const void *from, size_t n);
};

struct coll_team {
        struct coll *ranks; /* borrowed */
        unsigned n;
        struct coll_ops ops;
        struct coll_memory memory;
        float *room; /* COLL_TEAM_ROOM of the host, through which sums of other ranks go; or NULL */
        struct coll_member {
                struct coll coll;
                struct coll_team *team;
                void *mine; /* what it has brought */
                void *all;  /* that, and room for what comes of it, for all ranks */
        } * member;
        int err; /* of what the first has called for all */
        struct mutex mtx;
        pthread_cond_t all;
        struct {
                unsigned came;
                uint64_t round;
        } locked GUARDED_BY(&mtx);
};

/* n threads, two at least, in each of c's ranks: member[i].coll is rank c->rank * n + i of
 * c->ranks * n. It has max, sum, sum_scatter, gather and barrier, and else fails with -EOPNOTSUPP.
 * With `memory` it has sum_device as well, and if there are no other ranks, or c has them, the
 * other two. 0 or -ENOMEM; release it whatever that was. A zeroed one may be released. */
int coll_team_init(struct coll_team *t, unsigned n, struct coll *c,
                   const struct coll_memory *memory);
void coll_team_release(struct coll_team *t);

#endif
