/* SPDX-License-Identifier: Apache-2.0 */
/* ways.c: writes a file and lets go of it in one of the ways in which processes do.
 *
 *      ways WAY FILE [HELPER]
 *
 * However that is, 3000 bytes are written, all of them 'x', and it returns 0 when each call did.
 * HELPER is a program that ends at once: this one, with no argument. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/banned.h"

enum { ALL = 3000, HALF = ALL / 2 };

extern char **environ;
static const char *path;
static char *self;
static int fd;

static void must(bool good, const char *what)
{
        if (good)
                return;
        printf("%s: %s\n", what, strerror(errno));
        exit(1);
}

static void open_file(int more)
{
        fd = open(path, O_WRONLY | O_CREAT | O_APPEND | more, 0644);
        must(fd >= 0, "open");
}

static void put_to(int to, size_t n)
{
        char bytes[ALL];
        memset(bytes, 'x', n);
        must(write(to, bytes, n) == (ssize_t)n, "write");
}

static void put(size_t n)
{
        put_to(fd, n);
}

static void end_of(pid_t pid)
{
        int status = -1;
        must(pid > 0 && waitpid(pid, &status, 0) == pid && !status, "a child");
}

static void execute(void)
{
        execv(self, (char *[]){self, NULL});
        _exit(1);
}

/* --- ways --- */

static void by_exec(void)
{
        open_file(O_CLOEXEC);
        put(ALL);
        execute();
}

static void *execute_in_thread(void *arg)
{
        execute();
        return arg;
}

static void by_exec_of_a_thread(void)
{
        pthread_t thread;
        open_file(O_CLOEXEC);
        put(ALL);
        must(!pthread_create(&thread, NULL, execute_in_thread, NULL), "pthread_create");
        pthread_join(thread, NULL);
        exit(1);
}

/* The program that is executed writes the rest. */
static void by_exec_that_keeps_it(void)
{
        char number[16];
        open_file(0);
        put(HALF);
        snprintf(number, sizeof number, "%d", fd);
        execv(self, (char *[]){self, "rest", number, NULL});
        exit(1);
}

static void beside_fork_and_exec(void)
{
        open_file(O_CLOEXEC);
        put(HALF);
        pid_t pid = fork();
        if (!pid)
                execute();
        put(HALF);
        end_of(pid);
        must(!close(fd), "close");
}

static void beside_vfork_and_exec(void)
{
        open_file(O_CLOEXEC);
        put(HALF);
        pid_t pid = vfork(); /* NOLINT: that is what is tried */
        if (!pid)
                execute();
        put(HALF);
        end_of(pid);
        must(!close(fd), "close");
}

static void beside_spawn(void)
{
        pid_t pid = -1;
        open_file(O_CLOEXEC);
        put(HALF);
        must(!posix_spawn(&pid, self, NULL, NULL, (char *[]){self, NULL}, environ), "posix_spawn");
        put(HALF);
        end_of(pid);
        must(!close(fd), "close");
}

static void by_spawn_as_its_output(void)
{
        posix_spawn_file_actions_t actions;
        pid_t pid = -1;
        open_file(O_CLOEXEC);
        put(HALF);
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_adddup2(&actions, fd, 1);
        must(!posix_spawn(&pid, self, &actions, NULL, (char *[]){self, "rest", "1", NULL}, environ),
             "posix_spawn");
        must(!close(fd), "close");
        end_of(pid);
        posix_spawn_file_actions_destroy(&actions);
}

static void beside_system(void)
{
        open_file(O_CLOEXEC);
        put(HALF);
        must(!system("true"), "system"); /* NOLINT: that is what is tried */
        put(HALF);
        must(!close(fd), "close");
}

