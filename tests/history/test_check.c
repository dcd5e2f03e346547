/* SPDX-License-Identifier: Apache-2.0 */
/* test_check.c: the checker of histories, on histories made by hand.
 *
 * A line is: the begins and ends of the open and of the close, then host, kind, name, new name, id,
 * errno, fate, and what was seen. Each file is one piece. What a stat has for an id is the size
 * that it told, in pieces. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "history.h"
#include "pieces.h"
#include "tests/lib/unit.h"

#include "base/banned.h"

static const struct setting strict = {.seed = 1};
static const struct setting whole = {.seed = 1, .moves_whole = true};
static const struct setting late = {.seed = 1, .ttl_ns = 100};
static const struct setting faulty = {.seed = 1, .faulty = true};
static const struct setting faulty_whole = {.seed = 1, .faulty = true, .moves_whole = true};

/* The verdict on lines of the file's own format, but for times in ns and short fields. */
static enum verdict judged(struct setting s, const char *const *lines)
{
        struct history h = {.setting = s};
        char *said = NULL, *text = NULL;
        size_t n, nsaid;
        unsigned line;
        FILE *f = open_memstream(&text, &n), *to = open_memstream(&said, &nsaid);

        for (; *lines; lines++) {
                char kind[16], name[32], move[32], seen[40], fate[10];
                long long t[4];
                int host, err;
                unsigned id;
                ck_assert_int_eq(sscanf(*lines,
                                        "%lld %lld %lld %lld %d %15s %31s %31s %u %d %9s %39s",
                                        &t[0], &t[1], &t[2], &t[3], &host, kind, name, move, &id,
                                        &err, fate, seen),
                                 12);
                unsigned len = 64;
                if (!strcmp(kind, "stat")) {
                        len *= id;
                        id = 0;
                }
                fprintf(f,
                        "%lld %lld %lld %lld %d.0 %s %s %s id=%u pieces=%u len=%u err=%d %s %s\n",
                        t[0], t[1], t[2], t[3], host, kind, name, move, id, id ? 1 : 0, len, err,
                        fate, seen);
        }
        fclose(f);
        f = fmemopen(text, n, "r");
        ck_assert(history_read(&h, f, &line));
        fclose(f);
        enum verdict v = history_check(&h, to);
        fclose(to);
        history_free(&h);
        free(text);
        free(said);
        return v;
}

#define LINES(...)                                                                                 \
        (const char *const[])                                                                      \
        {                                                                                          \
                __VA_ARGS__, NULL                                                                  \
        }
#define KEPT(setting, ...)   ck_assert_int_eq(judged(setting, LINES(__VA_ARGS__)), VERDICT_KEPT)
#define BROKEN(setting, ...) ck_assert_int_eq(judged(setting, LINES(__VA_ARGS__)), VERDICT_BROKEN)

/*            open      close     host kind name to id err fate seen */
#define PUT_1 "10 11     20 30     0 put  d0/f0 - 1 0 told -"
#define PUT_2 "110 111   120 130   1 put  d0/f0 - 2 0 told -"

START_TEST(a_read_sees_the_last_close)
{
        KEPT(strict, PUT_1, "40 41 41 50 1 read d0/f0 - 0 0 told 1");
        BROKEN(strict, PUT_1, "40 41 41 50 1 read d0/f0 - 0 0 told 7");
        KEPT(strict, PUT_1, PUT_2, "140 141 141 150 0 read d0/f0 - 0 0 told 2");
        BROKEN(strict, PUT_1, PUT_2, "140 141 141 150 0 read d0/f0 - 0 0 told 1");
}
END_TEST

START_TEST(an_open_during_a_close_sees_either_version)
{
        KEPT(strict, PUT_1, PUT_2, "125 126 126 150 0 read d0/f0 - 0 0 told 1");
        KEPT(strict, PUT_1, PUT_2, "125 126 126 150 0 read d0/f0 - 0 0 told 2");
        BROKEN(strict, PUT_1, PUT_2, "112 115 115 150 0 read d0/f0 - 0 0 told 2");
}
END_TEST

