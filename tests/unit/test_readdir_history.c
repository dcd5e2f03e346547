/* SPDX-License-Identifier: Apache-2.0 */
/* test_readdir_history.c: who goes through the names of a listing, and what is asked for ahead. */
#include "mount/tree/readdir_history.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/unit.h"

#include "base/banned.h"

enum { NAMES = 2000, SPARE = 500000000, MS = 1000000 };

static struct readdir_histories all;
static struct readdir_history *history;
static const int lister, other;
static bool asked[NAMES], looked[NAMES];
static unsigned nasked, vain;

static uint64_t ino_of(unsigned i)
{
        return (i * 2654435761ULL) % 4294967291ULL + 2;
}

static void tell(unsigned from, unsigned n, const void *by)
{
        char name[16];
        for (unsigned i = from; i < from + n; i++) {
                snprintf(name, sizeof name, "f%08u", i);
                history_add(history, by, i + 3, name, ino_of(i), i % 10 == 9);
        }
}

static void setup(void)
{
        all = (struct readdir_histories){.most = 1 << 20};
        history_begin(&all, &history, &lister);
        ck_assert_ptr_nonnull(history);
        tell(0, NAMES, &lister);
        memset(asked, 0, sizeof asked);
        memset(looked, 0, sizeof looked);
        nasked = vain = 0;
}

static void teardown(void)
{
        history_free(history);
        ck_assert_uint_eq(all.bytes, 0);
        ck_assert_ptr_null(all.newest);
        ck_assert_ptr_null(all.oldest);
}

/* Looks at a name, and asks for what should be asked for; each at most once. */
static unsigned look(unsigned i, int64_t now)
{
        bool dir, hit = asked[i] && !looked[i];
        struct walk *w = history_look(history, ino_of(i), now, hit, &dir);
        unsigned n = 0;

        looked[i] = true;
        vain -= hit;
        ck_assert_ptr_nonnull(w);
        ck_assert_int_eq(dir, i % 10 == 9);
        for (const char *name; (name = history_next(history, w, SPARE, &dir)); n++) {
                unsigned at = (unsigned)strtoul(name + 1, NULL, 10);
                ck_assert_int_eq(dir, at % 10 == 9);
                if (asked[at] || looked[at])
                        continue;
                asked[at] = true;
                nasked++;
                vain++;
                history_asked(history);
        }
        return n;
}

START_TEST(a_walk_has_each_name_asked_for_once_and_few_too_early)
{
        ck_assert_uint_eq(look(100, 1), 0);
        ck_assert_uint_eq(look(101, 2), 0);
        ck_assert_uint_eq(look(102, 3), HISTORY_FIRST);
        unsigned most = 0;
        for (unsigned i = 103; i < NAMES; i++) {
                ck_assert(asked[i]);
                look(i, i);
                most = vain > most ? vain : most;
        }
        ck_assert_uint_eq(most, HISTORY_MOST);
        ck_assert_uint_eq(nasked, NAMES - 103);
        ck_assert_uint_eq(vain, 0);
}
END_TEST

/* What fts does with more than 10,000 names. */
static int cmp_ino(const void *a, const void *b)
{
        uint64_t x = ino_of(*(const unsigned *)a), y = ino_of(*(const unsigned *)b);
        return (x > y) - (x < y);
}

START_TEST(a_walk_in_the_order_of_inodes_is_one)
{
        unsigned v[NAMES], hits = 0;
        for (unsigned i = 0; i < NAMES; i++)
                v[i] = i;
        qsort(v, NAMES, sizeof *v, cmp_ino);
        for (unsigned i = 0; i < NAMES; i++) {
                hits += asked[v[i]];
                look(v[i], i);
        }
        ck_assert_uint_ge(hits, NAMES - 50);
        ck_assert_uint_le(nasked - hits, HISTORY_WASTE);
}
END_TEST

START_TEST(looks_in_no_order_ask_for_little)
{
        uint64_t x = 1;
        for (unsigned i = 0; i < 5000; i++) {
                x = x * 6364136223846793005ULL + 1442695040888963407ULL;
                look((unsigned)(x >> 33) % NAMES, i);
        }
        ck_assert_uint_le(vain, HISTORY_WASTE);
}
END_TEST

