/* SPDX-License-Identifier: Apache-2.0 */
/* test_retry.c: back-off, deadline, how many at once, ranges. */
#include "store/http/retry.h"

#include <errno.h>

#include "tests/lib/unit.h"

#include "base/banned.h"

START_TEST(the_delay_grows_to_its_cap_and_is_any_below)
{
        static const unsigned most[] = {100, 200, 400, 800, 1600, 3200, 6400, 10000, 10000};
        for (unsigned i = 0; i < sizeof most / sizeof *most; i++) {
                ck_assert_uint_eq(backoff_ms(i + 1, most[i] - 1), most[i] - 1);
                ck_assert_uint_eq(backoff_ms(i + 1, most[i]), 0);
        }
        ck_assert_uint_lt(backoff_ms(4000000000U, UINT64_MAX), BACKOFF_CAP_MS);
}
END_TEST

START_TEST(the_deadline_counts_from_the_first_failure)
{
        struct retry r = {.deadline_ms = 1000};
        ck_assert_int_eq(retry_next(&r, 50000, 0, 0, 99), 99);
        ck_assert_int_eq(retry_next(&r, 50500, 0, 0, 150), 150);
        ck_assert_int_eq(retry_next(&r, 50900, 0, 0, 99), 99);
        ck_assert_int_eq(retry_next(&r, 50900, 0, 0, 100), -1);
        retry_progress(&r);
        ck_assert_int_eq(retry_next(&r, 60000, 0, 0, 10), 10);
}
END_TEST

START_TEST(the_silence_before_a_failure_counts)
{
        struct retry r = {.deadline_ms = 1000};
        ck_assert_int_eq(retry_next(&r, 50000, 1500, 0, 0), -1);
}
END_TEST

START_TEST(what_the_server_asks_for_is_waited)
{
        struct retry r = {.deadline_ms = 5000};
        ck_assert_int_eq(retry_next(&r, 1000, 0, 3000, 7), 3000);
        ck_assert_int_eq(retry_next(&r, 4000, 0, 3000, 7), -1);
}
END_TEST

START_TEST(the_number_of_tries_may_be_bounded)
{
        struct retry r = {.deadline_ms = 5000, .most = 2};
        ck_assert_int_eq(retry_next(&r, 0, 0, 0, 1), 1);
        ck_assert_int_eq(retry_next(&r, 1, 0, 0, 1), -1);
}
END_TEST

START_TEST(a_slow_down_halves_once_and_success_adds)
{
        struct aimd a;
        aimd_init(&a, 16);
        aimd_slower(&a, 5000);
        ck_assert_uint_eq(aimd_limit(&a), 8);
        aimd_slower(&a, 5000 + AIMD_HOLD_MS - 1); /* an answer to what was sent before */
        ck_assert_uint_eq(aimd_limit(&a), 8);
        aimd_slower(&a, 5000 + AIMD_HOLD_MS);
        ck_assert_uint_eq(aimd_limit(&a), 4);
        for (int i = 0; i < 5; i++)
                aimd_faster(&a);
        ck_assert_uint_eq(aimd_limit(&a), 5);
        for (int i = 0; i < 1000; i++)
                aimd_faster(&a);
        ck_assert_uint_eq(aimd_limit(&a), 16);
        for (int i = 1; i < 20; i++)
                aimd_slower(&a, 5000 + (int64_t)i * 2000);
        ck_assert_uint_eq(aimd_limit(&a), 1);
}
END_TEST

static const struct {
        const char *text;
        int err;
        uint64_t first, last, total;
} ranges[] = {
        {"bytes 5-9/20", 0, 5, 9, 20},
        {"bytes 0-0/1", 0, 0, 0, 1},
        {"bytes 5-9/*", 0, 5, 9, UINT64_MAX},
        {"bytes */20", 0, 1, 0, 20},
        {"bytes 9-5/20", -EINVAL, 0, 0, 0},
        {"bytes 5-20/20", -EINVAL, 0, 0, 0},
        {"bytes 5-9/20x", -EINVAL, 0, 0, 0},
        {"bytes -9/20", -EINVAL, 0, 0, 0},
        {"bytes 99999999999999999999-99999999999999999999/*", -EINVAL, 0, 0, 0},
        {"items 5-9/20", -EINVAL, 0, 0, 0},
        {"", -EINVAL, 0, 0, 0},
};

START_TEST(a_content_range_is_read_or_refused)
{
        uint64_t first, last, total;
        ck_assert_int_eq(content_range_parse(ranges[_i].text, &first, &last, &total),
                         ranges[_i].err);
        if (ranges[_i].err)
                return;
        ck_assert_uint_eq(first, ranges[_i].first);
        ck_assert_uint_eq(last, ranges[_i].last);
        ck_assert_uint_eq(total, ranges[_i].total);
}
END_TEST

START_TEST(a_status_has_its_errno)
{
        ck_assert_int_eq(status_errno(404, false), -ENOENT);
        ck_assert_int_eq(status_errno(403, false), -EACCES);
        ck_assert_int_eq(status_errno(412, true), -EEXIST);
        ck_assert_int_eq(status_errno(412, false), -ESTALE);
        ck_assert_int_eq(status_errno(409, true), -EEXIST);
        ck_assert_int_eq(status_errno(507, false), -ENOSPC);
        ck_assert_int_eq(status_errno(418, false), -EIO);
        ck_assert(retry_status(503) && retry_status(429) && retry_status(500));
        ck_assert(!retry_status(400) && !retry_status(404) && !retry_status(501));
}
END_TEST

int main(void)
{
        Suite *s = suite_create("retry");
        TCase *t = tcase_create("retry");
        tcase_add_test(t, the_delay_grows_to_its_cap_and_is_any_below);
        tcase_add_test(t, the_deadline_counts_from_the_first_failure);
        tcase_add_test(t, the_silence_before_a_failure_counts);
        tcase_add_test(t, what_the_server_asks_for_is_waited);
        tcase_add_test(t, the_number_of_tries_may_be_bounded);
        tcase_add_test(t, a_slow_down_halves_once_and_success_adds);
        tcase_add_loop_test(t, a_content_range_is_read_or_refused, 0,
                            sizeof ranges / sizeof *ranges);
        tcase_add_test(t, a_status_has_its_errno);
        suite_add_tcase(s, t);
        return unit_main(s);
}