/* Of two opens, whose copies a child has. */
static void two_opens(bool first_goes)
{
        open_file(O_CLOEXEC);
        int other = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
        put(HALF / 2);
        put_to(other, HALF / 2);
        pid_t pid = fork();
        if (!pid) {
                if (first_goes)
                        usleep(20000);
                execute();
        }
        if (first_goes)
                must(!close(other), "close");
        put(HALF);
        end_of(pid);
        must(first_goes || !close(other), "close");
        must(!close(fd), "close");
}

static void of_two_opens(void)
{
        two_opens(false);
}

static void of_two_opens_one_closed(void)
{
        two_opens(true);
}

/* Each of them closes a copy of several opens by its exec, at the same time. */
static void of_many_at_once(void)
{
        enum { N = 6 };
        pid_t pids[N];
        int opens[3];

        for (int i = 0; i < 3; i++) {
                open_file(O_CLOEXEC);
                opens[i] = fd;
                put(HALF / 3);
        }
        for (int i = 0; i < N; i++) {
                pids[i] = fork();
                if (!pids[i])
                        execute();
        }
        put(HALF);
        for (int i = 0; i < N; i++)
                end_of(pids[i]);
        for (int i = 0; i < 3; i++)
                must(!close(opens[i]), "close");
}

static void by_dup(void)
{
        open_file(O_CLOEXEC);
        int copy = dup(fd);
        put(HALF);
        must(!close(fd), "close");
        put_to(copy, HALF);
        must(!close(copy), "close");
}

static void by_dup2_over_it(void)
{
        open_file(O_CLOEXEC);
        put(ALL);
        int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
        must(dup2(null, fd) == fd, "dup2");
}

static void by_close_range(void)
{
        open_file(O_CLOEXEC);
        put(ALL);
        must(!close_range((unsigned)fd, (unsigned)fd, 0), "close_range");
}

static void send_it(int to)
{
        char byte = 0, space[CMSG_SPACE(sizeof fd)] = {0};
        struct iovec iov = {&byte, 1};
        struct msghdr msg = {.msg_iov = &iov,
                             .msg_iovlen = 1,
                             .msg_control = space,
                             .msg_controllen = sizeof space};
        struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
        *c = (struct cmsghdr){
                .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof fd)};
        memcpy(CMSG_DATA(c), &fd, sizeof fd);
        must(sendmsg(to, &msg, 0) == 1, "sendmsg");
}

static void receive_it(int from)
{
        char byte, space[CMSG_SPACE(sizeof fd)];
        struct iovec iov = {&byte, 1};
        struct msghdr msg = {.msg_iov = &iov,
                             .msg_iovlen = 1,
                             .msg_control = space,
                             .msg_controllen = sizeof space};
        must(recvmsg(from, &msg, MSG_CMSG_CLOEXEC) == 1, "recvmsg");
        memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof fd);
}

/* Another process, which never opened it, writes the rest and closes. */
static void by_passing_it(void)
{
        int pair[2];
        must(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), "socketpair");
        pid_t pid = fork();
        if (!pid) {
                receive_it(pair[1]);
                put(HALF);
                _exit(close(fd) ? 1 : 0);
        }
        open_file(O_CLOEXEC);
        put(HALF);
        send_it(pair[0]);
        must(!close(fd), "close");
        end_of(pid);
}

/* Its only descriptor is a message that is never read. */
static void by_a_message_that_is_lost(void)
{
        int pair[2];
        must(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), "socketpair");
        open_file(O_CLOEXEC);
        put(ALL);
        send_it(pair[0]);
        must(!close(fd), "close");
        close(pair[0]);
        close(pair[1]);
}

static void by_exit(void)
{
        open_file(O_CLOEXEC);
        put(ALL);
}

static void by_exit_at_once(void)
{
        by_exit();
        _exit(0);
}

static void *exit_in_thread(void *arg)
{
        _exit(0);
        return arg;
}

static void by_exit_of_a_thread(void)
{
        pthread_t thread;
        by_exit();
        must(!pthread_create(&thread, NULL, exit_in_thread, NULL), "pthread_create");
        pthread_join(thread, NULL);
        exit(1);
}

