/* SPDX-License-Identifier: Apache-2.0 */
/* test_log.c: a line is one line, a storm is bounded, threads do not mix. */
#include "base/log.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "tests/lib/unit.h"

#include "base/banned.h"

static char file[64];

static void open_file(void)
{
        snprintf(file, sizeof file, "/tmp/ckptfs-log-XXXXXX");
        int fd = mkstemp(file);
        ck_assert_int_ge(fd, 0);
        close(fd);
        ck_assert_int_eq(log_open("prog", file, LOG_LEVEL_INFO), 0);
}

static void remove_file(void)
{
        unlink(file);
}

/* Lines of the log that hold the text. */
static unsigned count(const char *text)
{
        CLEANUP(fclosep) FILE *f = fopen(file, "r");
        char line[8192];
        unsigned n = 0;
        while (fgets(line, sizeof line, f))
                n += strstr(line, text) != NULL;
        return n;
}

START_TEST(a_line_has_time_program_level_and_text)
{
        log_info("mounted %s", "s3://b");
        log_debug("not wanted");
        log_warn("a\nb\033[31m");
        ck_assert_uint_eq(count("] info: mounted s3://b\n"), 1);
        ck_assert_uint_eq(count("Z prog["), 2);
        ck_assert_uint_eq(count("not wanted"), 0);
        ck_assert_uint_eq(count("warning: a?b?[31m\n"), 1);
        ck_assert(log_wants(LOG_LEVEL_WARN));
        ck_assert(!log_wants(LOG_LEVEL_DEBUG));
}
END_TEST

START_TEST(a_storm_is_bounded_at_its_place)
{
        for (int i = 0; i < 1000; i++)
                log_error("storm %d", i);
        log_error("another place");
        ck_assert_uint_eq(count("storm"), 10);
        ck_assert_uint_eq(count("another place"), 1);
}
END_TEST

START_TEST(a_long_line_is_cut_but_ends)
{
        char text[3000];
        memset(text, 'x', sizeof text - 1);
        text[sizeof text - 1] = 0;
        log_info("%s", text);
        log_info("next");
        ck_assert_uint_eq(count("info: next\n"), 1);
        ck_assert_uint_eq(count("xxx"), 1);
}
END_TEST

static void *write_lines(void *arg)
{
        (void)arg;
        for (int i = 0; i < 100; i++)
                log_info("whole line");
        return NULL;
}

START_TEST(threads_write_whole_lines)
{
        pthread_t t[4];
        for (int i = 0; i < 4; i++)
                ck_assert_int_eq(pthread_create(&t[i], NULL, write_lines, NULL), 0);
        for (int i = 0; i < 4; i++)
                pthread_join(t[i], NULL);
        ck_assert_uint_eq(count("] info: whole line\n"), 10);
        ck_assert_int_lt(log_open("prog", "/nonexistent/log", LOG_LEVEL_INFO), 0);
}
END_TEST

START_TEST(a_line_of_json_escapes_what_its_grammar_needs)
{
        log_set_json(true);
        log_warn("say \"hi\" \\ %s", "\xc3\xa4");
        log_warn("no UTF-8: %s", "\xff\xc3");
        log_set_json(false);
        ck_assert_uint_eq(count("\"message\":\"say \\\"hi\\\" \\\\ \xc3\xa4\"}\n"), 1);
        ck_assert_uint_eq(count("\"message\":\"no UTF-8: ??\"}\n"), 1);
        ck_assert_uint_eq(count("{\"time\":\"2"), 2);
}
END_TEST

START_TEST(a_line_is_cut_between_two_characters)
{
        static char name[3000];

        for (size_t i = 0; i + 2 < sizeof name; i += 2)
                memcpy(name + i, "\xc3\xa4", 2);
        log_info("%s", name);
        log_set_json(true);
        log_info("%s", name);
        log_info("\xff %.6s", name);
        log_set_json(false);
        ck_assert_uint_eq(count("\xc3\xa4\n"), 1);
        ck_assert_uint_eq(count("\"message\":\"\xc3\xa4"), 1);
        ck_assert_uint_eq(count("\xc3\xa4\"}\n"), 2);
        ck_assert_uint_eq(count("? \xc3\xa4\xc3\xa4\xc3\xa4\"}\n"), 1);
}
END_TEST

