/* SPDX-License-Identifier: Apache-2.0 */
/* test_digits.c: sizes and offsets as servers write them. */
#include "base/text/digits.h"

#include <errno.h>

#include "tests/lib/unit.h"

#include "base/banned.h"

static const struct {
        const char *text;
        int err;
        uint64_t v;
} cases[] = {
        {"0", 0, 0},
        {"000", 0, 0},
        {"5497558138880", 0, 5497558138880ULL},
        {"00000000000000000000000000007", 0, 7},
        {"9223372036854775807", 0, INT64_MAX},
        {"9223372036854775808", -EINVAL, 0},
        {"18446744073709551616", -EINVAL, 0},
        {"", -EINVAL, 0},
        {"-1", -EINVAL, 0},
        {"+1", -EINVAL, 0},
        {" 1", -EINVAL, 0},
        {"1 ", -EINVAL, 0},
        {"1e3", -EINVAL, 0},
        {"0x10", -EINVAL, 0},
};

START_TEST(only_digits_of_a_size_that_a_file_may_have_are_read)
{
        uint64_t v = 1;

        ck_assert_int_eq(digits_parse(cases[_i].text, &v), cases[_i].err);
        ck_assert_uint_eq(v, cases[_i].v);
        ck_assert_uint_eq(digits_size(cases[_i].text), cases[_i].err ? INT64_MAX : v);
}
END_TEST

int main(void)
{
        Suite *s = suite_create("digits");
        TCase *t = tcase_create("digits");
        tcase_add_loop_test(t, only_digits_of_a_size_that_a_file_may_have_are_read, 0,
                            sizeof cases / sizeof *cases);
        suite_add_tcase(s, t);
        return unit_main(s);
}
