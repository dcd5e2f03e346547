/* SPDX-License-Identifier: Apache-2.0 */
/* stats.c: see stats.h. */
#include "bench/stats.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#include "base/banned.h"

static int by_value(const void *a, const void *b)
{
        double x = *(const double *)a, y = *(const double *)b;
        return (x > y) - (x < y);
}

double stats_quantile(const double *sorted, size_t n, double q)
{
        if (!n)
                return 0;
        double at = q * (double)(n - 1);
        size_t i = (size_t)at;
        if (i + 1 >= n)
                return sorted[n - 1];
        return sorted[i] + (at - (double)i) * (sorted[i + 1] - sorted[i]);
}

int stats_of(const double *v, size_t n, struct stats *out)
{
        *out = (struct stats){0};
        if (!n)
                return 0;
        CLEANUP(freep) double *s = malloc(n * sizeof *s);
        if (!s)
                return -ENOMEM;
        memcpy(s, v, n * sizeof *s);
        qsort(s, n, sizeof *s, by_value);
        double sum = 0, square = 0;
        for (size_t i = 0; i < n; i++)
                sum += s[i];
        double mean = sum / (double)n;
        for (size_t i = 0; i < n; i++)
                square += (s[i] - mean) * (s[i] - mean);
        *out = (struct stats){
                .n = n,
                .mean = mean,
                .sd = n > 1 ? sqrt(square / (double)(n - 1)) : 0,
                .min = s[0],
                .median = stats_quantile(s, n, 0.5),
                .p75 = stats_quantile(s, n, 0.75),
                .p90 = stats_quantile(s, n, 0.9),
                .max = s[n - 1],
        };
        return 0;
}

double stats_ratio(double a, double b)
{
        return b > 0 ? a / b : 0;
}