START_TEST(a_line_of_json_has_what_it_is_about_as_members)
{
        static char name[3000];

        memset(name, '"', sizeof name - 1);
        log_set_json(true);
        log_warn_of(LOG_ABOUT(.operation = "put", .file = "a\"b\n\xc3\xa4", .request = "R1",
                              .remedy = "free space"),
                    "store: put: full");
        log_error_of(LOG_ABOUT(.operation = "read"), "no more is known");
        log_error_of(LOG_ABOUT(.operation = name, .file = name, .request = name, .remedy = name),
                     "%s", name);
        log_set_json(false);
        log_error_of(LOG_ABOUT(.file = "f", .remedy = "free space"), "f: full");
        ck_assert_uint_eq(
                count("\"message\":\"store: put: full: free space\",\"operation\":\"put\","
                      "\"file\":\"a\\\"b?\xc3\xa4\",\"request\":\"R1\","
                      "\"remedy\":\"free space\"}\n"),
                1);
        ck_assert_uint_eq(count("\"message\":\"no more is known\",\"operation\":\"read\"}\n"), 1);
        ck_assert_uint_eq(count("] error: f: full: free space\n"), 1);
        ck_assert_uint_eq(count("\"}\n"), 3); /* the long one ends as the others do */
}
END_TEST

START_TEST(a_pipe_that_somebody_else_fills_holds_up_nobody)
{
        char fifo[80], page[4096] = "";
        snprintf(fifo, sizeof fifo, "%s.fifo", file);
        ck_assert_int_eq(mkfifo(fifo, 0600), 0);
        int reader = open(fifo, O_RDONLY | O_NONBLOCK);
        ck_assert_int_ge(fcntl(reader, F_SETPIPE_SZ, 8192), 8192);
        ck_assert_int_eq(log_open("prog", fifo, LOG_LEVEL_INFO), 0);
        int other = open(fifo, O_WRONLY | O_NONBLOCK);
        while (write(other, page, 64) > 0)
                ;
        for (int i = 0; i < 3; i++)
                log_info("nobody reads this");
        while (read(reader, page, sizeof page) > 0)
                ;
        log_info("whole line");
        ck_assert_int_gt(read(reader, page, sizeof page), 0);
        ck_assert_ptr_nonnull(strstr(page, "3 lines are left out here"));
        ck_assert_ptr_nonnull(strstr(page, "whole line\n"));
        ck_assert_int_eq(log_open("prog", file, LOG_LEVEL_INFO), 0);
        close(other);
        close(reader);
        unlink(fifo);
}
END_TEST

START_TEST(a_file_that_was_moved_away_is_made_anew)
{
        char moved[80], dest[80];

        log_info("before");
        snprintf(moved, sizeof moved, "%s.old", file);
        snprintf(dest, sizeof dest, "file:%s", file);
        ck_assert_int_eq(rename(file, moved), 0);
        ck_assert_int_eq(log_open("prog", dest, LOG_LEVEL_INFO), 0);
        log_info("after");
        ck_assert_uint_eq(count("after"), 1);
        ck_assert_uint_eq(count("before"), 0);
        unlink(moved);
        ck_assert_ptr_null(log_path("journal"));
        ck_assert_str_eq(log_path(dest), file);
}
END_TEST

START_TEST(the_last_warnings_are_kept_in_order)
{
        struct log_entry kept[LOG_RECENT];

        log_info("no warning");
        for (int i = 0; i < 5; i++)
                log_warn("first %d", i);
        for (int i = 0; i < 5; i++)
                log_error("then %d", i);
        ck_assert_uint_eq(log_last(kept), LOG_RECENT);
        ck_assert_str_eq(kept[0].text, "first 2");
        ck_assert_str_eq(kept[LOG_RECENT - 1].text, "then 4");
        ck_assert_int_eq(kept[LOG_RECENT - 1].level, LOG_LEVEL_ERROR);
}
END_TEST

int main(void)
{
        Suite *s = suite_create("log");
        TCase *t = tcase_create("log");
        tcase_add_checked_fixture(t, open_file, remove_file);
        tcase_add_test(t, a_line_has_time_program_level_and_text);
        tcase_add_test(t, a_storm_is_bounded_at_its_place);
        tcase_add_test(t, a_long_line_is_cut_but_ends);
        tcase_add_test(t, threads_write_whole_lines);
        tcase_add_test(t, a_line_of_json_escapes_what_its_grammar_needs);
        tcase_add_test(t, a_line_is_cut_between_two_characters);
        tcase_add_test(t, a_line_of_json_has_what_it_is_about_as_members);
        tcase_add_test(t, a_pipe_that_somebody_else_fills_holds_up_nobody);
        tcase_add_test(t, a_file_that_was_moved_away_is_made_anew);
        tcase_add_test(t, the_last_warnings_are_kept_in_order);
        suite_add_tcase(s, t);
        return unit_main(s);
}
