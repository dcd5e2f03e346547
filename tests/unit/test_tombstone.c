/* SPDX-License-Identifier: Apache-2.0 */
/* test_tombstone.c: which names of a directory are known not to be there. */
#include "mount/tree/tombstone.h"

#include <stdio.h>

#include "tests/lib/unit.h"

#include "base/banned.h"

/* --- names --- */

START_TEST(a_name_was_removed_since_a_question_or_not)
{
        struct tombstones *t = tombstones_new();
        ck_assert_int_eq(tombstone_find_name(t, 7, 1), NOT_REMOVED);
        ck_assert_int_eq(tombstone_find_name(t, 0, 0), NOT_REMOVED);
        tombstone_add_name(t, 7, REMOVED, 100);
        ck_assert_int_eq(tombstone_find_name(t, 7, 99), REMOVED);
        ck_assert_int_eq(tombstone_find_name(t, 7, 100), REMOVED);
        ck_assert_int_eq(tombstone_find_name(t, 7, 101), NOT_REMOVED);
        ck_assert_int_eq(tombstone_find_name(t, 8, 99), NOT_REMOVED);
        tombstones_free(t);
}
END_TEST

START_TEST(a_name_that_is_there_again_has_changed)
{
        struct tombstones *t = tombstones_new();
        tombstone_add_name(t, 7, REMOVED, 100);
        tombstone_end_name(t, 8);
        ck_assert_int_eq(tombstone_find_name(t, 7, 99), REMOVED);
        tombstone_end_name(t, 7);
        ck_assert_int_eq(tombstone_find_name(t, 7, 99), CHANGED);
        ck_assert_int_eq(tombstone_find_name(t, 7, 101), NOT_REMOVED);
        tombstone_add_name(t, 7, REMOVED, 200);
        ck_assert_int_eq(tombstone_find_name(t, 7, 150), REMOVED);
        tombstones_free(t);
}
END_TEST

/* Two names of one place: the first makes room. */
START_TEST(a_name_that_was_pushed_out_may_have_been_removed)
{
        struct tombstones *t = tombstones_new();
        const uint64_t first = 7, second = 7 + TOMBSTONE_NAMES, third = 8;
        tombstone_add_name(t, first, REMOVED, 100);
        tombstone_add_name(t, second, REMOVED, 200);
        ck_assert_int_eq(tombstone_find_name(t, first, 100), MAYBE_REMOVED);
        ck_assert_int_eq(tombstone_find_name(t, third, 100), MAYBE_REMOVED);
        ck_assert_int_eq(tombstone_find_name(t, second, 100), REMOVED);
        ck_assert_int_eq(tombstone_find_name(t, first, 101), NOT_REMOVED);
        ck_assert_int_eq(tombstone_find_name(t, first, 0), NOT_REMOVED); /* asked here, now */
        tombstone_end_name(t, second);
        tombstone_add_name(t, first, REMOVED, 300);
        ck_assert_int_eq(tombstone_find_name(t, second, 101), MAYBE_REMOVED); /* or changed */
        tombstones_free(t);
}
END_TEST

/* --- ranges --- */

START_TEST(nothing_is_known_of_a_directory_at_first)
{
        const struct dir_tombstones d = {0};
        ck_assert(!tombstone_in_range(&d, "a", 0));
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
        {"b", "d", "da", false},                          /* neither */
        {"b", "d/", "d", false},                          /* a directory */
        {"b", "d/a", "d", false},                         /* so is this */
        {"b", "d.1", "d", false},                         /* what is below it would come behind */
        {"b", "d0", "d", true},                           /* or before */
        {"b/", "d", "b", false},  {"b", NULL, "z", true}, {"", NULL, "a", true},
};

START_TEST(what_lies_between_two_names_is_not_there)
{
        struct dir_tombstones d = {0};
        tombstone_add_range(&d, cases[_i].from, cases[_i].to, 10);
        ck_assert_ptr_nonnull(d.ranges);
        ck_assert_int_eq(tombstone_in_range(&d, cases[_i].name, 9), cases[_i].in);
        ck_assert(!tombstone_in_range(&d, cases[_i].name, 10));
        dir_tombstones_release(&d);
}
END_TEST

START_TEST(the_newest_are_remembered)
{
        struct dir_tombstones d = {0};
        char from[16], to[16], name[16];

        for (int i = 0; i < 1000; i++) {
                snprintf(from, sizeof from, "%04d", i);
                snprintf(to, sizeof to, "%04dz", i);
                tombstone_add_range(&d, from, to, i + 1);
        }
        ck_assert(tombstone_in_range(&d, "0999a", 0));
        ck_assert(tombstone_in_range(&d, "0990a", 0));
        ck_assert(!tombstone_in_range(&d, "0001a", 0));
        for (int i = 0; i < 1000; i++) { /* one that shrinks takes one place */
                snprintf(name, sizeof name, "2%04d", i);
                tombstone_add_range(&d, name, NULL, 2000 + i);
        }
        ck_assert(tombstone_in_range(&d, "0990a", 0));
        ck_assert(tombstone_in_range(&d, "29999", 0));
        dir_tombstones_release(&d);
}
END_TEST