START_TEST(versions_do_not_come_back)
{
        BROKEN(strict, PUT_1, PUT_2, "121 122 122 123 0 read d0/f0 - 0 0 told 2",
               "124 125 125 126 0 read d0/f0 - 0 0 told 1");
        /* but a request that is sent again brings one back */
        KEPT(faulty, "10 11 20 300 0 put d0/f0 - 1 0 told -", PUT_2,
             "21 22 22 23 1 read d0/f0 - 0 0 told 1", "140 141 141 150 1 read d0/f0 - 0 0 told 2",
             "310 311 311 320 1 read d0/f0 - 0 0 told 1");
}
END_TEST

#define REMOVE       "40 40 40 90 0 remove d0/f0 - 0 0 told -"
#define THREE(lines) lines, lines, lines

START_TEST(what_changes_nothing_when_it_is_sent_again_makes_no_orders)
{
        KEPT(faulty, PUT_1, THREE(THREE(REMOVE)), THREE(REMOVE),
             "95 96 96 99 1 read d0/f0 - 0 2 told -");
        BROKEN(faulty, PUT_1, THREE(THREE(REMOVE)), THREE(REMOVE),
               "95 96 96 99 1 read d0/f0 - 0 0 told 1");
}
END_TEST

START_TEST(torn_bytes_are_wrong_whatever_the_order)
{
        BROKEN(strict, PUT_1, "40 41 41 50 1 read d0/f0 - 0 0 told !torn");
}
END_TEST

START_TEST(nothing_is_published_by_who_was_killed_before_its_close)
{
        KEPT(strict, "10 11 15 15 0 put d0/f0 - 1 4 killed -",
             "40 41 41 50 1 read d0/f0 - 0 2 told -");
        BROKEN(strict, "10 11 15 15 0 put d0/f0 - 1 4 killed -",
               "40 41 41 50 1 read d0/f0 - 0 0 told 1");
        /* within its close: whole or not at all */
        KEPT(strict, "10 11 15 20 0 put d0/f0 - 1 4 cut -",
             "40 41 41 50 1 read d0/f0 - 0 0 told 1");
        KEPT(strict, "10 11 15 20 0 put d0/f0 - 1 4 cut -",
             "40 41 41 50 1 read d0/f0 - 0 2 told -");
        BROKEN(strict, "10 11 15 20 0 put d0/f0 - 1 4 cut -",
               "40 41 41 50 1 read d0/f0 - 0 0 told 1", "60 61 61 70 1 read d0/f0 - 0 2 told -");
}
END_TEST

START_TEST(one_exclusive_create_wins)
{
        KEPT(strict, "10 11 20 30 0 create d0/f0 - 1 0 told -",
             "10 11 20 40 1 create d0/f0 - 2 17 told -");
        BROKEN(strict, "10 11 20 30 0 create d0/f0 - 1 0 told -",
               "10 11 20 40 1 create d0/f0 - 2 0 told -");
        BROKEN(strict, "10 11 20 40 1 create d0/f0 - 2 17 told -");
}
END_TEST

START_TEST(a_change_is_published_only_on_the_version_it_was_made_on)
{
        KEPT(strict, PUT_1, "40 41 50 60 1 append d0/f0 - 3 0 told -",
             "70 71 71 80 0 read d0/f0 - 0 0 told 1,3");
        BROKEN(strict, PUT_1, "40 41 140 150 0 append d0/f0 - 3 0 told -", PUT_2);
        KEPT(strict, PUT_1, "40 41 140 150 0 append d0/f0 - 3 116 told -", PUT_2,
             "160 161 161 180 0 read d0/f0 - 0 0 told 2");
        BROKEN(strict, PUT_1, "40 41 140 150 0 append d0/f0 - 3 116 told -");
        KEPT(strict, PUT_1, "50 60 50 60 0 move d0/f0 d0/f1 0 0 told -",
             "61 62 63 65 1 put d0/f1 - 2 0 told -", "40 55 56 70 0 read d0/f0 - 0 116 told -");
        BROKEN(strict, PUT_1, "50 60 50 60 0 move d0/f0 d0/f1 0 0 told -",
               "61 62 63 65 0 put d0/f1 - 2 0 told -", "40 55 56 70 0 read d0/f0 - 0 116 told -");
        BROKEN(strict, PUT_1, "50 60 50 60 1 move d0/f0 d0/f2 0 0 told -",
               "61 62 63 65 1 put d0/f1 - 2 0 told -", "61 62 63 70 0 read d0/f0 - 0 116 told -");
        BROKEN(strict, PUT_1, PUT_2, "40 41 140 150 0 append d0/f0 - 3 116 told -",
               "160 161 161 180 0 read d0/f0 - 0 0 told 2,3");
}
END_TEST

