/* SPDX-License-Identifier: Apache-2.0 */
/* test_exit_signal.c: what /proc tells of a process that dies. */
#include "mount/caller/exit_signal.h"

#include <pthread.h>
#include <unistd.h>

#include "tests/lib/unit.h"

#include "base/banned.h"

/* Field 9 is flags, field 52 exit_code; field 2 may hold spaces and parentheses. */
#define FIELDS_10_TO_51                                                                            \
        " 0 0 0 0 0 0 0 0 20 0 1 0 100 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 "  \
        "0 "

static const struct {
        const char *line;
        bool tells;
} lines[] = {
        {"7 (cat) R 1 7 7 0 -1 4194564" FIELDS_10_TO_51 "9", true},    /* exiting, SIGKILL */
        {"7 (cat) R 1 7 7 0 -1 4194564" FIELDS_10_TO_51 "139", true},  /* SIGSEGV and core */
        {"7 (cat) R 1 7 7 0 -1 4194564" FIELDS_10_TO_51 "0", false},   /* exit(0) */
        {"7 (cat) R 1 7 7 0 -1 4194564" FIELDS_10_TO_51 "256", false}, /* exit(1) */
        {"7 (cat) R 1 7 7 0 -1 4194560" FIELDS_10_TO_51 "9", false},   /* alive */
        {"7 (a) b) 9 4 (c) R 1 7 7 0 -1 4194564" FIELDS_10_TO_51 "15", true},
        {"7 (cat) R 1 7", false},
        {"", false},
};

START_TEST(only_a_fatal_signal_of_an_exiting_process_tells)
{
        ck_assert_int_eq(stat_line_tells_kill(lines[_i].line), lines[_i].tells);
}
END_TEST

START_TEST(a_living_process_is_not_killed)
{
        ck_assert(!killed(getpid()));
        ck_assert(!killed(0x7ffffff0));
}
END_TEST

static void *a_thread(void *arg)
{
        *(pid_t *)arg = process_of(gettid());
        return NULL;
}

START_TEST(a_thread_is_of_its_process)
{
        pthread_t thread;
        pid_t pid = 0;
        ck_assert_int_eq(process_of(getpid()), getpid());
        ck_assert_int_eq(pthread_create(&thread, NULL, a_thread, &pid), 0);
        pthread_join(thread, NULL);
        ck_assert_int_eq(pid, getpid());
        ck_assert_int_eq(process_of(0x7ffffff0), 0x7ffffff0);
}
END_TEST

int main(void)
{
        Suite *s = suite_create("killed");
        TCase *t = tcase_create("killed");
        tcase_add_loop_test(t, only_a_fatal_signal_of_an_exiting_process_tells, 0,
                            sizeof lines / sizeof lines[0]);
        tcase_add_test(t, a_living_process_is_not_killed);
        tcase_add_test(t, a_thread_is_of_its_process);
        suite_add_tcase(s, t);
        return unit_main(s);
}
