/* SPDX-License-Identifier: Apache-2.0 */
/* test_uri.c: percent-encoding and query strings. */
#include "base/text/uri.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "tests/lib/unit.h"

#include "base/banned.h"

static const struct {
        const char *text, *query, *path;
} encodings[] = {
        {"", "", ""},
        {"a/b", "a%2Fb", "a/b"},
        {"-._~", "-._~", "-._~"},
        {"a b+c%&=", "a%20b%2Bc%25%26%3D", "a%20b%2Bc%25%26%3D"},
        {"\xe1\x88\xb4", "%E1%88%B4", "%E1%88%B4"},
        {"line\nend", "line%0Aend", "line%0Aend"},
        {"!*'()", "%21%2A%27%28%29", "%21%2A%27%28%29"},
};

START_TEST(all_but_unreserved_is_encoded)
{
        CLEANUP(buf_release) struct buf query = BUF_INIT, path = BUF_INIT;
        ck_assert_int_eq(uri_encode(&query, encodings[_i].text, false), 0);
        ck_assert_int_eq(uri_encode(&path, encodings[_i].text, true), 0);
        ck_assert_str_eq(query.p, encodings[_i].query);
        ck_assert_str_eq(path.p, encodings[_i].path);
        ck_assert_int_eq(uri_decode(path.p, false), (int)strlen(encodings[_i].text));
        ck_assert_str_eq(path.p, encodings[_i].text);
}
END_TEST

START_TEST(every_byte_survives)
{
        CLEANUP(buf_release) struct buf b = BUF_INIT;
        char all[256];
        for (int i = 1; i < 256; i++)
                all[i - 1] = (char)i;
        all[255] = 0;
        ck_assert_int_eq(uri_encode(&b, all, false), 0);
        ck_assert_int_eq(uri_decode(b.p, true), 255);
        ck_assert_str_eq(b.p, all);
}
END_TEST

START_TEST(a_bad_escape_is_refused)
{
        static const char *const bad[] = {"%", "a%4", "%zz", "%00", "%4g"};
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
                CLEANUP(freep) char *s = strdup(bad[i]);
                ck_assert_int_eq(uri_decode(s, false), -EINVAL);
        }
}
END_TEST

START_TEST(a_query_splits_into_decoded_pairs)
{
        struct uri_pair v[4];
        char query[] = "list-type=2&uploads&prefix=a+b%2Bc%26&&x=1=2";
        ck_assert_int_eq(uri_split_query(query, v, 4), 4);
        ck_assert_str_eq(v[0].name, "list-type");
        ck_assert_str_eq(v[0].value, "2");
        ck_assert_str_eq(v[1].name, "uploads");
        ck_assert_str_eq(v[1].value, "");
        ck_assert_str_eq(v[2].value, "a b+c&");
        ck_assert_str_eq(v[3].value, "1=2");
        char many[] = "a&b&c", bad[] = "a=%";
        ck_assert_int_eq(uri_split_query(many, v, 2), -E2BIG);
        ck_assert_int_eq(uri_split_query(bad, v, 2), -EINVAL);
}
END_TEST

int main(void)
{
        Suite *s = suite_create("uri");
        TCase *t = tcase_create("uri");
        tcase_add_loop_test(t, all_but_unreserved_is_encoded, 0,
                            sizeof encodings / sizeof *encodings);
        tcase_add_test(t, every_byte_survives);
        tcase_add_test(t, a_bad_escape_is_refused);
        tcase_add_test(t, a_query_splits_into_decoded_pairs);
        suite_add_tcase(s, t);
        return unit_main(s);
}