START_TEST(two_appends_at_once_are_not_both_published)
{
        BROKEN(strict, PUT_1, "40 41 50 60 0 append d0/f0 - 3 0 told -",
               "40 41 50 60 1 append d0/f0 - 4 0 told -");
        KEPT(strict, PUT_1, "40 41 50 60 0 append d0/f0 - 3 0 told -",
             "40 41 50 60 1 append d0/f0 - 4 116 told -");
}
END_TEST

START_TEST(what_is_published_is_not_lost)
{
        BROKEN(strict, PUT_1, "40 41 41 50 1 read d0/f0 - 0 2 told -");
        KEPT(strict, PUT_1, "32 35 32 35 1 remove d0/f0 - 0 0 told -",
             "40 41 41 50 1 read d0/f0 - 0 2 told -");
        BROKEN(strict, PUT_1, "5 9 5 9 1 remove d0/f0 - 0 0 told -",
               "40 41 41 50 1 read d0/f0 - 0 2 told -");
}
END_TEST

START_TEST(a_rename_leads_to_the_file_by_one_name_or_both)
{
        KEPT(strict, PUT_1, "40 60 40 60 0 move d0/f0 d0/f1 0 0 told -",
             "45 46 46 47 1 read d0/f0 - 0 0 told 1", "45 46 46 47 2 read d0/f1 - 0 0 told 1");
        BROKEN(strict, PUT_1, "40 60 40 60 0 move d0/f0 d0/f1 0 0 told -",
               "70 71 71 77 2 read d0/f0 - 0 0 told 1");
        BROKEN(strict, PUT_1, "40 60 40 60 0 move d0/f0 d0/f1 0 0 told -",
               "70 71 71 77 2 read d0/f1 - 0 2 told -");
        /* copied before it is deleted */
        BROKEN(strict, PUT_1, "40 60 40 60 0 move d0/f0 d0/f1 0 0 told -",
               "42 43 43 44 1 read d0/f0 - 0 2 told -", "50 51 51 52 2 read d0/f1 - 0 2 told -");
}
END_TEST

START_TEST(a_rename_in_one_step_never_shows_both_names)
{
        KEPT(whole, PUT_1, "40 60 40 60 0 move d0/f0 d0/f1 0 0 told -",
             "45 46 46 47 2 read d0/f0 - 0 0 told 1", "49 50 50 51 2 read d0/f1 - 0 0 told 1");
        BROKEN(whole, PUT_1, "40 60 40 60 0 move d0/f0 d0/f1 0 0 told -",
               "45 46 46 47 2 read d0/f1 - 0 0 told 1", "49 50 50 51 2 read d0/f0 - 0 0 told 1");
}
END_TEST

START_TEST(a_rename_deletes_only_what_it_copied)
{
        KEPT(strict, PUT_1, "40 60 40 60 0 move d0/f0 d0/f1 0 0 told -",
             "44 45 46 55 1 put d0/f0 - 5 0 told -", "70 71 71 75 2 read d0/f0 - 0 0 told 5",
             "70 71 71 75 2 read d0/f1 - 0 0 told 1");
        BROKEN(strict, PUT_1, "40 60 40 60 0 move d0/f0 d0/f1 0 0 told -",
               "44 45 46 55 1 put d0/f0 - 5 0 told -", "70 71 71 75 2 read d0/f0 - 0 2 told -",
               "70 71 71 75 2 read d0/f1 - 0 0 told 1");
}
END_TEST

