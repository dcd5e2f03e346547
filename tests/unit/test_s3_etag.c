/* SPDX-License-Identifier: Apache-2.0 */
/* test_s3_etag.c: the ETag of an object made of parts. */
#include "store/s3/s3_etag.h"

#include "tests/lib/unit.h"

#include "base/banned.h"

START_TEST(the_etag_of_parts_is_the_md5_of_their_md5_sums)
{
        struct etag_sum s;
        char etag[STORE_ETAG_MAX];
        etag_sum_init(&s);
        /* 5 MiB and 6 MiB of 'x', as MinIO and versitygw have it, too */
        etag_sum_add(&s, "\"4f08eef4096726bff1125e1b1b734644\"");
        etag_sum_add(&s, "3349dc700140d7f86a078484278075a9");
        etag_sum_end(&s, etag);
        ck_assert_str_eq(etag, "\"cc273a7377d284f883e0579c81e34330-2\"");
}
END_TEST

START_TEST(an_etag_that_is_no_md5_makes_the_sum_unknown)
{
        static const char *const bad[] = {"\"abc\"", "\"90de2ab7dcee1a61fab2b1b6cf1b4cc1-2\"", "",
                                          "\"zz de2ab7dcee1a61fab2b1b6cf1b4cc1\""};
        char etag[STORE_ETAG_MAX];
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
                struct etag_sum s;
                etag_sum_init(&s);
                etag_sum_add(&s, "\"90de2ab7dcee1a61fab2b1b6cf1b4cc1\"");
                etag_sum_add(&s, bad[i]);
                etag_sum_end(&s, etag);
                ck_assert_str_eq(etag, "");
        }
}
END_TEST

START_TEST(the_number_of_parts_is_behind_the_dash)
{
        ck_assert_uint_eq(etag_parts("\"90de-17\""), 17);
        ck_assert_uint_eq(etag_parts("90de-1"), 1);
        ck_assert_uint_eq(etag_parts("\"90de\""), 0);
        ck_assert_uint_eq(etag_parts("\"90de-\""), 0);
        ck_assert_uint_eq(etag_parts("\"90de-1x\""), 0);
        ck_assert_uint_eq(etag_parts("\"90de-10001\""), 0);
        ck_assert_uint_eq(etag_parts(""), 0);
}
END_TEST

int main(void)
{
        Suite *s = suite_create("s3_etag");
        TCase *t = tcase_create("s3_etag");
        tcase_add_test(t, the_etag_of_parts_is_the_md5_of_their_md5_sums);
        tcase_add_test(t, an_etag_that_is_no_md5_makes_the_sum_unknown);
        tcase_add_test(t, the_number_of_parts_is_behind_the_dash);
        suite_add_tcase(s, t);
        return unit_main(s);
}
