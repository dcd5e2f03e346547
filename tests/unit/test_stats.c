/* SPDX-License-Identifier: Apache-2.0 */
/* test_stats.c: figures of values, and the maximum over ranks made of samples. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "tests/lib/unit.h"

#include "bench/measure/measure.h"
#include "bench/measure/stats.h"

#include "base/banned.h"

START_TEST(quantiles_interpolate_and_ignore_order)
{
        static const double v[] = {4, 1, 3, 2, 10};
        struct stats s;
        ck_assert_int_eq(stats_of(v, 5, &s), 0);
        ck_assert_double_eq(s.min, 1);
        ck_assert_double_eq(s.median, 3);
        ck_assert_double_eq(s.p75, 4);
        ck_assert_double_eq_tol(s.p90, 7.6, 1e-12);
        ck_assert_double_eq(s.max, 10);
        ck_assert_double_eq(s.mean, 4);
        ck_assert_double_eq_tol(s.sd, 3.5355339059327378, 1e-12);
        ck_assert_double_eq(v[0], 4);
}
END_TEST

START_TEST(few_values_have_no_spread)
{
        static const double v[] = {7, 9};
        struct stats s;
        ck_assert_int_eq(stats_of(v, 0, &s), 0);
        ck_assert_double_eq(s.max, 0);
        ck_assert_int_eq(stats_of(v, 1, &s), 0);
        ck_assert_double_eq(s.sd, 0);
        ck_assert_double_eq(s.p90, 7);
        ck_assert_int_eq(stats_of(v, 2, &s), 0);
        ck_assert_double_eq(s.median, 8);
        ck_assert_double_eq(stats_ratio(1, 0), 0);
}
END_TEST

START_TEST(the_interval_of_a_ratio_holds_what_is_true)
{
        static const double a[] = {10, 11, 10.5, 10.2, 10.8, 10.1, 10.9, 10.4};
        static const double b[] = {20, 22, 21, 20.4, 21.6, 20.2, 21.8, 20.8};
        struct interval in;
        ck_assert_int_eq(stats_ratio_interval(a, 8, b, 8, &in), 0);
        ck_assert(in.low > 1.85 && in.low < 2 && in.high > 2 && in.high < 2.15);
        ck_assert_int_eq(stats_ratio_interval(a, 8, a, 8, &in), 0);
        ck_assert(in.low < 1 && in.high > 1);
        ck_assert_int_eq(stats_median_interval(a, 8, &in), 0);
        ck_assert(in.low >= 10 && in.low < 10.45 && in.high > 10.45 && in.high <= 11);
        ck_assert_int_eq(stats_median_interval(a, 2, &in), -22);
}
END_TEST

/* Two ranks, three epochs: an epoch takes as long as its slowest rank, the run as its median epoch;
 * a rank that was slow once does not make the mean of the others slow. */
START_TEST(runs_dealt_anew_tell_how_likely_their_sides_are)
{
        const double low[] = {1, 1.1, 1.2, 1.3, 1.4}, high[] = {2, 2.1, 2.2, 2.3, 2.4};
        double many[30], more[30], p, apart;

        ck_assert_int_eq(stats_dealt_anew(low, 5, high, 5, &p, &apart), 0);
        ck_assert_double_eq_tol(p, 2.0 / 252, 1e-12); /* 10 over 5, and the sides exchanged */
        ck_assert_double_eq_tol(stats_dealt_least(5, 5), 2.0 / 252, 1e-12);
        ck_assert_int_eq(stats_dealt_anew(low, 5, low, 5, &p, &apart), 0);
        ck_assert_double_eq_tol(p, 1, 1e-12);
        ck_assert_double_eq_tol(apart, 0, 1e-12);
        ck_assert_int_eq(stats_dealt_anew(low, 0, high, 5, &p, &apart), -EINVAL);
        for (int i = 0; i < 30; i++) {
                many[i] = 1 + i % 7 * 0.1;
                more[i] = 1 + (i + 3) % 7 * 0.1;
        }
        ck_assert_int_eq(stats_dealt_anew(many, 30, more, 30, &p, &apart), 0);
        ck_assert_double_gt(p, 0.5); /* too many ways for all of them */
}
END_TEST

/* Of 118,264,581,564,861,424 ways two are as far apart, and none of those that are drawn. */
START_TEST(what_no_drawn_deal_shows_is_not_certain)
{
        double low[30], high[30], p, apart;

        for (int i = 0; i < 30; i++) {
                low[i] = 1 + i * 0.001;
                high[i] = 2 + i * 0.001;
        }
        ck_assert_int_eq(stats_dealt_anew(low, 30, high, 30, &p, &apart), 0);
        ck_assert_double_eq_tol(p, 1.0 / 200001, 1e-12);
        ck_assert_double_eq_tol(stats_dealt_least(30, 30), 1.0 / 200001, 1e-12);
}
END_TEST