START_TEST(files_below_a_directory_go_back_when_another_host_puts_one_where_it_was_to_be)
{
        const char *const put = "10 11 20 30 0 put t0x/g0 - 1 0 told -";
        const char *const other = "45 46 46 47 1 put t0y/g1 - 2 0 told -";
        const char *const move = "40 60 40 60 0 move-dir t0x t0y 0 39 told -";
        const char *const chmod = "50 51 50 51 1 chmod t0y/g0 - 0 0 told -";

        KEPT(whole, put, other, move, "48 49 48 49 1 read t0x/g0 - 0 2 told -",
             "70 71 71 75 2 read t0x/g0 - 0 0 told 1");
        KEPT(strict, put, other, move, "48 49 48 49 1 read t0y/g0 - 0 0 told 1",
             "70 71 71 75 2 read t0y/g0 - 0 2 told -");
        BROKEN(whole, put, move, "48 49 48 49 1 read t0x/g0 - 0 2 told -");
        BROKEN(strict, put, other, move, "48 49 48 49 1 read t0x/g0 - 0 2 told -");
        BROKEN(whole, put, other, move, "70 71 71 75 2 read t0x/g0 - 0 2 told -");
        BROKEN(whole, put, other, move, "70 71 71 75 2 read t0y/g0 - 0 0 told 1");
        /* but for what has become another version there */
        KEPT(strict, put, other, move, chmod, "70 71 71 75 2 read t0y/g0 - 0 0 told 1",
             "70 71 71 75 2 read t0x/g0 - 0 0 told 1");
        BROKEN(whole, put, other, move, chmod, "70 71 71 75 2 read t0y/g0 - 0 0 told 1");
        BROKEN(strict, put, other, move, "70 71 71 75 2 read t0y/g0 - 0 0 told 1");
}
END_TEST

START_TEST(two_files_that_are_renamed_onto_each_other_are_swapped_or_one_is_left)
{
        const char *const there = "40 60 40 60 0 move d0/f0 d0/f1 0 0 told -";
        const char *const back = "45 55 45 55 1 move d0/f1 d0/f0 0 0 told -";
        const char *const other = "10 11 20 30 1 put d0/f1 - 2 0 told -";

        KEPT(strict, PUT_1, other, there, back, "70 71 71 75 2 read d0/f0 - 0 0 told 2",
             "70 71 71 75 2 read d0/f1 - 0 0 told 1");
        BROKEN(whole, PUT_1, other, there, back, "70 71 71 75 2 read d0/f0 - 0 0 told 2",
               "70 71 71 75 2 read d0/f1 - 0 0 told 1");
        KEPT(strict, PUT_1, other, there, back, "70 71 71 75 2 read d0/f0 - 0 0 told 1",
             "70 71 71 75 2 read d0/f1 - 0 2 told -");
        BROKEN(strict, PUT_1, other, there, back, "70 71 71 75 2 read d0/f0 - 0 0 told 2",
               "70 71 71 75 2 read d0/f1 - 0 0 told 2");
}
END_TEST

START_TEST(noreplace_replaces_nothing)
{
        BROKEN(strict, PUT_1, "10 11 20 30 1 put d0/f1 - 2 0 told -",
               "40 60 40 60 0 move-new d0/f0 d0/f1 0 0 told -");
        KEPT(strict, PUT_1, "10 11 20 30 1 put d0/f1 - 2 0 told -",
             "40 60 40 60 0 move-new d0/f0 d0/f1 0 17 told -");
        BROKEN(strict, PUT_1, "40 60 40 60 0 move-new d0/f0 d0/f1 0 17 told -");
}
END_TEST

START_TEST(files_follow_the_rename_of_their_directory)
{
        const char *const put = "10 11 20 30 0 put t0x/g0 - 1 0 told -";
        const char *const move = "40 60 40 60 0 move-dir t0x t0y 0 0 told -";
        KEPT(strict, put, move, "70 71 71 75 1 read t0y/g0 - 0 0 told 1");
        BROKEN(strict, put, move, "70 71 71 75 1 read t0x/g0 - 0 0 told 1");
        BROKEN(strict, put, move, "70 71 71 75 1 read t0y/g0 - 0 0 told 2");
        BROKEN(strict, put, move, "70 71 71 75 1 read t0y/g0 - 0 2 told -");
}
END_TEST

