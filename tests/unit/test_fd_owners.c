/* SPDX-License-Identifier: Apache-2.0 */
/* test_fd_owners.c: which close ends the writing of a file, told from real processes. */
#include "mount/caller/fd_owners.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mount/caller/exit_signal.h"
#include "mount/caller/proc_fds.h"
#include "tests/lib/unit.h"

#include "base/banned.h"

static char name[] = "/tmp/ckptfs-fd-owners.XXXXXX";
static struct fd_owners *slot;
static struct stat st;
static struct mount_list *mounts; /* of the file */
static int fd;

static void setup(void)
{
        fd = mkostemp(name, O_CLOEXEC);
        ck_assert_int_ge(fd, 0);
        ck_assert_int_eq(fstat(fd, &st), 0);
        ck_assert_ptr_nonnull(mounts = mount_list_new(st.st_dev));
        ck_assert_ptr_nonnull(fd_owners_open(&slot, getpid(), 0));
}

static void teardown(void)
{
        fd_owners_release(&slot);
        ck_assert_ptr_null(slot);
        mount_list_free(mounts);
        close(fd);
        unlink(name);
}

static enum closing closing(pid_t pid)
{
        struct proc_view view = {0};
        struct fd_owners_look look;
        fd_owners_look_begin(&look, slot, pid, st.st_ino);
        fd_owners_look_see(&look, &view);
        enum closing is = fd_owners_look_end(&look, slot, true);
        fd_owners_look_release(&look);
        proc_view_release(&view);
        return is;
}

/* A child that holds what it inherited until it is told, by the end of `go`, to close. */
struct child {
        pid_t pid;
        int go;
};

static struct child child_new(void)
{
        int go[2];
        ck_assert_int_eq(pipe(go), 0);
        struct child c = {.pid = fork(), .go = go[1]};
        if (!c.pid) {
                char b;
                close(go[1]);
                ssize_t n = read(go[0], &b, 1);
                _exit(n ? 1 : 0);
        }
        close(go[0]);
        return c;
}

static void child_end(struct child *c)
{
        close(c->go);
        ck_assert_int_eq(waitpid(c->pid, NULL, 0), c->pid);
}

START_TEST(the_last_descriptor_tells)
{
        int copy = dup(fd);
        close(fd);
        ck_assert_int_eq(closing(getpid()), CLOSE_LEAVES);
        int reading = open(name, O_RDONLY | O_CLOEXEC);
        close(copy);
        ck_assert_int_eq(closing(getpid()), CLOSE_LAST);
        close(reading);
}
END_TEST

START_TEST(a_child_that_never_wrote_holds_it)
{
        struct child c = child_new();
        close(fd);
        ck_assert_int_eq(closing(getpid()), CLOSE_LEAVES);
        child_end(&c);
        ck_assert_int_eq(closing(getpid()), CLOSE_LAST);
}
END_TEST

START_TEST(who_was_found_once_is_remembered)
{
        struct child a = child_new();
        close(fd);
        ck_assert_int_eq(closing(getpid()), CLOSE_LEAVES);
        /* Now a close by somebody who is not the child's ancestor. */
        ck_assert_int_eq(closing(1), CLOSE_LEAVES);
        child_end(&a);
        ck_assert_int_eq(closing(1), CLOSE_LAST);
}
END_TEST

START_TEST(a_child_of_two_opens_leaves_both)
{
        int second = open(name, O_WRONLY | O_CLOEXEC);
        ck_assert_ptr_nonnull(fd_owners_open(&slot, getpid(), 0));
        ck_assert_int_eq(closing(0x7ffffff0), CLOSE_LEAVES); /* as after a child's clean end */
        close(second);
        ck_assert_int_eq(closing(getpid()), CLOSE_LAST); /* of the two one is held */
        fd_owners_release(&slot);
        ck_assert_int_eq(closing(getpid()), CLOSE_LEAVES);
}
END_TEST

START_TEST(what_a_killed_writer_left_is_not_a_bystanders)
{
        struct child bystander = child_new(), writer = child_new();
        fd_owners_wrote(slot, writer.pid);
        close(fd);
        kill(writer.pid, SIGKILL);
        siginfo_t info;
        ck_assert_int_eq(waitid(P_PID, (id_t)writer.pid, &info, WEXITED | WNOWAIT), 0);
        ck_assert(killed(writer.pid));
        ck_assert_int_eq(closing(writer.pid), CLOSE_KILLED);
        ck_assert(fd_owners_killed(slot));
        child_end(&writer);
        child_end(&bystander);
        ck_assert_int_eq(closing(bystander.pid), CLOSE_BYSTANDER);
        ck_assert_int_eq(closing(getpid()), CLOSE_LAST); /* it opened the file */
        ck_assert(!fd_owners_killed(slot));
}
END_TEST