START_TEST(a_name_that_may_be_there_ends_its_own_tombstone_alone)
{
        struct dir_tombstones d = {0};
        tombstone_add_range(&d, "a", "x", 10);
        tombstone_end_range(&d, "m", 20);
        ck_assert(!tombstone_in_range(&d, "m", 0));
        ck_assert(tombstone_in_range(&d, "l", 0));
        ck_assert(tombstone_in_range(&d, "ma", 0));
        ck_assert(tombstone_in_range(&d, "w", 0));
        ck_assert(!tombstone_in_range(&d, "x", 0));
        ck_assert(!tombstone_in_range(&d, "w", 10)); /* no newer than it was */
        tombstone_end_range(&d, "m", 30);
        tombstone_end_range(&d, "ma", 30);
        ck_assert(!tombstone_in_range(&d, "ma", 0));
        ck_assert(tombstone_in_range(&d, "mb", 0));
        dir_tombstones_release(&d);
        tombstone_add_range(&d, "a", NULL, 40); /* up to the end */
        tombstone_end_range(&d, "m", 50);
        ck_assert(tombstone_in_range(&d, "l", 0) && tombstone_in_range(&d, "z", 0));
        ck_assert(!tombstone_in_range(&d, "m", 0));
        dir_tombstones_release(&d);
}
END_TEST

/* A reply on its way when the name came and was forgotten. */
START_TEST(what_was_asked_before_a_name_ended_ranges_is_not_noted)
{
        struct dir_tombstones d = {0};
        tombstone_end_range(&d, "m", 20);
        tombstone_add_range(&d, "a", "x", 19);
        ck_assert(!tombstone_in_range(&d, "m", 0));
        tombstone_add_range(&d, "a", "x", 20);
        ck_assert(!tombstone_in_range(&d, "m", 0));
        tombstone_add_range(&d, "a", "x", 21);
        ck_assert(tombstone_in_range(&d, "m", 0));
        dir_tombstones_release(&d);
}
END_TEST

START_TEST(a_name_is_missing_until_it_may_be_there)
{
        struct dir_tombstones d = {0};

        ck_assert(!tombstone_is_missing(&d, "a", 0));
        tombstone_end_range(&d, "a", 10);
        tombstone_add_missing(&d, "a", 10); /* its reply was on the way */
        ck_assert(!tombstone_is_missing(&d, "a", 0));
        tombstone_add_missing(&d, "a", 20);
        tombstone_add_missing(&d, "b", 20);
        ck_assert(tombstone_is_missing(&d, "a", 19) && !tombstone_is_missing(&d, "a", 20));
        tombstone_end_range(&d, "a", 30);
        ck_assert(!tombstone_is_missing(&d, "a", 0) && tombstone_is_missing(&d, "b", 0));
        dir_tombstones_release(&d);
        ck_assert(!tombstone_is_missing(&d, "b", 0));
}
END_TEST

/* Whatever order they end in, what is left of the range stays known where the next one is. */
START_TEST(a_thousand_names_end_one_after_the_other)
{
        for (int down = 0; down < 2; down++) {
                struct dir_tombstones d = {0};
                char name[16], next[16];

                tombstone_add_range(&d, "", NULL, 1);
                for (int i = 0; i < 1000; i++) {
                        snprintf(name, sizeof name, "f%04d", down ? 2000 - i : i);
                        snprintf(next, sizeof next, "f%04d", down ? 1999 - i : i + 1);
                        tombstone_end_range(&d, name, 2 + i);
                        ck_assert(!tombstone_in_range(&d, name, 0));
                        ck_assert(tombstone_in_range(&d, next, 0));
                }
                dir_tombstones_release(&d);
        }
}
END_TEST

int main(void)
{
        Suite *s = suite_create("tombstone");
        TCase *t = tcase_create("tombstone");
        tcase_add_test(t, a_name_was_removed_since_a_question_or_not);
        tcase_add_test(t, a_name_that_is_there_again_has_changed);
        tcase_add_test(t, a_name_that_was_pushed_out_may_have_been_removed);
        tcase_add_test(t, nothing_is_known_of_a_directory_at_first);
        tcase_add_loop_test(t, what_lies_between_two_names_is_not_there, 0,
                            sizeof cases / sizeof cases[0]);
        tcase_add_test(t, the_newest_are_remembered);
        tcase_add_test(t, a_name_that_may_be_there_ends_its_own_tombstone_alone);
        tcase_add_test(t, what_was_asked_before_a_name_ended_ranges_is_not_noted);
        tcase_add_test(t, a_name_is_missing_until_it_may_be_there);
        tcase_add_test(t, a_thousand_names_end_one_after_the_other);
        suite_add_tcase(s, t);
        return unit_main(s);
}