START_TEST(an_old_name_goes_with_a_copy_that_was_taken_away_unless_it_is_as_young)
{
        const char *const put = "10 11 20 30 0 put t0x/g0 - 1 0 told -";
        const char *const soon = "40 60 40 60 0 move-dir t0x t0y 0 0 told -";
        const char *const taken = "45 46 45 46 1 remove t0y/g0 - 0 0 told -";
        KEPT(strict, put, soon, taken, "70 71 71 75 1 read t0x/g0 - 0 0 told 1");
        KEPT(strict, put, soon, taken, "70 71 71 75 1 read t0x/g0 - 0 2 told -");

        const char *const move = "4000000040 4000000060 4000000040 4000000060 "
                                 "0 move-dir t0x t0y 0 0 told -";
        const char *const gone = "4000000045 4000000046 4000000045 4000000046 "
                                 "1 remove t0y/g0 - 0 0 told -";
        BROKEN(strict, put, move, gone,
               "4000000070 4000000071 4000000071 4000000075 1 read t0x/g0 - 0 0 told 1");
        KEPT(strict, put, move, gone,
             "4000000070 4000000071 4000000071 4000000075 1 read t0x/g0 - 0 2 told -");
}
END_TEST

START_TEST(names_and_sizes_may_be_as_old_as_attr_ttl)
{
        const char *const first = "10 11 20 30 0 put d0/f0 - 1 0 told -";
        KEPT(late, first, "120 129 120 129 1 stat d0/f0 - 0 2 told -");
        BROKEN(late, first, "150 151 150 151 1 stat d0/f0 - 0 2 told -");
        BROKEN(strict, first, "120 129 120 129 1 stat d0/f0 - 0 2 told -");
        /* but each open asks */
        BROKEN(late, first, PUT_2, "140 141 141 150 0 read d0/f0 - 0 0 told 1");
}
END_TEST

START_TEST(listings_have_what_is_there_and_nothing_else)
{
        KEPT(strict, PUT_1, "40 41 40 41 1 list d0 - 0 0 told f0");
        BROKEN(strict, PUT_1, "40 41 40 41 1 list d0 - 0 0 told -");
        BROKEN(strict, PUT_1, "32 33 32 33 1 remove d0/f0 - 0 0 told -",
               "40 41 40 41 1 list d0 - 0 0 told f0");
        BROKEN(strict, PUT_1, "40 41 40 41 1 list d0 - 0 0 told f0,f0");
        KEPT(strict, PUT_1, "40 49 40 49 1 list d0 - 0 0 told f0,f0",
             "41 42 43 44 0 put d0/f0 - 2 0 told -");
}
END_TEST

START_TEST(an_errno_has_its_reason)
{
        BROKEN(strict, PUT_1, "40 41 41 50 1 read d0/f0 - 0 5 told -");
        BROKEN(strict, PUT_1, "40 41 50 60 1 put d0/f0 - 2 116 told -");
        KEPT(strict, PUT_1, "40 41 50 60 1 put d0/f0 - 2 107 down -");
        KEPT(faulty, PUT_1, PUT_2, "100 101 110 140 0 put d0/f0 - 3 5 told -");
        BROKEN(strict, PUT_1, PUT_2, "100 101 110 140 0 put d0/f0 - 3 5 told -");
}
END_TEST

/* The reply to a change got lost, and another host replaced what it had published before the store
 * was asked again: the call says that the other was first. */
START_TEST(a_change_that_was_overtaken_may_have_been_published)
{
        KEPT(faulty, PUT_1, "40 41 50 160 0 append d0/f0 - 3 116 told -",
             "60 61 61 65 2 read d0/f0 - 0 0 told 1,3", "70 71 70 71 2 stat d0/f0 - 2 0 told -",
             PUT_2);
        KEPT(faulty, "10 11 20 160 0 create d0/f0 - 1 17 told -",
             "60 61 61 65 2 read d0/f0 - 0 0 told 1", PUT_2);
        /* not without a reply that may get lost, */
        BROKEN(strict, PUT_1, "40 41 50 160 0 append d0/f0 - 3 116 told -",
               "60 61 61 65 2 read d0/f0 - 0 0 told 1,3", PUT_2);
        /* another host, */
        BROKEN(faulty, PUT_1, "40 41 50 90 0 append d0/f0 - 3 116 told -",
               "60 61 61 65 2 read d0/f0 - 0 0 told 1,3", PUT_2);
        /* or a call that publishes, */
        BROKEN(faulty, PUT_1, "100 140 141 141 0 append d0/f0 - 3 116 told -", PUT_2,
               "150 151 151 155 2 read d0/f0 - 0 0 told 2,3");
        /* and the other's version is the one that stays */
        BROKEN(faulty, PUT_1, "40 41 50 160 0 append d0/f0 - 3 116 told -", PUT_2,
               "170 171 171 175 2 read d0/f0 - 0 0 told 1,3");
}
END_TEST