static void end_by_kill(struct child *c)
{
        siginfo_t info;
        kill(c->pid, SIGKILL);
        ck_assert_int_eq(waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOWAIT), 0);
}

START_TEST(a_close_that_was_confirmed_after_a_kill_stands)
{
        struct child bystander = child_new(), writer = child_new();
        fd_owners_wrote(slot, writer.pid);
        close(fd);
        end_by_kill(&writer);
        ck_assert_int_eq(closing(writer.pid), CLOSE_KILLED);
        child_end(&writer);
        ck_assert_int_eq(closing(getpid()), CLOSE_LEAVES); /* by the opener: it is told 0 */
        child_end(&bystander);
        ck_assert_int_eq(closing(bystander.pid), CLOSE_LAST);
}
END_TEST

START_TEST(the_kill_of_one_that_never_wrote_is_a_close)
{
        struct child worker = child_new();
        fd_owners_wrote(slot, getpid());
        close(fd);
        ck_assert_int_eq(closing(getpid()), CLOSE_LEAVES);
        end_by_kill(&worker);
        ck_assert_int_eq(closing(worker.pid), CLOSE_LAST);
        ck_assert(!fd_owners_killed(slot));
        child_end(&worker);
}
END_TEST

START_TEST(the_kill_of_one_that_wrote_nothing_is_a_close_while_another_has_the_file)
{
        struct child other = child_new();
        ck_assert_ptr_nonnull(fd_owners_open(&slot, other.pid, 0));
        end_by_kill(&other);
        ck_assert_int_eq(closing(other.pid), CLOSE_LEAVES);
        ck_assert(!fd_owners_killed(slot));
        child_end(&other);
        fd_owners_release(&slot);
}
END_TEST

START_TEST(what_is_mapped_after_a_kill_is_of_who_lives)
{
        struct child writer = child_new();
        fd_owners_wrote(slot, writer.pid);
        end_by_kill(&writer);
        ck_assert_int_eq(closing(writer.pid), CLOSE_KILLED);
        child_end(&writer);
        ck_assert(fd_owners_killed(slot));
        fd_owners_mapped(slot);
        ck_assert(!fd_owners_killed(slot));
}
END_TEST

START_TEST(what_is_mapped_after_a_kill_is_not_of_who_has_closed_the_file)
{
        struct child writer = child_new();
        fd_owners_wrote(slot, writer.pid);
        close(fd);
        ck_assert_int_eq(closing(getpid()), CLOSE_LEAVES);
        fd_owners_published(slot);
        fd_owners_wrote(slot, writer.pid);
        end_by_kill(&writer);
        ck_assert_int_eq(closing(writer.pid), CLOSE_KILLED);
        child_end(&writer);
        fd_owners_mapped(slot);
        ck_assert(fd_owners_killed(slot));
}
END_TEST

/* A writer that dies has let go of all descriptors before it closes the first. */
START_TEST(a_writer_that_is_still_to_close_decides)
{
        struct child worker = child_new(), writer = child_new();
        fd_owners_wrote(slot, writer.pid);
        close(fd);
        end_by_kill(&writer);
        end_by_kill(&worker);
        ck_assert_int_eq(closing(worker.pid), CLOSE_LEAVES);
        ck_assert_int_eq(closing(writer.pid), CLOSE_KILLED);
        child_end(&writer);
        child_end(&worker);
}
END_TEST

/* What it closed before was a copy. */
START_TEST(a_writer_that_closed_a_copy_is_still_to_close)
{
        struct child worker = child_new(), writer = child_new();
        fd_owners_wrote(slot, writer.pid);
        close(fd);
        ck_assert_int_eq(closing(writer.pid), CLOSE_LEAVES);
        end_by_kill(&writer);
        end_by_kill(&worker);
        ck_assert_int_eq(closing(worker.pid), CLOSE_LEAVES);
        ck_assert_int_eq(closing(writer.pid), CLOSE_KILLED);
        child_end(&writer);
        child_end(&worker);
}
END_TEST

/* It is alive: it closed the one that it wrote by, and keeps the other for as long as it likes. */
START_TEST(a_writer_that_holds_another_open_is_not_awaited)
{
        fd_owners_wrote(slot, getpid());
        struct child bystander = child_new();
        int second = open(name, O_RDWR | O_CLOEXEC);
        ck_assert_ptr_nonnull(fd_owners_open(&slot, getpid(), 0));
        close(fd);
        ck_assert_int_eq(closing(getpid()), CLOSE_LEAVES);
        child_end(&bystander);
        ck_assert_int_eq(closing(bystander.pid), CLOSE_LAST);
        close(second);
        fd_owners_release(&slot);
}
END_TEST

