/* SPDX-License-Identifier: Apache-2.0 */
/* coll_team.h: threads of a rank as ranks of their own.
 *
 * Each has a carrier that joins what all threads of all ranks say: that of this rank's threads, in
 * the order of their numbers, and then, called by the first of them alone, that of the ranks. */
#ifndef CKPTFS_BENCH_COLL_TEAM_H
#define CKPTFS_BENCH_COLL_TEAM_H

#include <pthread.h>

#include "base/mutex.h"
#include "bench/core/coll.h"

struct coll_team {
        struct coll *ranks; /* borrowed */
        unsigned n;
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

/* n threads in each of c's ranks: member[i].coll is rank c->rank * n + i of c->ranks * n. It has
 * max, sum, sum_scatter, gather and barrier, and else fails with -EOPNOTSUPP. 0 or -ENOMEM; release
 * it whatever that was. A zeroed one may be released. */
int coll_team_init(struct coll_team *t, unsigned n, struct coll *c);
void coll_team_release(struct coll_team *t);

#endif
