/* SPDX-License-Identifier: Apache-2.0 */
/* test_worker_pace.c: transfers at once of a worker that is busy, or is not. */
#include "store/http/worker_pace.h"

#include "tests/lib/unit.h"

#include "base/banned.h"

enum { MS = 1000000 };

/* One second of waking every 1 ms, asleep for `slept` ns of each. */
static void second(struct worker_pace *p, int64_t from, int64_t slept, unsigned most)
{
        for (int64_t t = from; t < from + 1000 * (int64_t)MS; t += MS)
                worker_pace_slept(p, t, t + slept, most);
}

START_TEST(a_worker_that_sleeps_takes_every_place)
{
        struct worker_pace p = {0};
        second(&p, MS, MS / 2, 64);
        ck_assert_uint_eq(p.places, 64);
}
END_TEST

START_TEST(a_worker_that_never_sleeps_keeps_the_least)
{
        struct worker_pace p = {0};
        second(&p, MS, MS / 2, 64);
        second(&p, 2000 * (int64_t)MS, 0, 64);
        ck_assert_uint_eq(p.places, PACE_LEAST);
}
END_TEST

START_TEST(there_are_never_more_than_the_most)
{
        struct worker_pace p = {0};
        second(&p, MS, MS / 2, 2);
        ck_assert_uint_eq(p.places, 2);
}
END_TEST

int main(void)
{
        Suite *s = suite_create("worker_pace");
        TCase *t = tcase_create("worker_pace");
        tcase_add_test(t, a_worker_that_sleeps_takes_every_place);
        tcase_add_test(t, a_worker_that_never_sleeps_keeps_the_least);
        tcase_add_test(t, there_are_never_more_than_the_most);
        suite_add_tcase(s, t);
        return unit_main(s);
}
