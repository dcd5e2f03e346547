/* SPDX-License-Identifier: Apache-2.0 */
/* test_recovery_record.c: the record of a change that lost comes back as it was, and nothing else
 * passes. */
#include "base/record/recovery_record.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "tests/lib/unit.h"

#include "base/banned.h"

START_TEST(a_record_comes_back_as_it_was)
{
        CLEANUP(recovery_record_release)
        struct recovery_record k = {
                .key = strdup("a/\n\"b"),
                .base = strdup("\"etag\""),
                .host = strdup("node1"),
                .upload = strdup("id"),
                .size = 48ULL << 40,
                .time_ns = 1763800000LL * 1000000000,
        };
        CLEANUP(recovery_record_release) struct recovery_record back = {.key = NULL};
        char why[256];
        for (unsigned i = 1; i <= 100; i++) {
                const struct recovery_part p = {.partno = 2 * i,
                                                .size = 1ULL << 32,
                                                .etag = (char *)"\"e\"",
                                                .has_crc = i % 2,
                                                .crc32c = i % 2 ? 0xfedcba98 : 0};
                ck_assert_int_eq(recovery_record_add_part(&k, &p), 0);
        }
        CLEANUP(freep) char *text = recovery_record_print(&k);
        ck_assert_ptr_nonnull(text);
        ck_assert_int_eq(recovery_record_parse("r", text, strlen(text), &back, why, sizeof why), 0);
        ck_assert_str_eq(back.key, k.key);
        ck_assert_str_eq(back.base, k.base);
        ck_assert_str_eq(back.host, k.host);
        ck_assert_str_eq(back.upload, k.upload);
        ck_assert_uint_eq(back.size, k.size);
        ck_assert_int_eq(back.time_ns, k.time_ns);
        ck_assert_uint_eq(back.nparts, 100);
        for (size_t i = 0; i < 100; i++) {
                ck_assert_uint_eq(back.parts[i].partno, k.parts[i].partno);
                ck_assert_uint_eq(back.parts[i].size, k.parts[i].size);
                ck_assert_str_eq(back.parts[i].etag, k.parts[i].etag);
                ck_assert_int_eq(back.parts[i].has_crc, k.parts[i].has_crc);
                ck_assert_uint_eq(back.parts[i].crc32c, k.parts[i].crc32c);
        }
}
END_TEST

START_TEST(an_orphan_has_no_upload)
{
        CLEANUP(recovery_record_release) struct recovery_record k = {.key = strdup("k"), .size = 3};
        CLEANUP(recovery_record_release) struct recovery_record back = {.key = NULL};
        char why[256];
        CLEANUP(freep) char *text = recovery_record_print(&k);
        ck_assert_int_eq(recovery_record_parse("r", text, strlen(text), &back, why, sizeof why), 0);
        ck_assert_ptr_null(back.upload);
        ck_assert_uint_eq(back.size, 3);
}
END_TEST

static const char *const bad[] = {
        "",
        "[]",
        "{}",
        "{\"key\": 1, \"size\": 1, \"time\": 1}",
        "{\"key\": \"\", \"size\": 1, \"time\": 1}",
        "{\"key\": \"k\", \"size\": -1, \"time\": 1}",
        "{\"key\": \"k\", \"size\": 1.5, \"time\": 1}",
        "{\"key\": \"k\", \"size\": 1}",
        "{\"key\": \"k\", \"size\": 1, \"time\": 1e300}",
        "{\"key\": \"k\", \"size\": 1, \"time\": 1, \"parts\": [1]}",
        ("{\"key\": \"k\", \"size\": 1, \"time\": 1, \"parts\": "
         "[{\"number\": 10001, \"size\": 1, \"etag\": \"e\"}]}"),
};

START_TEST(what_is_no_record_is_refused_in_one_line)
{
        struct recovery_record k = {.key = NULL};
        char why[256] = "";
        ck_assert_int_eq(recovery_record_parse("r", bad[_i], strlen(bad[_i]), &k, why, sizeof why),
                         -EINVAL);
        ck_assert_ptr_null(k.key);
        ck_assert_ptr_nonnull(strstr(why, "r:"));
        ck_assert_ptr_null(strchr(why, '\n'));
}
END_TEST

START_TEST(ids_of_records_differ)
{
        char a[RECOVERY_ID_MAX], b[RECOVERY_ID_MAX];
        recovery_record_id(a);
        recovery_record_id(b);
        ck_assert_uint_eq(strlen(a), RECOVERY_ID_MAX - 1);
        ck_assert_str_ne(a, b);
}
END_TEST

int main(void)
{
        Suite *s = suite_create("kept");
        TCase *t = tcase_create("kept");
        tcase_add_test(t, a_record_comes_back_as_it_was);
        tcase_add_test(t, an_orphan_has_no_upload);
        tcase_add_loop_test(t, what_is_no_record_is_refused_in_one_line, 0,
                            sizeof bad / sizeof *bad);
        tcase_add_test(t, ids_of_records_differ);
        suite_add_tcase(s, t);
        return unit_main(s);
}