START_TEST(who_leaves_out_every_other_name_is_not_walked_ahead_of_for_long)
{
        for (unsigned i = 0; i < NAMES; i += 2)
                look(i, i);
        ck_assert_uint_le(vain, HISTORY_WASTE + NAMES / 2 / 8);
}
END_TEST

START_TEST(a_walk_with_pauses_asks_for_what_it_will_look_at_in_time)
{
        for (unsigned i = 0; i < 100; i++)
                ck_assert_uint_eq(look(i, (int64_t)i * 2 * SPARE), 0);
        for (unsigned i = 100; i < 300; i++) {
                look(i, 200LL * SPARE + (int64_t)i * 100 * MS);
                ck_assert_uint_le(vain, 5);
        }
        ck_assert_uint_gt(nasked, 100);
}
END_TEST

START_TEST(several_walks_do_not_disturb_each_other)
{
        for (unsigned i = 0; i < 500; i++)
                for (unsigned k = 0; k < 4; k++)
                        look(k * 500 + i, i);
        ck_assert_uint_ge(nasked, NAMES - 4 * (HISTORY_BEGIN + HISTORY_SLACK));
        ck_assert_uint_eq(vain, 0);
}
END_TEST

START_TEST(names_told_again_or_by_another_count_for_nothing)
{
        size_t bytes = all.bytes;
        tell(0, NAMES, &lister);
        tell(NAMES, NAMES, &other);
        ck_assert_uint_eq(all.bytes, bytes);
        bool dir;
        ck_assert_ptr_null(history_look(history, ino_of(NAMES), 0, false, &dir));
        history_begin(&all, &history, &other);
        ck_assert_ptr_null(history_look(history, ino_of(0), 0, false, &dir));
}
END_TEST

START_TEST(memory_is_bounded_and_the_oldest_makes_room)
{
        struct readdir_history *second = NULL;
        char name[16];

        history_begin(&all, &second, &other);
        ck_assert_ptr_nonnull(history);
        for (unsigned i = 0; i < 200000; i++) {
                snprintf(name, sizeof name, "g%08u", i);
                history_add(second, &other, i + 3, name, ino_of(i), false);
        }
        ck_assert_ptr_null(history);
        ck_assert_uint_le(all.bytes, 2 * all.most);
        bool dir;
        ck_assert_ptr_nonnull(history_look(second, ino_of(0), 0, false, &dir));
        ck_assert_ptr_null(history_look(second, ino_of(199999), 0, false, &dir));
        history_free(second);
}
END_TEST

START_TEST(a_full_history_that_was_walked_through_begins_anew)
{
        unsigned n = NAMES;
        bool dir;

        for (; n < 200000; n += 1000)
                tell(n, 1000, &lister);
        ck_assert_ptr_null(history_look(history, ino_of(n - 1), 0, false, &dir));
        unsigned last = n - 1;
        while (!history_look(history, ino_of(last), 0, false, &dir))
                last--;
        tell(n, 10, &lister);
        ck_assert_ptr_nonnull(history_look(history, ino_of(n), 0, false, &dir));
        ck_assert_ptr_null(history_look(history, ino_of(last), 0, false, &dir));
}
END_TEST

int main(void)
{
        Suite *s = suite_create("history");
        TCase *t = tcase_create("history");
        tcase_add_checked_fixture(t, setup, teardown);
        tcase_add_test(t, a_walk_has_each_name_asked_for_once_and_few_too_early);
        tcase_add_test(t, a_walk_in_the_order_of_inodes_is_one);
        tcase_add_test(t, looks_in_no_order_ask_for_little);
        tcase_add_test(t, who_leaves_out_every_other_name_is_not_walked_ahead_of_for_long);
        tcase_add_test(t, a_walk_with_pauses_asks_for_what_it_will_look_at_in_time);
        tcase_add_test(t, several_walks_do_not_disturb_each_other);
        tcase_add_test(t, names_told_again_or_by_another_count_for_nothing);
        tcase_add_test(t, memory_is_bounded_and_the_oldest_makes_room);
        tcase_add_test(t, a_full_history_that_was_walked_through_begins_anew);
        suite_add_tcase(s, t);
        return unit_main(s);
}
