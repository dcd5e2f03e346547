/* SPDX-License-Identifier: Apache-2.0 */
/* other_rank.h: a carrier of two ranks, of which the other has what this one has. */
#ifndef CKPTFS_TESTS_OTHER_RANK_H
#define CKPTFS_TESTS_OTHER_RANK_H

#include <string.h>

#include "bench/core/coll.h"

static int sum_both(struct coll *c, float *v, size_t n)
{
        (void)c;
        for (size_t i = 0; i < n; i++)
                v[i] += v[i];
        return 0;
}

static int gather_both(struct coll *c, const void *mine, size_t n, void *all)
{
        (void)c;
        memcpy(all, mine, n);
        memcpy((char *)all + n, mine, n);
        return 0;
}

static int scatter_both(struct coll *c, float *all, float *mine, size_t n)
{
        (void)c;
        for (size_t i = 0; i < n; i++)
                mine[i] = all[i] + all[i];
        return 0;
}

/* `ops` becomes its table, which a test may change. */
static inline struct coll other_rank(struct coll_ops *ops)
{
        *ops = coll_none;
        ops->sum = sum_both;
        ops->gather = gather_both;
        ops->sum_scatter = scatter_both;
        return (struct coll){.ops = ops, .ranks = 2, .host_ranks = 2, .any_thread = true};
}

#endif
