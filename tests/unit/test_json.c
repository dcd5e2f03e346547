/* SPDX-License-Identifier: Apache-2.0 */
/* test_json.c: reading with defaults, errors that name their line, building and writing. */
#include "base/text/json.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "tests/lib/unit.h"

#include "base/banned.h"

static int parse(const char *text, struct json **out, char *why)
{
        return json_parse("f.json", text, strlen(text), out, why, 200);
}

START_TEST(fields_are_found_by_type)
{
        CLEANUP(json_freep) struct json *j = NULL;
        char why[200];
        ck_assert_int_eq(parse("{\"s\":\"x\",\"n\":1.5,\"b\":true,\"a\":[1,2]}\n ", &j, why), 0);
        ck_assert(json_is_object(j));
        ck_assert_uint_eq(json_count(j), 4);
        ck_assert_str_eq(json_string(json_get(j, "s"), ""), "x");
        ck_assert_str_eq(json_string(json_get(j, "n"), "other"), "other");
        ck_assert_double_eq(json_number(json_get(j, "n"), 0), 1.5);
        ck_assert_double_eq(json_number(json_get(j, "none"), 7), 7);
        ck_assert(json_bool(json_get(j, "b"), false));
        const struct json *a = json_get(j, "a");
        ck_assert(json_is_array(a));
        ck_assert_str_eq(json_name(a), "a");
        ck_assert_uint_eq(json_count(a), 2);
        ck_assert_double_eq(json_number(json_at(a, 1), 0), 2);
        ck_assert_ptr_null(json_at(a, 2));
        ck_assert_ptr_null(json_get(json_get(j, "none"), "deeper"));
}
END_TEST

static const struct {
        const char *text, *why;
} broken[] = {
        {"", "f.json:1: this is not JSON: mend the text there"},
        {"{\n\"a\": 1,\n\"b\": oops\n}", "f.json:3: this is not JSON: mend the text there"},
        {"[1]\n]", "f.json:2: this is not JSON: mend the text there"},
};

START_TEST(an_error_names_its_line)
{
        struct json *j = NULL;
        char why[200];
        ck_assert_int_eq(parse(broken[_i].text, &j, why), -EINVAL);
        ck_assert_ptr_null(j);
        ck_assert_str_eq(why, broken[_i].why);
}
END_TEST

static const struct {
        const char *text, *string;
} zeros[] = {
        {"{\"s\":\"a\\u0000b\"}", "a\xef\xbf\xbd"
                                  "b"},
        {"{\"s\":\"\\u0000\"}", "\xef\xbf\xbd"},
        {"{\"s\":\"a\\\\\\u0000\"}", "a\\\xef\xbf\xbd"},
        {"{\"s\":\"a\\\\u0000\"}", "a\\u0000"},
        {"{\"s\":\"\\u0001\"}", "\x01"},
};

START_TEST(a_string_with_a_zero_does_not_end_there)
{
        CLEANUP(json_freep) struct json *j = NULL;
        char why[200];
        ck_assert_int_eq(parse(zeros[_i].text, &j, why), 0);
        ck_assert_str_eq(json_string(json_get(j, "s"), ""), zeros[_i].string);
}
END_TEST

START_TEST(a_zero_that_is_not_escaped_is_no_json)
{
        static const char text[] = "{\"s\":\"a\0b\"}";
        struct json *j = NULL;
        char why[200];
        ck_assert_int_eq(json_parse("f.json", text, sizeof text - 1, &j, why, sizeof why), -EINVAL);
        ck_assert_ptr_null(j);
}
END_TEST

START_TEST(what_is_written_is_read_back)
{
        CLEANUP(json_freep) struct json *j = json_new_object(), *again = NULL;
        char file[] = "/tmp/ckptfs-json-XXXXXX", why[200], other[64];
        struct json *runs = json_add_array(j, "runs");
        struct json *run = json_add_object(runs, NULL);

        ck_assert_int_eq(json_add_string(run, "what", "quote \" and \n"), 0);
        ck_assert_int_eq(json_add_number(run, "bytes", 999999999999999.0), 0);
        ck_assert_int_eq(json_add_bool(run, "ok", true), 0);
        ck_assert_int_eq(json_add_number(runs, NULL, 0.1), 0);
        int fd = mkstemp(file);
        ck_assert_int_ge(fd, 0);
        close(fd);
        json_remove(run, "ok");
        json_remove(run, "none");
        json_remove(runs, "ok");
        snprintf(other, sizeof other, "%s.part", file);
        ck_assert_int_eq(mkdir(other, 0700), 0);
        ck_assert_int_eq(json_write_file(j, file), 0); /* whatever else is there */
        ck_assert_int_eq(json_read(file, &again, why, sizeof why), 0);
        unlink(file);
        rmdir(other);
        ck_assert_ptr_null(json_get(json_at(json_get(again, "runs"), 0), "ok"));
        const struct json *r = json_at(json_get(again, "runs"), 0);
        ck_assert_str_eq(json_string(json_get(r, "what"), ""), "quote \" and \n");
        ck_assert(json_number(json_get(r, "bytes"), 0) == 999999999999999.0);
        ck_assert_double_eq(json_number(json_at(json_get(again, "runs"), 1), 0), 0.1);
        ck_assert_int_eq(json_read(file, &again, why, sizeof why), -ENOENT);
        ck_assert_ptr_nonnull(strstr(why, "No such file or directory: give a JSON file"));
}
END_TEST

START_TEST(building_on_nothing_fails_quietly)
{
        CLEANUP(json_freep) struct json *o = json_new_object();
        struct json *a = json_add_array(o, "a");
        ck_assert_ptr_null(json_add_object(NULL, "x"));
        ck_assert_int_eq(json_add_number(NULL, "x", 1), -ENOMEM);
        ck_assert_int_eq(json_add_number(a, "name in an array", 1), -ENOMEM);
        ck_assert_ptr_null(json_print(NULL));
}
END_TEST

int main(void)
{
        Suite *s = suite_create("json");
        TCase *t = tcase_create("json");
        tcase_add_test(t, fields_are_found_by_type);
        tcase_add_loop_test(t, an_error_names_its_line, 0, sizeof broken / sizeof *broken);
        tcase_add_loop_test(t, a_string_with_a_zero_does_not_end_there, 0,
                            sizeof zeros / sizeof *zeros);
        tcase_add_test(t, a_zero_that_is_not_escaped_is_no_json);
        tcase_add_test(t, what_is_written_is_read_back);
        tcase_add_test(t, building_on_nothing_fails_quietly);
        suite_add_tcase(s, t);
        return unit_main(s);
}
