/* SPDX-License-Identifier: Apache-2.0 */
/* stats.h: figures of a few measured values. Pure, thread-safe. */
#ifndef CKPTFS_BENCH_STATS_H
#define CKPTFS_BENCH_STATS_H

#include <stddef.h>

struct stats {
        size_t n;
        double mean, sd; /* of the sample: n-1; 0 for n < 2 */
        double min, median, p75, p90, max;
};

/* Of v[0..n), which stays as it is; all zero for n == 0. 0, or -ENOMEM. */
int stats_of(const double *v, size_t n, struct stats *out);

/* The q-th quantile (0..1) of n ascending values, between the two nearest by linear interpolation
 * (R's type 7); 0 for n == 0. */
double stats_quantile(const double *sorted, size_t n, double q);

/* a / b, or 0 where b is 0: a rate of nothing is no number. */
double stats_ratio(double a, double b);

#endif
