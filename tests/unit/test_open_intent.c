/* SPDX-License-Identifier: Apache-2.0 */
/* test_open_intent.c: when a system call tells that a name is looked up to be made; else whoever
 * asks is told what the store says. */
#include "mount/caller/open_intent.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/lib/unit.h"
#include "base/banned.h"

#define STACK 0x7ffc01234560
#define ANEW  (O_WRONLY | O_CREAT | O_TRUNC)

static const struct {
        struct call c;
        uint64_t path; /* 0: it makes nothing */
} calls[] = {
        {{SYS_openat, {0xffffff9c, 0x5000, ANEW}, STACK, 1}, 0x5000},
        {{SYS_openat, {0xffffff9c, 0x5000, ANEW | O_CLOEXEC | O_NOFOLLOW}, STACK, 1}, 0x5000},
        {{SYS_openat, {0xffffff9c, 0x5000, O_WRONLY | O_CREAT}, STACK, 1}, 0},
        {{SYS_openat, {0xffffff9c, 0x5000, O_WRONLY | O_TRUNC}, STACK, 1}, 0},
        {{SYS_openat, {0xffffff9c, 0x5000, ANEW | O_EXCL}, STACK, 1}, 0},
        {{SYS_openat, {0xffffff9c, 0x5000, ANEW | O_PATH}, STACK, 1}, 0},
        {{SYS_openat, {0xffffff9c, 0x5000, ANEW | O_TMPFILE}, STACK, 1}, 0},
        {{SYS_openat2, {0xffffff9c, 0x5000, ANEW}, STACK, 1}, 0},
        {{SYS_readlinkat, {0xffffff9c, 0x5000, ANEW}, STACK, 1}, 0},
#ifdef SYS_open
        {{SYS_open, {0x5000, ANEW, 0644}, STACK, 1}, 0x5000},
        {{SYS_open, {0x5000, O_RDONLY, 0}, STACK, 1}, 0},
#endif
#ifdef SYS_creat
        {{SYS_creat, {0x5000, 0644, 0}, STACK, 1}, 0x5000},
        /* The same number is readlink() of a program of 32 bits. */
        {{SYS_creat, {0x5000, 0x6000, 4096}, 0xffb01234, 0xf7f01234}, 0},
#endif
        {{SYS_openat, {0xffffff9c, 0x5000, ANEW}, 0xffb01234, 0xf7f01234}, 0},
};

START_TEST(a_call_makes_a_file_anew_or_is_not_believed)
{
        uint64_t path;

        ck_assert_int_eq(call_creates(&calls[_i].c, &path), calls[_i].path != 0);
        if (calls[_i].path)
                ck_assert_uint_eq(path, calls[_i].path);
}
END_TEST

START_TEST(a_call_that_may_open_is_told_from_one_that_only_looks)
{
        static const long looks[] = {SYS_statx, SYS_faccessat, SYS_faccessat2};
        static const long opens[] = {SYS_openat, SYS_openat2, SYS_execve, SYS_renameat2,
                                     SYS_mkdirat};
        struct call c = {.sp = STACK, .pc = 1};

        for (size_t i = 0; i < sizeof looks / sizeof looks[0]; i++) {
                c.nr = looks[i];
                ck_assert(call_only_looks(&c));
                c.sp = 0xffb01234; /* a program of 32 bits, whose call may be any */
                ck_assert(!call_only_looks(&c));
                c.sp = STACK;
        }
        for (size_t i = 0; i < sizeof opens / sizeof opens[0]; i++) {
                c.nr = opens[i];
                ck_assert(!call_only_looks(&c));
        }
}
END_TEST

START_TEST(the_line_of_a_call_is_read)
{
        struct call c;

        ck_assert(call_read("257 0xffffff9c 0x7ffd5000 0x241 0x1b6 0x0 0x9 0x7ffd4e28 0x7f01beef\n",
                            &c));
        ck_assert_int_eq(c.nr, 257);
        ck_assert_uint_eq(c.arg[1], 0x7ffd5000);
        ck_assert_uint_eq(c.arg[2], 0x241);
        ck_assert_uint_eq(c.sp, 0x7ffd4e28);
        ck_assert_uint_eq(c.pc, 0x7f01beef);
        ck_assert(!call_read("running\n", &c));
        ck_assert(!call_read("-1 0x7ffd4e28 0x7f01beef\n", &c));
        ck_assert(!call_read("257 0xffffff9c 0x7ffd5000 0x241\n", &c));
        ck_assert(!call_read("", &c));
}
END_TEST