/* An open that came after the look began is not one of those that were counted. */
START_TEST(an_open_during_the_look_is_looked_at_again)
{
        struct proc_view view = {0};
        struct fd_owners_look look;
        fd_owners_wrote(slot, getpid());
        close(fd);
        fd_owners_look_begin(&look, slot, getpid(), st.st_ino);
        int second = open(name, O_RDWR | O_CLOEXEC);
        ck_assert_ptr_nonnull(fd_owners_open(&slot, getpid(), 0));
        fd_owners_look_see(&look, &view);
        ck_assert_int_eq(fd_owners_look_end(&look, slot, true), CLOSE_UNSURE);
        fd_owners_look_release(&look);
        proc_view_release(&view);
        ck_assert_int_eq(closing(getpid()), CLOSE_LAST);
        close(second);
        fd_owners_release(&slot);
}
END_TEST

START_TEST(a_file_that_others_only_inherited_is_closed_by_its_writers)
{
        struct child bystander = child_new(), writer = child_new();
        ck_assert(!fd_owners_closed(slot));
        fd_owners_wrote(slot, writer.pid);
        close(fd);
        ck_assert_int_eq(closing(getpid()), CLOSE_LEAVES);
        ck_assert(!fd_owners_closed(slot)); /* the writer is still to close */
        child_end(&writer);
        ck_assert_int_eq(closing(writer.pid), CLOSE_LEAVES);
        ck_assert(fd_owners_closed(slot));
        fd_owners_wrote(slot, bystander.pid);
        ck_assert(!fd_owners_closed(slot));
        fd_owners_published(slot);
        child_end(&bystander);
        ck_assert_int_eq(closing(bystander.pid), CLOSE_LAST);
        ck_assert(!fd_owners_closed(slot)); /* there is nothing that was left */
}
END_TEST

START_TEST(what_was_published_is_no_work_of_who_wrote_it)
{
        struct child early = child_new();
        fd_owners_wrote(slot, early.pid);
        fd_owners_published(slot);
        fd_owners_wrote(slot, getpid());
        close(fd);
        ck_assert_int_eq(closing(getpid()), CLOSE_LEAVES);
        end_by_kill(&early);
        ck_assert_int_eq(closing(early.pid), CLOSE_LAST);
        child_end(&early);
}
END_TEST

/* However many processes share it. */
START_TEST(the_opener_is_never_forgotten)
{
        struct child writer = child_new();
        for (pid_t pid = 0x7f000000; pid < 0x7f000000 + 3000; pid++)
                fd_owners_wrote(slot, pid);
        close(fd);
        end_by_kill(&writer);
        fd_owners_published(slot);
        fd_owners_wrote(slot, writer.pid);
        ck_assert_int_eq(closing(writer.pid), CLOSE_KILLED);
        child_end(&writer);
        ck_assert_int_eq(closing(getpid()), CLOSE_LAST); /* it opened the file */
}
END_TEST

START_TEST(who_goes_on_writing_after_a_kill_publishes)
{
        struct child heir = child_new(), writer = child_new();
        fd_owners_wrote(slot, heir.pid);
        fd_owners_wrote(slot, writer.pid);
        close(fd);
        kill(writer.pid, SIGKILL);
        siginfo_t info;
        ck_assert_int_eq(waitid(P_PID, (id_t)writer.pid, &info, WEXITED | WNOWAIT), 0);
        ck_assert_int_eq(closing(writer.pid), CLOSE_KILLED);
        child_end(&writer);
        fd_owners_wrote(slot, heir.pid);
        child_end(&heir);
        ck_assert_int_eq(closing(heir.pid), CLOSE_LAST);
}
END_TEST

START_TEST(another_mount_is_another_file)
{
        struct proc_fds other = {.ino = st.st_ino}, same = other;
        struct proc_view elsewhere = {.list = mount_list_new(makedev(0xfff, 1))};
        struct proc_view here = {.list = mounts};
        proc_fds_add(&other, &elsewhere, getpid(), false);
        ck_assert_uint_eq(other.n, 0);
        proc_fds_add(&same, &here, getpid(), false);
        ck_assert_uint_eq(same.n, 1);
        proc_view_release(&elsewhere);
        mount_list_free(elsewhere.list);
        proc_view_release(&here);
}
END_TEST

static void *hold_on(void *arg)
{
        char b;
        const int *go = arg;
        ssize_t n = read(*go, &b, 1);
        _exit(n ? 1 : 0);
}

