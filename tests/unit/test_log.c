/* SPDX-License-Identifier: Apache-2.0 */
/* test_log.c: a line is one line, a storm is bounded, threads do not mix. */
#include "base/log.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

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
        char line[2048];
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

int main(void)
{
        Suite *s = suite_create("log");
        TCase *t = tcase_create("log");
        tcase_add_checked_fixture(t, open_file, remove_file);
        tcase_add_test(t, a_line_has_time_program_level_and_text);
        tcase_add_test(t, a_storm_is_bounded_at_its_place);
        tcase_add_test(t, a_long_line_is_cut_but_ends);
        tcase_add_test(t, threads_write_whole_lines);
        suite_add_tcase(s, t);
        return unit_main(s);
}