static const struct {
        const char *path;
        bool makes;
} paths[] = {
        {"ckpt", true},       {"/mnt/dir/ckpt", true},
        {"./ckpt", true},     {"dir//ckpt", true},
        {"ckpt/", false},     {"ckpt/other", false},
        {"ckpt/ckpt", false}, {"/mnt/ckpt/dir/ckpt", false},
        {"ckpt2", false},     {"ckp", false},
        {"", false},
};

START_TEST(only_the_last_name_of_a_path_is_made)
{
        ck_assert_int_eq(path_makes(paths[_i].path, "ckpt"), paths[_i].makes);
}
END_TEST

/* --- callers that wait in their call: a pipe nobody reads --- */

static char dir[64], fifo[96];

static void make_fifo(void)
{
        snprintf(dir, sizeof dir, "/tmp/ckptfs-creates.XXXXXX");
        ck_assert_ptr_nonnull(mkdtemp(dir));
        snprintf(fifo, sizeof fifo, "%s/fifo", dir);
        ck_assert_int_eq(mkfifo(fifo, 0600), 0);
}

static void remove_fifo(void)
{
        unlink(fifo);
        rmdir(dir);
}

static pid_t start(bool second)
{
        pid_t pid = fork();

        if (pid)
                return pid;
        if (second) {
                struct open_how how = {.flags = ANEW, .mode = 0600};
                syscall(SYS_openat2, AT_FDCWD, fifo, &how, sizeof how);
        } else {
                open(fifo, ANEW, 0600);
        }
        _exit(0);
}

static void stop(pid_t pid)
{
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
}

/* Whether it is in the call of that number. */
static bool is_in(pid_t pid, long nr)
{
        char path[64];
        long got = -1;

        snprintf(path, sizeof path, "/proc/%d/syscall", (int)pid);
        FILE *f = fopen(path, "r");
        if (f && fscanf(f, "%ld", &got) != 1)
                got = -1;
        if (f)
                fclose(f);
        return got == nr;
}

static bool wait_in(pid_t pid, long nr)
{
        for (int i = 0; i < 10000; i++) {
                if (is_in(pid, nr))
                        return true;
                usleep(10000);
        }
        return false;
}

static bool may_read(pid_t pid)
{
        char byte;
        struct iovec ours = {&byte, 1}, its = {&fifo, 1};

        return process_vm_readv(pid, &ours, 1, &its, 1, 0) == 1;
}

START_TEST(a_caller_that_makes_a_file_is_seen)
{
        make_fifo();
        pid_t pid = start(false);
        bool allowed = wait_in(pid, SYS_openat) && may_read(pid);
        struct call c = {0};
        bool may = caller_may_create(pid, &c);
        bool makes = may && caller_creates(pid, &c, "fifo"),
             other = may && caller_creates(pid, &c, "other");
        stop(pid);
        remove_fifo();
        ck_assert(may || !allowed);
        ck_assert_int_eq(makes, allowed);
        ck_assert(!other);
}
END_TEST

START_TEST(a_caller_whose_flags_are_in_memory_is_not_believed)
{
        make_fifo();
        pid_t pid = start(true);
        bool known = wait_in(pid, SYS_openat2);
        struct call c = {0};
        bool may = caller_may_create(pid, &c), makes = may && caller_creates(pid, &c, "fifo");
        stop(pid);
        remove_fifo();
        ck_assert(known && !makes && !may);
}
END_TEST

int main(void)
{
        Suite *s = suite_create("creates");
        TCase *t = tcase_create("creates");

        tcase_add_loop_test(t, a_call_makes_a_file_anew_or_is_not_believed, 0,
                            sizeof calls / sizeof *calls);
        tcase_add_test(t, a_call_that_may_open_is_told_from_one_that_only_looks);
        tcase_add_test(t, the_line_of_a_call_is_read);
        tcase_add_loop_test(t, only_the_last_name_of_a_path_is_made, 0,
                            sizeof paths / sizeof *paths);
        tcase_add_test(t, a_caller_that_makes_a_file_is_seen);
        tcase_add_test(t, a_caller_whose_flags_are_in_memory_is_not_believed);
        suite_add_tcase(s, t);
        return unit_main(s);
}