START_TEST(what_is_made_only_where_nothing_is_may_be_made_again)
{
        const char *const create = "10 11 20 160 0 create d0/f0 - 1 0 told -";
        const char *const read = "40 41 41 45 2 read d0/f0 - 0 0 told 1";
        const char *const remove = "50 60 50 60 1 remove d0/f0 - 0 0 told -";
        const char *const last = "170 171 171 175 2 read d0/f0 - 0 0 told 1";
        KEPT(faulty, create, read, remove, last);
        BROKEN(strict, create, read, remove, last);
}
END_TEST

START_TEST(a_rename_of_which_nobody_knows_what_became_says_so)
{
        const char *const put = "100 111 120 130 1 put d0/f1 - 2 0 told -";
        const char *const read = "60 61 61 65 2 read d0/f1 - 0 0 told 1";
        KEPT(faulty_whole, PUT_1, read, put, "40 160 40 160 0 move d0/f0 d0/f1 0 5 told -");
        BROKEN(faulty_whole, PUT_1, read, put, "40 160 40 160 0 move d0/f0 d0/f1 0 2 told -");
        BROKEN(faulty_whole, PUT_1, read, "40 160 40 160 0 move d0/f0 d0/f1 0 5 told -");
        BROKEN(whole, PUT_1, read, put, "40 160 40 160 0 move d0/f0 d0/f1 0 5 told -");
}
END_TEST

START_TEST(a_rename_may_take_a_file_of_the_same_name_for_its_own_when_its_reply_was_lost)
{
        const char *const theirs = "50 60 50 60 1 move d0/f0 d0/f1 0 0 told -";
        const char *const mine = "40 160 40 160 0 move-new d0/f0 d0/f1 0 0 told -";
        KEPT(faulty_whole, PUT_1, theirs, mine);
        BROKEN(whole, PUT_1, theirs, mine);
        /* not when the other gave it another name */
        BROKEN(faulty_whole, PUT_1, "50 60 50 60 1 move d0/f0 d0/f2 0 0 told -", mine);
}
END_TEST

START_TEST(what_was_changed_below_a_directory_may_stay_when_the_reply_was_lost)
{
        const char *const put = "10 11 20 30 0 put t0x/g0 - 1 0 told -";
        const char *const change = "32 33 45 46 1 append t0x/g0 - 2 0 told -";
        const char *const move = "40 60 40 60 0 move-dir t0x t0y 0 0 told -";
        const char *const read = "70 71 71 75 1 read t0x/g0 - 0 0 told 1,2";
        KEPT(faulty_whole, put, change, move, read);
        BROKEN(whole, put, change, move, read);
        BROKEN(faulty_whole, put, move, "70 71 71 75 1 read t0x/g0 - 0 0 told 1");
}
END_TEST

START_TEST(a_size_may_be_that_before_a_rename_or_removal_of_the_same_host)
{
        const char *const more = "32 33 34 35 1 append d0/f0 - 2 0 told -";
        const char *const most = "36 37 38 39 1 append d0/f0 - 4 0 told -";
        const char *const over = "40 60 40 60 0 replace d0/f0 - 3 0 told -";
        KEPT(strict, PUT_1, more, most, over, "45 46 45 46 0 stat d0/f0 - 2 0 told -");
        BROKEN(strict, PUT_1, more, most, over, "45 46 45 46 2 stat d0/f0 - 2 0 told -");
        BROKEN(strict, PUT_1, more, most, over, "65 66 65 66 0 stat d0/f0 - 2 0 told -");

        const char *const gone = "40 60 40 60 0 remove d0/f0 - 0 0 told -";
        KEPT(strict, PUT_1, more, most, gone, "45 46 45 46 0 stat d0/f0 - 2 0 told -");
        BROKEN(strict, PUT_1, more, most, gone, "45 46 45 46 2 stat d0/f0 - 2 0 told -");
        BROKEN(strict, PUT_1, more, most, gone, "65 66 65 66 0 stat d0/f0 - 2 0 told -");

        const char *const away = "40 50 40 50 0 move d0/f0 d0/f1 0 0 told -";
        const char *const then = "60 61 62 70 1 append d0/f1 - 2 0 told -";
        KEPT(whole, PUT_1, away, then, "45 80 45 80 0 stat d0/f0 - 2 0 told -");
        BROKEN(whole, PUT_1, away, then, "45 80 45 80 2 stat d0/f0 - 2 0 told -");
        BROKEN(whole, PUT_1, away, then, "52 80 52 80 0 stat d0/f0 - 2 0 told -");
}
END_TEST

