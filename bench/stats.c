/* SPDX-License-Identifier: Apache-2.0 */
/* stats.c: see stats.h. */
#include "bench/stats.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
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
                .p25 = stats_quantile(s, n, 0.25),
                .median = stats_quantile(s, n, 0.5),
                .p75 = stats_quantile(s, n, 0.75),
                .p90 = stats_quantile(s, n, 0.9),
                .max = s[n - 1],
        };
        return 0;
}

enum { RESAMPLES = 2000, VALUES_MIN = 3 };

/* xorshift64* (Vigna, 2016): the same numbers on every machine. */
static uint64_t next_random(uint64_t *state)
{
        *state ^= *state >> 12;
        *state ^= *state << 25;
        *state ^= *state >> 27;
        return *state * 0x2545f4914f6cdd1dULL;
}

/* The median of n values drawn from v with replacement; `room` holds n. */
static double resampled(const double *v, size_t n, double *room, uint64_t *state)
{
        for (size_t i = 0; i < n; i++)
                room[i] = v[(size_t)((next_random(state) >> 11) * 0x1p-53 * (double)n)];
        qsort(room, n, sizeof *room, by_value);
        return stats_quantile(room, n, 0.5);
}

int stats_ratio_interval(const double *a, size_t na, const double *b, size_t nb,
                         struct interval *out)
{
        uint64_t state = 0x9e3779b97f4a7c15ULL;

        *out = (struct interval){0};
        if (na < VALUES_MIN || nb < VALUES_MIN)
                return -EINVAL;
        CLEANUP(freep) double *room = malloc((na > nb ? na : nb) * sizeof *room);
        CLEANUP(freep) double *ratios = malloc(RESAMPLES * sizeof *ratios);
        if (!room || !ratios)
                return -ENOMEM;
        for (size_t i = 0; i < RESAMPLES; i++) {
                double of_b = resampled(b, nb, room, &state);
                ratios[i] = stats_ratio(of_b, resampled(a, na, room, &state));
        }
        qsort(ratios, RESAMPLES, sizeof *ratios, by_value);
        out->low = stats_quantile(ratios, RESAMPLES, 0.025);
        out->high = stats_quantile(ratios, RESAMPLES, 0.975);
        return 0;
}

int stats_median_interval(const double *v, size_t n, struct interval *out)
{
        static const double ones[VALUES_MIN] = {1, 1, 1};
        return stats_ratio_interval(ones, VALUES_MIN, v, n, out);
}

double stats_ratio(double a, double b)
{
        return b > 0 ? a / b : 0;
}