static void by_exit_of_children(void)
{
        open_file(O_CLOEXEC);
        for (int i = 0; i < 10; i++) {
                pid_t pid = fork();
                if (!pid) {
                        put(ALL / 10);
                        _exit(0);
                }
                end_of(pid);
        }
        must(!close(fd), "close");
}

/* A grandchild, whose parents are gone, has it last. */
static void by_exit_of_an_orphan(void)
{
        open_file(O_CLOEXEC);
        put(HALF);
        pid_t parent = getpid(), pid = fork();
        if (pid) {
                must(pid > 0, "fork");
                return;
        }
        for (int i = 0; i < 2000 && getppid() == parent; i++)
                usleep(5000);
        put(HALF);
        _exit(0);
}

static int close_in_clone(void *arg)
{
        (void)arg;
        put(HALF);
        return close(fd) ? 1 : 0;
}

/* A process that shares the descriptors closes for both. */
static void by_a_clone_that_shares_it(void)
{
        enum { STACK = 64 << 10 };
        char *stack = malloc(STACK);
        open_file(O_CLOEXEC);
        put(HALF);
        must(stack != NULL, "malloc");
        end_of(clone(close_in_clone, stack + STACK, CLONE_FILES | SIGCHLD, NULL));
        free(stack);
}

/* The mapping goes with the exec. */
static void by_exec_with_a_mapping(void)
{
        fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
        must(fd >= 0 && !ftruncate(fd, ALL), "ftruncate");
        char *p = mmap(NULL, ALL, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        must(p != MAP_FAILED, "mmap");
        memset(p, 'x', ALL);
        execute();
}

/* A worker that has the file and never wrote is killed when its writer has closed it. */
static void before_the_kill_of_a_worker(void)
{
        open_file(O_CLOEXEC);
        pid_t pid = fork();
        if (!pid) {
                pause();
                _exit(1);
        }
        put(ALL);
        must(!close(fd), "close");
        must(!kill(pid, SIGKILL) && waitpid(pid, NULL, 0) == pid, "kill");
}

static const struct {
        const char *name;
        void (*go)(void);
} ways[] = {
        {"exec", by_exec},
        {"exec_of_a_thread", by_exec_of_a_thread},
        {"exec_that_keeps_it", by_exec_that_keeps_it},
        {"exec_with_a_mapping", by_exec_with_a_mapping},
        {"fork_and_exec", beside_fork_and_exec},
        {"vfork_and_exec", beside_vfork_and_exec},
        {"spawn", beside_spawn},
        {"spawn_as_its_output", by_spawn_as_its_output},
        {"system", beside_system},
        {"two_opens", of_two_opens},
        {"two_opens_one_closed", of_two_opens_one_closed},
        {"many_at_once", of_many_at_once},
        {"dup", by_dup},
        {"dup2_over_it", by_dup2_over_it},
        {"close_range", by_close_range},
        {"passing_it", by_passing_it},
        {"a_message_that_is_lost", by_a_message_that_is_lost},
        {"exit", by_exit},
        {"exit_at_once", by_exit_at_once},
        {"exit_of_a_thread", by_exit_of_a_thread},
        {"exit_of_children", by_exit_of_children},
        {"exit_of_an_orphan", by_exit_of_an_orphan},
        {"a_clone_that_shares_it", by_a_clone_that_shares_it},
        {"kill_of_a_worker", before_the_kill_of_a_worker},
};

int main(int argc, char **argv)
{
        self = "/proc/self/exe";
        if (argc == 1)
                return 0;
        if (argc == 2) { /* their names */
                for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
                        puts(ways[i].name);
                return 0;
        }
        if (!strcmp(argv[1], "rest")) {
                put_to((int)strtol(argv[2], NULL, 10), HALF);
                return 0;
        }
        path = argv[2];
        for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
                if (strcmp(argv[1], ways[i].name))
                        continue;
                ways[i].go();
                return 0;
        }
        return 1;
}
