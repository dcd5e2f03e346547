/* SPDX-License-Identifier: Apache-2.0 */
/* test_rate_ramp.c: how many requests may begin, and when it may be more. */
#include "store/http/rate_ramp.h"

#include "tests/lib/unit.h"

#include "base/banned.h"

enum { MINUTE = 60 * 1000 };

/* How many requests begin within [from, to) ms when so many come each millisecond. */
static unsigned begun(struct rate_ramp *r, int64_t from, int64_t to, unsigned each_ms)
{
        unsigned n = 0;
        for (int64_t t = from; t < to; t++)
                for (unsigned i = 0; i < each_ms; i++)
                        if (t + rate_ramp_wait(r, 1, t) < to)
                                n++;
        return n;
}

START_TEST(a_second_of_requests_comes_at_once_and_then_the_rate_holds)
{
        struct rate_ramp r = {.first = 1000};
        for (int i = 0; i < 1000; i++)
                ck_assert_uint_eq(rate_ramp_wait(&r, 1, 5000), 0);
        rate_ramp_wait(&r, 1, 5000);
        ck_assert_uint_eq(rate_ramp_wait(&r, 1, 5000), 1);
        struct rate_ramp other = {.first = 1000};
        unsigned n = begun(&other, 5000, 15000, 3);
        ck_assert_uint_ge(n, 10900); /* ten seconds, and the one at once */
        ck_assert_uint_le(n, 11100);
}
END_TEST

START_TEST(who_stays_below_the_rate_never_waits)
{
        struct rate_ramp r = {.first = 2000};
        uint64_t waited = 0;
        for (int64_t t = 0; t < 90 * MINUTE; t++)
                waited += rate_ramp_wait(&r, 1, t);
        ck_assert_uint_eq(waited, 0);
        ck_assert(r.rate == 2000);
}
END_TEST

START_TEST(the_rate_doubles_each_twenty_minutes_that_it_is_reached)
{
        struct rate_ramp r = {.first = 10};
        static const unsigned want[] = {10, 20, 40, 80};
        for (int step = 0; step < 4; step++) {
                for (int64_t t = 0; t < 20 * MINUTE; t += 5)
                        rate_ramp_wait(&r, 1, step * 20 * (int64_t)MINUTE + t);
                ck_assert_uint_eq((unsigned)r.rate, want[step]);
                r.turn_us = 0; /* what piled up is not asked here */
        }
}
END_TEST

START_TEST(the_rate_falls_back_when_it_is_not_reached)
{
        struct rate_ramp r = {.first = 10};
        for (int64_t t = 0; t < 41 * MINUTE; t += 5) {
                rate_ramp_wait(&r, 1, t);
                r.turn_us = t < 40 * MINUTE ? r.turn_us : 0;
        }
        ck_assert_uint_eq((unsigned)r.rate, 40);
        r.full = false;
        rate_ramp_wait(&r, 1, 65 * MINUTE);
        ck_assert_uint_eq((unsigned)r.rate, 20);
        rate_ramp_wait(&r, 1, 1000 * (int64_t)MINUTE);
        ck_assert_uint_eq((unsigned)r.rate, 10);
}
END_TEST

START_TEST(a_batch_counts_as_what_is_in_it)
{
        struct rate_ramp r = {.first = 1000};
        ck_assert_uint_eq(rate_ramp_wait(&r, 1000, 0), 0);
        ck_assert_uint_eq(rate_ramp_wait(&r, 1000, 0), 0);
        ck_assert_uint_eq(rate_ramp_wait(&r, 1, 0), 1000);
}
END_TEST

int main(void)
{
        Suite *s = suite_create("ramp");
        TCase *t = tcase_create("ramp");
        tcase_add_test(t, a_second_of_requests_comes_at_once_and_then_the_rate_holds);
        tcase_add_test(t, who_stays_below_the_rate_never_waits);
        tcase_add_test(t, the_rate_doubles_each_twenty_minutes_that_it_is_reached);
        tcase_add_test(t, the_rate_falls_back_when_it_is_not_reached);
        tcase_add_test(t, a_batch_counts_as_what_is_in_it);
        suite_add_tcase(s, t);
        return unit_main(s);
}