START_TEST(bytes_tell_their_pieces)
{
        unsigned char p[400];
        char text[200];

        piece_fill(p, 100, 7, 0, 100, 0);
        piece_fill(p + 100, 200, 9, 1, 200, 0);
        piece_fill(p + 300, 100, 12, ANYWHERE, 100, 0);
        pieces_tell(p, 400, text, sizeof text);
        ck_assert_str_eq(text, "7,9,12");
        pieces_tell(p, 350, text, sizeof text);
        ck_assert_int_eq(text[0], '!');
        pieces_tell(p + 100, 300, text, sizeof text); /* not the first of its file */
        ck_assert_int_eq(text[0], '!');
        memset(p + 164, 0, 32);
        pieces_tell(p, 400, text, sizeof text);
        ck_assert_ptr_nonnull(strstr(text, "zeros"));
        piece_fill(p + 100, 64, 8, 1, 200, 0);
        pieces_tell(p, 400, text, sizeof text);
        ck_assert_ptr_nonnull(strstr(text, "torn"));
}
END_TEST

int main(void)
{
        Suite *s = suite_create("history");
        TCase *t = tcase_create("history");

        tcase_add_test(t, a_read_sees_the_last_close);
        tcase_add_test(t, an_open_during_a_close_sees_either_version);
        tcase_add_test(t, versions_do_not_come_back);
        tcase_add_test(t, what_changes_nothing_when_it_is_sent_again_makes_no_orders);
        tcase_add_test(t, torn_bytes_are_wrong_whatever_the_order);
        tcase_add_test(t, nothing_is_published_by_who_was_killed_before_its_close);
        tcase_add_test(t, one_exclusive_create_wins);
        tcase_add_test(t, a_change_is_published_only_on_the_version_it_was_made_on);
        tcase_add_test(t, two_appends_at_once_are_not_both_published);
        tcase_add_test(t, what_is_published_is_not_lost);
        tcase_add_test(t, a_rename_leads_to_the_file_by_one_name_or_both);
        tcase_add_test(t, a_rename_in_one_step_never_shows_both_names);
        tcase_add_test(t, a_rename_deletes_only_what_it_copied);
        tcase_add_test(
                t, files_below_a_directory_go_back_when_another_host_puts_one_where_it_was_to_be);
        tcase_add_test(t, two_files_that_are_renamed_onto_each_other_are_swapped_or_one_is_left);
        tcase_add_test(t, noreplace_replaces_nothing);
        tcase_add_test(t, files_follow_the_rename_of_their_directory);
        tcase_add_test(t, an_old_name_goes_with_a_copy_that_was_taken_away_unless_it_is_as_young);
        tcase_add_test(t, names_and_sizes_may_be_as_old_as_attr_ttl);
        tcase_add_test(t, listings_have_what_is_there_and_nothing_else);
        tcase_add_test(t, an_errno_has_its_reason);
        tcase_add_test(t, a_change_that_was_overtaken_may_have_been_published);
        tcase_add_test(t, what_is_made_only_where_nothing_is_may_be_made_again);
        tcase_add_test(t, a_rename_of_which_nobody_knows_what_became_says_so);
        tcase_add_test(
                t, a_rename_may_take_a_file_of_the_same_name_for_its_own_when_its_reply_was_lost);
        tcase_add_test(t, what_was_changed_below_a_directory_may_stay_when_the_reply_was_lost);
        tcase_add_test(t, a_size_may_be_that_before_a_rename_or_removal_of_the_same_host);
        tcase_add_test(t, bytes_tell_their_pieces);
        suite_add_tcase(s, t);
        return unit_main(s);
}
