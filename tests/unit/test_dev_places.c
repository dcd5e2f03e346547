/* SPDX-License-Identifier: Apache-2.0 */
/* test_dev_places.c: how many ranks share a device, on one host and on several. */
#include "bench/dev/dev_places.h"
#include "tests/lib/unit.h"

#include "base/banned.h"

START_TEST(a_device_of_another_host_is_another_device)
{
        const struct dev_place v[] = {{"a", "0"}, {"a", "1"}, {"b", "0"}, {"b", "1"}};
        unsigned a = 9, b = 9;
        ck_assert_uint_eq(dev_places_shared(v, 4, &a, &b), 1);
}
END_TEST

START_TEST(the_most_crowded_device_is_told_with_its_first_ranks)
{
        const struct dev_place v[] = {{"a", "0"}, {"a", "1"}, {"a", "0"},
                                      {"a", "1"}, {"b", "0"}, {"a", "1"}};
        unsigned a = 9, b = 9;
        ck_assert_uint_eq(dev_places_shared(v, 6, &a, &b), 3);
        ck_assert_uint_eq(a, 1);
        ck_assert_uint_eq(b, 3);
}
END_TEST

int main(void)
{
        TCase *tc = tcase_create("dev_places");
        tcase_add_test(tc, a_device_of_another_host_is_another_device);
        tcase_add_test(tc, the_most_crowded_device_is_told_with_its_first_ranks);
        Suite *s = suite_create("dev_places");
        suite_add_tcase(s, tc);
        return unit_main(s);
}