/* The logarithm of 0 is no number, and every comparison with it is false. */
START_TEST(a_zero_among_the_values_makes_no_difference_by_itself)
{
        const double a[] = {0, 0.2, 0.1, 0.3, 0.1}, b[] = {0.1, 0, 0.2, 0.1, 0.3};
        const double none[5] = {0}, high[] = {3, 3.1, 3.2, 3.3, 3.4};
        const double endless[] = {1, 1, INFINITY, 1, 1};
        double p, apart;

        ck_assert_int_eq(stats_dealt_anew(a, 5, b, 5, &p, &apart), 0);
        ck_assert_double_eq_tol(p, 1, 1e-12);
        ck_assert_int_eq(stats_dealt_anew(none, 5, none, 5, &p, &apart), 0);
        ck_assert_double_eq_tol(p, 1, 1e-12);
        ck_assert_int_eq(stats_dealt_anew(none, 5, high, 5, &p, &apart), 0);
        ck_assert_double_eq_tol(p, 2.0 / 252, 1e-12);
        ck_assert_double_eq_tol(apart, 3.2, 1e-12);
        ck_assert_int_eq(stats_dealt_anew(endless, 5, high, 5, &p, &apart), 0);
        ck_assert_double_eq_tol(p, 1, 1e-12);
}
END_TEST

/* The rate of false alarms: pairs of runs of one kind, each with a drift of its own. */
START_TEST(runs_of_one_kind_seldom_differ)
{
        enum { PAIRS = 2000 };
        unsigned alarms = 0;

        srand(7);
        for (int i = 0; i < PAIRS; i++) {
                double a[5], b[5], p, apart;
                for (int k = 0; k < 5; k++) {
                        a[k] = 1 + 0.05 * rand() / RAND_MAX;
                        b[k] = 1 + 0.05 * rand() / RAND_MAX;
                }
                ck_assert_int_eq(stats_dealt_anew(a, 5, b, 5, &p, &apart), 0);
                alarms += p < 0.05;
        }
        ck_assert_uint_le(alarms, PAIRS * 6 / 100);
}
END_TEST

START_TEST(many_questions_at_once_ask_for_more)
{
        double p[] = {0.04, 0.01, 0.03, 0.01};
        ck_assert_int_eq(stats_holm(p, 4), 0);
        ck_assert_double_eq_tol(p[1], 0.04, 1e-12);
        ck_assert_double_eq_tol(p[3], 0.04, 1e-12);
        ck_assert_double_eq_tol(p[2], 0.06, 1e-12);
        ck_assert_double_eq_tol(p[0], 0.06, 1e-12); /* never less than a smaller one's */
        ck_assert_int_eq(stats_holm(p, 0), 0);
}
END_TEST

START_TEST(an_epoch_lasts_as_long_as_its_slowest_rank)
{
        struct sample v[6];
        static const double total[6] = {1, 2, 9, 1, 3, 1};
        for (int i = 0; i < 6; i++)
                v[i] = (struct sample){.total = total[i],
                                       .transfer = total[i] / 2,
                                       .cpu_self = 0.5,
                                       .cpu_mount = i % 2 ? 0 : 1,
                                       .bytes = 3000000000U};
        struct summary s;
        ck_assert_int_eq(measure_summary(v, 3, 2, &s), 0);
        ck_assert_double_eq(s.seconds, 3);
        ck_assert_double_eq(s.epochs.min, 2);
        ck_assert_double_eq(s.epochs.max, 9);
        ck_assert_double_eq(s.transfer, 1.5);
        ck_assert_double_eq(s.gb_per_s, 2);
        ck_assert_double_eq_tol(s.cpu_self_per_gb, 3.0 / 18, 1e-12);
        ck_assert_double_eq_tol(s.cpu_mount_per_gb, 3.0 / 18, 1e-12);
        ck_assert_double_eq_tol(s.cpu_per_gb, 6.0 / 18, 1e-12);
}
END_TEST

int main(void)
{
        Suite *s = suite_create("stats");
        TCase *t = tcase_create("stats");
        tcase_add_test(t, quantiles_interpolate_and_ignore_order);
        tcase_add_test(t, few_values_have_no_spread);
        tcase_add_test(t, the_interval_of_a_ratio_holds_what_is_true);
        tcase_add_test(t, runs_dealt_anew_tell_how_likely_their_sides_are);
        tcase_add_test(t, what_no_drawn_deal_shows_is_not_certain);
        tcase_add_test(t, a_zero_among_the_values_makes_no_difference_by_itself);
        tcase_add_test(t, runs_of_one_kind_seldom_differ);
        tcase_add_test(t, many_questions_at_once_ask_for_more);
        tcase_add_test(t, an_epoch_lasts_as_long_as_its_slowest_rank);
        suite_add_tcase(s, t);
        return unit_main(s);
}
