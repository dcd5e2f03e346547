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

#define STATUS(tracer, pending, shared, blocked, ignored, caught)                                  \
        "Name:\tx\nTracerPid:\t" tracer "\nSigPnd:\t" pending "\nShdPnd:\t" shared                 \
        "\nSigBlk:\t" blocked "\nSigIgn:\t" ignored "\nSigCgt:\t" caught "\nCapInh:\t0\n"
#define NONE  "0000000000000000"
#define KILL  "0000000000000100"
#define TERM  "0000000000004000"
#define QUIT  "0000000000000004"
#define ALARM "0000000000002000"
#define STOP  "0000000000040000"
#define CHILD "0000000000010000"

static const struct {
        const char *text;
        bool tells;
} statuses[] = {
        {STATUS("0", NONE, NONE, NONE, NONE, NONE), false},
        {STATUS("0", KILL, NONE, NONE, NONE, NONE), true},
        {STATUS("7", KILL, NONE, NONE, NONE, NONE), true},
        {STATUS("0", NONE, QUIT, NONE, NONE, NONE), true}, /* it will leave a core */
        {STATUS("0", NONE, TERM, NONE, NONE, NONE), true},
        {STATUS("7", NONE, TERM, NONE, NONE, NONE), false}, /* the tracer decides */
        {STATUS("0", NONE, TERM, TERM, NONE, NONE), false},
        {STATUS("0", NONE, TERM, NONE, TERM, NONE), false},
        {STATUS("0", NONE, TERM, NONE, NONE, TERM), false},
        {STATUS("0", NONE, ALARM, NONE, NONE, ALARM), false},
        {STATUS("0", ALARM, TERM, NONE, NONE, ALARM), true},
        {STATUS("0", NONE, STOP, NONE, NONE, NONE), false},
        {STATUS("0", NONE, CHILD, NONE, NONE, NONE), false},
        {"", false},
};

START_TEST(only_a_signal_that_ends_it_makes_a_thread_dying)
{
        ck_assert_int_eq(status_tells_end(statuses[_i].text), statuses[_i].tells);
}
END_TEST

START_TEST(a_living_process_is_not_killed)
{
        ck_assert(!killed(getpid()));
        ck_assert(!killed(0x7ffffff0));
        ck_assert(!is_dying(getpid()));
        ck_assert(!is_dying(0x7ffffff0));
        ck_assert(!is_dying(0));
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
        tcase_add_loop_test(t, only_a_signal_that_ends_it_makes_a_thread_dying, 0,
                            sizeof statuses / sizeof statuses[0]);
        tcase_add_test(t, a_living_process_is_not_killed);
        tcase_add_test(t, a_thread_is_of_its_process);
        suite_add_tcase(s, t);
        return unit_main(s);
}