/* A process whose first thread has ended, and whose descriptors are those of another. */
static struct child child_without_first_thread(void)
{
        int go[2];
        char state[64] = "";
        ck_assert_int_eq(pipe(go), 0);
        struct child c = {.pid = fork(), .go = go[1]};
        if (!c.pid) {
                static int from;
                pthread_t thread;
                close(go[1]);
                from = go[0];
                if (pthread_create(&thread, NULL, hold_on, &from))
                        _exit(1);
                pthread_exit(NULL);
        }
        close(go[0]);
        snprintf(state, sizeof state, "/proc/%d/fdinfo/%d", (int)c.pid, fd);
        for (int i = 0; i < 10000 && !access(state, F_OK); i++)
                usleep(10000);
        ck_assert_int_eq(access(state, F_OK), -1);
        return c;
}

START_TEST(a_process_holds_it_when_its_first_thread_has_ended)
{
        int second = open(name, O_WRONLY | O_CLOEXEC);
        struct child c = child_without_first_thread();
        struct proc_view view = {.list = mounts};
        struct proc_fds f = {.ino = st.st_ino};
        proc_fds_add(&f, &view, c.pid, false);
        ck_assert_uint_eq(f.n, 2);
        ck_assert(proc_fds_hold(&f, 2, getpid()) && !proc_fds_hold(&f, 3, getpid()));
        proc_view_release(&view);
        close(second);
        close(fd);
        ck_assert_int_eq(closing(getpid()), CLOSE_LEAVES);
        child_end(&c);
        ck_assert_int_eq(closing(getpid()), CLOSE_LAST);
}
END_TEST

/* Of many processes and many descriptors, one view tells of each file. */
START_TEST(one_view_serves_many_files)
{
        enum { FILES = 300 };
        struct proc_view view = {.list = mounts};
        int copy[FILES];
        for (int i = 0; i < FILES; i++)
                ck_assert_int_ge(copy[i] = open("/tmp", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600), 0);
        struct child c = child_new();
        for (int i = 0; i < FILES; i += 50) {
                struct stat one;
                ck_assert_int_eq(fstat(copy[i], &one), 0);
                struct proc_fds f = {.ino = one.st_ino};
                proc_fds_add(&f, &view, getpid(), true);
                ck_assert_uint_eq(f.n, 2);
                ck_assert(proc_fds_hold(&f, 1, c.pid) && !proc_fds_hold(&f, 2, c.pid));
        }
        for (pid_t pid = 0x7f000000; pid < 0x7f000000 + 2 * PROC_FDS_PIDS; pid++) {
                struct proc_fds f = {.ino = st.st_ino};
                proc_fds_add(&f, &view, pid, false);
                ck_assert_uint_eq(f.n, 0);
        }
        struct proc_fds again = {.ino = st.st_ino};
        proc_fds_add(&again, &view, getpid(), true);
        ck_assert_uint_eq(again.n, 2);
        child_end(&c);
        for (int i = 0; i < FILES; i++)
                close(copy[i]);
        proc_view_release(&view);
}
END_TEST

int main(void)
{
        Suite *s = suite_create("fd_owners");
        TCase *t = tcase_create("fd_owners");
        tcase_add_checked_fixture(t, setup, teardown);
        tcase_add_test(t, the_last_descriptor_tells);
        tcase_add_test(t, a_child_that_never_wrote_holds_it);
        tcase_add_test(t, who_was_found_once_is_remembered);
        tcase_add_test(t, a_child_of_two_opens_leaves_both);
        tcase_add_test(t, what_a_killed_writer_left_is_not_a_bystanders);
        tcase_add_test(t, the_kill_of_one_that_wrote_nothing_is_a_close_while_another_has_the_file);
        tcase_add_test(t, what_is_mapped_after_a_kill_is_of_who_lives);
        tcase_add_test(t, what_is_mapped_after_a_kill_is_not_of_who_has_closed_the_file);
        tcase_add_test(t, a_close_that_was_confirmed_after_a_kill_stands);
        tcase_add_test(t, the_kill_of_one_that_never_wrote_is_a_close);
        tcase_add_test(t, a_writer_that_is_still_to_close_decides);
        tcase_add_test(t, a_writer_that_closed_a_copy_is_still_to_close);
        tcase_add_test(t, a_writer_that_holds_another_open_is_not_awaited);
        tcase_add_test(t, an_open_during_the_look_is_looked_at_again);
        tcase_add_test(t, a_file_that_others_only_inherited_is_closed_by_its_writers);
        tcase_add_test(t, what_was_published_is_no_work_of_who_wrote_it);
        tcase_add_test(t, the_opener_is_never_forgotten);
        tcase_add_test(t, who_goes_on_writing_after_a_kill_publishes);
        tcase_add_test(t, another_mount_is_another_file);
        tcase_add_test(t, a_process_holds_it_when_its_first_thread_has_ended);
        tcase_add_test(t, one_view_serves_many_files);
        suite_add_tcase(s, t);
        return unit_main(s);
}
