/* SPDX-License-Identifier: Apache-2.0 */
/* test_content_type.c: the media type that a name is given. */
#include <errno.h>
#include <string.h>

#include "mount/tree/content_type.h"
#include "tests/lib/unit.h"

#include "base/banned.h"

static const struct {
        const char *said, *name, *type; /* type NULL: none */
} names[] = {
        {"auto", "a.json", "application/json"},
        {"auto", "CONFIG.JSON", "application/json"},
        {"auto", "notes.txt", "text/plain"},
        {"auto", "a.b.log", "text/plain"},
        {"auto", "model.safetensors", NULL},
        {"auto", "epoch=1.ckpt", NULL},
        {"auto", "json", NULL},
        {"auto", "a.json.tmp", NULL},
        {"auto", "a.", NULL},
        {"auto", ".html", NULL},
        {"none", "a.json", NULL},
        {"", "a.json", NULL},
        {"text/plain; charset=utf-8", "model.pt", "text/plain; charset=utf-8"},
        {"application/octet-stream", "a.json", "application/octet-stream"},
};

START_TEST(a_name_is_given_the_type_of_its_suffix_or_what_was_asked_for)
{
        char why[256] = "";

        ck_assert_int_eq(content_type_check(names[_i].said, why, sizeof why), 0);
        const char *type = content_type_of(names[_i].said, names[_i].name);
        if (names[_i].type)
                ck_assert_str_eq(type, names[_i].type);
        else
                ck_assert_ptr_null(type);
}
END_TEST

static const char *const no_types[] = {"text",        "/plain",       "text/",
                                       "text/pla in", "text/plain\n", "text/plain;\r\nX-A: b"};

START_TEST(what_is_no_media_type_is_refused_with_one_line)
{
        char why[256] = "";

        ck_assert_int_eq(content_type_check(no_types[_i], why, sizeof why), -EINVAL);
        ck_assert_ptr_nonnull(strstr(why, "give auto, none"));
}
END_TEST

int main(void)
{
        Suite *suite = suite_create("content_type");
        TCase *t = tcase_create("content_type");
        tcase_add_loop_test(t, a_name_is_given_the_type_of_its_suffix_or_what_was_asked_for, 0,
                            sizeof names / sizeof *names);
        tcase_add_loop_test(t, what_is_no_media_type_is_refused_with_one_line, 0,
                            sizeof no_types / sizeof *no_types);
        suite_add_tcase(suite, t);
        return unit_main(suite);
}
