/* SPDX-License-Identifier: Apache-2.0 */
/* test_worker_load.c: how many workers take requests, by what they use of their cores. */
#include "store/http/worker_load.h"

#include "tests/lib/unit.h"

#include "base/banned.h"

/* A load that would use so many cores, shared by the workers, for so long. */
static void load(struct worker_load *l, int64_t *now_ms, double cores, int64_t for_ms)
{
        for (int64_t end_ms = *now_ms + for_ms; *now_ms < end_ms; *now_ms += WORKER_LOAD_LOOK_MS)
                worker_load_look(l, *now_ms, cores < l->active ? cores : l->active);
}

START_TEST(a_machine_has_one_worker_for_two_cores)
{
        static const struct {
                long cores;
                unsigned most;
        } cases[] = {{-1, 1}, {1, 1}, {2, 1}, {3, 1}, {4, 2}, {16, 8}, {96, 16}};
        ck_assert_uint_eq(worker_load_most(cases[_i].cores), cases[_i].most);
}
END_TEST

START_TEST(a_light_load_stays_with_one)
{
        struct worker_load l = {.active = 1, .most = 8};
        int64_t now_ms = 1;

        load(&l, &now_ms, 0.7, 60000);
        ck_assert_uint_eq(l.active, 1);
}
END_TEST

START_TEST(a_load_gets_as_many_as_it_fills_within_a_second)
{
        struct worker_load l = {.active = 1, .most = 8};
        int64_t now_ms = 1;

        load(&l, &now_ms, 3.1, 1000);
        ck_assert_uint_eq(l.active, 4);
        load(&l, &now_ms, 3.1, 60000);
        ck_assert_uint_eq(l.active, 4);
}
END_TEST

START_TEST(there_are_never_more_than_the_most)
{
        struct worker_load l = {.active = 1, .most = 6};
        int64_t now_ms = 1;

        load(&l, &now_ms, 100, 60000);
        ck_assert_uint_eq(l.active, 6);
}
END_TEST

START_TEST(a_load_that_falls_gives_them_back_one_by_one)
{
        struct worker_load l = {.active = 8, .most = 8};
        int64_t now_ms = 1;

        load(&l, &now_ms, 1, WORKER_LOAD_CALM_MS - WORKER_LOAD_LOOK_MS);
        ck_assert_uint_eq(l.active, 8);
        load(&l, &now_ms, 1, 2LL * WORKER_LOAD_LOOK_MS);
        ck_assert_uint_eq(l.active, 7);
        load(&l, &now_ms, 1, 60000);
        ck_assert_uint_eq(l.active, 3); /* two would be half full */
        load(&l, &now_ms, 0, 60000);
        ck_assert_uint_eq(l.active, 1);
}
END_TEST

START_TEST(a_short_rest_gives_none_back)
{
        struct worker_load l = {.active = 4, .most = 4};
        int64_t now_ms = 1;

        for (int i = 0; i < 20; i++) {
                load(&l, &now_ms, 0, WORKER_LOAD_CALM_MS / 2);
                load(&l, &now_ms, 3, WORKER_LOAD_LOOK_MS);
        }
        ck_assert_uint_eq(l.active, 4);
}
END_TEST

int main(void)
{
        Suite *s = suite_create("worker_load");
        TCase *t = tcase_create("worker_load");
        tcase_add_loop_test(t, a_machine_has_one_worker_for_two_cores, 0, 7);
        tcase_add_test(t, a_light_load_stays_with_one);
        tcase_add_test(t, a_load_gets_as_many_as_it_fills_within_a_second);
        tcase_add_test(t, there_are_never_more_than_the_most);
        tcase_add_test(t, a_load_that_falls_gives_them_back_one_by_one);
        tcase_add_test(t, a_short_rest_gives_none_back);
        suite_add_tcase(s, t);
        return unit_main(s);
}
