/* SPDX-License-Identifier: Apache-2.0 */
/* stats.h: figures of a few measured values. Pure, thread-safe. */
#ifndef CKPTFS_BENCH_STATS_H
#define CKPTFS_BENCH_STATS_H

#include <stddef.h>

struct stats {
        size_t n;
        double mean, sd; /* of the sample: n-1; 0 for n < 2 */
        double min, p25, median, p75, p90, max;
};

/* Of v[0..n), which stays as it is; all zero for n == 0. 0, or -ENOMEM. */
int stats_of(const double *v, size_t n, struct stats *out);

/* The 95 % bootstrap interval of the ratio of two medians, b's over a's: the 2.5 % and 97.5 %
 * quantiles of the ratios of 2,000 pairs of resamples (Efron, Tibshirani: "An Introduction to the
 * Bootstrap", chapter 13). Same values, same interval. 0, -ENOMEM, or -EINVAL for fewer than 3
 * values of either, of which no interval can be made. */
struct interval {
        double low, high;
};
int stats_ratio_interval(const double *a, size_t na, const double *b, size_t nb,
                         struct interval *out);

/* The same of one median. */
int stats_median_interval(const double *v, size_t n, struct interval *out);

/* How likely two sides as far apart as these are when all their values are of one kind: the share
 * of all ways to deal the na + nb values to two sides of these sizes in which the means of their
 * logarithms lie at least as far apart (Fisher's permutation test, two-sided). Beyond 200,000 ways,
 * of as many that are drawn and the one that was measured, so that p is never 0 (Phipson, Smyth:
 * "Permutation P-values should never be zero", 2010). Where a value is 0 the values themselves are
 * taken. *apart is how far b lies above a; where that is no finite number, p is 1. 0, or -ENOMEM,
 * -EINVAL for an empty side. */
int stats_dealt_anew(const double *a, size_t na, const double *b, size_t nb, double *p,
                     double *apart);
/* The least that it can be. */
double stats_dealt_least(size_t na, size_t nb);

/* Corrects the chances p[0..n) of n questions that are asked at once (Holm, 1979): each is then to
 * be compared with the level of all. 0 or -ENOMEM. */
int stats_holm(double *p, size_t n);

/* a / b, or 0 where b is 0: a rate of nothing is no number. */
double stats_ratio(double a, double b);

#endif
