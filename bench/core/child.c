/* SPDX-License-Identifier: Apache-2.0 */
/* child.c: see child.h.
 *
 * A helper is started by posix_spawn() and not by fork(): memory that is registered with a GPU or a
 * network card must not be copied on write beside one. What a child has to do before its program
 * runs, this program does once more, as "become". */
#include "bench/core/child.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "bench/core/clock.h"
#include "bench/core/signal_cleanup.h"

#include "base/banned.h"

enum { START_MS = 10000, END_MS = 5000, NOT_FOUND = 127 };

int child_become_main(int argc, char **argv)
{
        if (argc < 4 || prctl(PR_SET_PDEATHSIG, SIGTERM) ||
            getppid() != (pid_t)strtol(argv[2], NULL, 10)) /* it was gone before the call */
                return NOT_FOUND;
        execvp(argv[3], argv + 3);
        return NOT_FOUND;
}

/* Starts argv with `out` as its standard output. 0 or a negative errno. */
static int spawn(const char *const *argv, int out, pid_t *pid)
{
        enum { ARGS_MAX = 64 };
        const char *args[ARGS_MAX] = {"ckptbench", "become"};
        char self[PATH_MAX], parent[16];
        posix_spawn_file_actions_t files;
        posix_spawnattr_t how;
        sigset_t mask;
        size_t n = 3;

        int err = child_self(self, sizeof self);
        if (err)
                return err;
        snprintf(parent, sizeof parent, "%d", (int)getpid());
        args[2] = parent;
        for (; argv[n - 3] && n < ARGS_MAX - 1; n++)
                args[n] = argv[n - 3];
        if (argv[n - 3])
                return -E2BIG;
        signal_child_mask(&mask);
        posix_spawnattr_init(&how);
        posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGMASK);
        posix_spawnattr_setsigmask(&how, &mask);
        posix_spawn_file_actions_init(&files);
        err = posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
        if (!err)
                err = posix_spawn(pid, self, &files, &how, (char *const *)args, environ);
        posix_spawn_file_actions_destroy(&files);
        posix_spawnattr_destroy(&how);
        return -err;
}

/* Reads up to a newline. 0, -ETIMEDOUT, or -EPIPE when the child ended before. */
static int read_line(int fd, char *line, size_t n)
{
        uint64_t end = clock_ns() + START_MS * 1000000ULL;
        size_t len = 0;

        while (len < n - 1) {
                struct pollfd p = {.fd = fd, .events = POLLIN};
                uint64_t now = clock_ns();
                int ready = now < end ? poll(&p, 1, (int)((end - now) / 1000000) + 1) : 0;
                if (!ready)
                        return -ETIMEDOUT;
                ssize_t got = ready < 0 ? -1 : read(fd, line + len, 1);
                if (got < 0 && errno == EINTR)
                        continue;
                if (got <= 0)
                        return -EPIPE;
                if (line[len] == '\n')
                        break;
                len++;
        }
        line[len] = 0;
        return 0;
}

int child_start(struct child *c, const char *const *argv, char *line, size_t nline, char *why,
                size_t nwhy)
{
        int ends[2];

        *c = (struct child){.out = -1};
        if (pipe2(ends, O_CLOEXEC)) {
                snprintf(why, nwhy, "pipe: %s: close some files", strerror(errno));
                return -errno;
        }
        c->out = ends[0];
        int err = spawn(argv, ends[1], &c->pid);
        close(ends[1]);
        if (!err)
                err = cleanup_add_child(c->pid);
        if (!err)
                err = read_line(c->out, line, nline);
        if (!err)
                return 0;
        snprintf(why, nwhy, "%s did not start (%s): see its message, or put it on PATH", argv[0],
                 err == -EPIPE ? "it ended" : strerror(-err));
        child_stop(c);
        return err;
}

void child_stop(struct child *c)
{
        if (c->pid > 0) {
                uint64_t end = clock_ns() + END_MS * 1000000ULL;
                kill(c->pid, SIGTERM);
                while (waitpid(c->pid, NULL, WNOHANG) == 0) {
                        if (clock_ns() > end)
                                kill(c->pid, SIGKILL);
                        clock_sleep_ns(2 * 1000 * 1000);
                }
                cleanup_drop_child(c->pid);
        }
        if (c->out >= 0)
                close(c->out);
        *c = (struct child){.out = -1};
}

void child_end(struct child *c)
{
        uint64_t end = clock_ns() + END_MS * 1000000ULL;

        while (c->pid > 0 && clock_ns() < end) {
                if (waitpid(c->pid, NULL, WNOHANG)) {
                        cleanup_drop_child(c->pid);
                        c->pid = 0;
                } else {
                        clock_sleep_ns(2 * 1000 * 1000);
                }
        }
        child_stop(c);
}

int child_self(char *out, size_t n)
{
        ssize_t len = readlink("/proc/self/exe", out, n - 1);
        if (len < 0)
                return -errno;
        out[len] = 0;
        return 0;
}
