/* SPDX-License-Identifier: Apache-2.0 */
/* test_negative_cache.c: where a directory is known to have no names. */
#include "mount/tree/negative_cache.h"

#include <stdio.h>

#include "tests/lib/unit.h"

#include "base/banned.h"

START_TEST(nothing_is_known_at_first)
{
        ck_assert(!negative_cache_have(NULL, "a", 0));
}
END_TEST

static const struct {
        const char *from, *to, *name;
        bool in;
} cases[] = {
        {"b", "d", "c", true},    {"b", "d", "b", false}, /* there */
        {"b", "d", "bb", true},                           /* behind it */
        {"b", "d", "d", false},                           /* there */
        {"b", "d", "a", false},                           /* not asked for */
        {"b", "d/", "d", false},                          /* a directory */
        {"b", "d.1", "d", false},                         /* what is below it would come behind */
        {"b/", "d", "b", false},  {"b", NULL, "z", true}, {"", NULL, "a", true},
};

START_TEST(what_lies_between_two_names_is_not_there)
{
        struct negative_cache *g = NULL;
        negative_cache_note(&g, cases[_i].from, cases[_i].to, 10);
        ck_assert_ptr_nonnull(g);
        ck_assert_int_eq(negative_cache_have(g, cases[_i].name, 9), cases[_i].in);
        ck_assert(!negative_cache_have(g, cases[_i].name, 10));
        negative_cache_free(g);
}
END_TEST

START_TEST(the_newest_are_remembered)
{
        struct negative_cache *g = NULL;
        char from[16], to[16], name[16];

        for (int i = 0; i < 1000; i++) {
                snprintf(from, sizeof from, "%04d", i);
                snprintf(to, sizeof to, "%04dz", i);
                negative_cache_note(&g, from, to, i + 1);
        }
        ck_assert(negative_cache_have(g, "0999a", 0));
        ck_assert(negative_cache_have(g, "0990a", 0));
        ck_assert(!negative_cache_have(g, "0001a", 0));
        for (int i = 0; i < 1000; i++) { /* one that shrinks takes one place */
                snprintf(name, sizeof name, "2%04d", i);
                negative_cache_note(&g, name, NULL, 2000 + i);
        }
        ck_assert(negative_cache_have(g, "0990a", 0));
        ck_assert(negative_cache_have(g, "29999", 0));
        negative_cache_free(g);
}
END_TEST

int main(void)
{
        Suite *s = suite_create("gaps");
        TCase *t = tcase_create("gaps");
        tcase_add_test(t, nothing_is_known_at_first);
        tcase_add_loop_test(t, what_lies_between_two_names_is_not_there, 0,
                            sizeof cases / sizeof cases[0]);
        tcase_add_test(t, the_newest_are_remembered);
        suite_add_tcase(s, t);
        return unit_main(s);
}
