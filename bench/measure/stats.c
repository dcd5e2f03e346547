/* SPDX-License-Identifier: Apache-2.0 */
/* stats.c: see stats.h. */
#include "bench/measure/stats.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
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

/* The q-th quantile (0..1) of n ascending values, between the two nearest by linear interpolation
 * (R's type 7); 0 for n == 0. */
static double stats_quantile(const double *sorted, size_t n, double q)
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

enum { DEALS_MAX = 200000 };

/* In how many ways na of na + nb can be chosen, or a number above DEALS_MAX. */
static double ways(size_t na, size_t nb)
{
        double n = 1;
        for (size_t i = 1; i <= na && n <= 1e15; i++)
                n = n * (double)(nb + i) / (double)i;
        return n;
}

double stats_dealt_least(size_t na, size_t nb)
{
        double n = ways(na, nb);
        return n <= DEALS_MAX ? (na == nb ? 2 : 1) / n : 1.0 / (DEALS_MAX + 1);
}

/* The next choice of k of n positions, ascending. False after the last. */
static bool next_choice(size_t *pick, size_t k, size_t n)
{
        size_t i = k;
        while (i > 0 && pick[i - 1] == n - k + i - 1)
                i--;
        if (!i)
                return false;
        pick[i - 1]++;
        for (; i < k; i++)
                pick[i] = pick[i - 1] + 1;
        return true;
}

/* k of n positions at random: the first of a shuffle that ends there. */
static void draw_choice(size_t *all, size_t k, size_t n, uint64_t *state)
{
        for (size_t i = 0; i < k; i++) {
                size_t other = i + (size_t)(next_random(state) % (n - i)), kept = all[i];
                all[i] = all[other];
                all[other] = kept;
        }
}

/* The values of both sides, one behind the other: their logarithms, since what differs is a factor;
 * a zero has none, and then they are taken as they are. */
static void in_logs(const double *a, size_t na, const double *b, size_t nb, double *out)
{
        bool positive = true;

        for (size_t i = 0; i < na + nb; i++) {
                out[i] = i < na ? a[i] : b[i - na];
                positive = positive && out[i] > 0;
        }
        for (size_t i = 0; i < na + nb && positive; i++)
                out[i] = log(out[i]);
}

int stats_dealt_anew(const double *a, size_t na, const double *b, size_t nb, double *p,
                     double *apart)
{
        const size_t n = na + nb;
        uint64_t state = 0x9e3779b97f4a7c15ULL;
        CLEANUP(freep) double *logs = malloc(n * sizeof *logs);
        CLEANUP(freep) size_t *pick = malloc(n * sizeof *pick);
        double sum = 0, mine = 0;

        if (!na || !nb)
                return -EINVAL;
        if (!logs || !pick)
                return -ENOMEM;
        in_logs(a, na, b, nb, logs);
        for (size_t i = 0; i < n; i++) {
                pick[i] = i;
                sum += logs[i];
                mine += i < na ? logs[i] : 0;
        }
        *apart = (sum - mine) / (double)nb - mine / (double)na;
        *p = 1;
        if (!isfinite(*apart))
                return 0;
        /* a difference of rounding is none */
        const double far = fabs(*apart) - 1e-12;
        const bool all = ways(na, nb) <= DEALS_MAX;
        size_t deals = 0, as_far = 0;
        do {
                double s = 0;
                if (!all)
                        draw_choice(pick, na, n, &state);
                for (size_t i = 0; i < na; i++)
                        s += logs[pick[i]];
                as_far += fabs(s / (double)na - (sum - s) / (double)nb) >= far;
                deals++;
        } while (all ? next_choice(pick, na, n) : deals < DEALS_MAX);
        /* drawn ones are not all: what was measured is one more, which is as far apart as itself */
        *p = (double)(as_far + !all) / (double)(deals + !all);
        return 0;
}

int stats_holm(double *p, size_t n)
{
        CLEANUP(freep) double *sorted = malloc((n ? n : 1) * sizeof *sorted);
        double worst = 0;

        if (!sorted)
                return -ENOMEM;
        memcpy(sorted, p, n * sizeof *p);
        qsort(sorted, n, sizeof *sorted, by_value);
        for (size_t i = 0; i < n; i++) {
                double here = sorted[i] * (double)(n - i);
                worst = here > worst ? here : worst;
                /* equal ones take the first's place, and so are the same */
                for (size_t k = 0; k < n && (!i || sorted[i] > sorted[i - 1]); k++)
                        if (p[k] == sorted[i])
                                p[k] = -(worst < 1 ? worst : 1); /* done */
        }
        for (size_t k = 0; k < n; k++)
                p[k] = fabs(p[k]);
        return 0;
}

double stats_ratio(double a, double b)
{
        return b > 0 ? a / b : 0;
}
