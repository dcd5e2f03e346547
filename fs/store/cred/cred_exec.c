/* SPDX-License-Identifier: Apache-2.0 */
/* cred_exec.c: a program that prints credentials: run without a shell, in a process group of its
 * own, for so long and to so many bytes. */
#include "store/cred/cred_int.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "base/cleanup.h"

#include "base/banned.h"

enum { OUTPUT_MAX = 64 << 10, LOOK_MS = 100, KILLED_MS = 1000 };

extern char **environ;

char **cred_split(const char *command)
{
        size_t n = strlen(command);
        /* A word needs a pointer, and there are at most as many as every other byte. */
        char **argv = calloc(1, (n / 2 + 2) * sizeof *argv + n + 2);
        char *to = argv ? (char *)(argv + n / 2 + 2) : NULL, quote = 0;
        size_t argc = 0;

        for (const char *p = command; argv && *p;) {
                while (isspace((unsigned char)*p))
                        p++;
                if (!*p)
                        break;
                argv[argc++] = to;
                for (; *p && (quote || !isspace((unsigned char)*p)); p++) {
                        if (*p == quote)
                                quote = 0;
                        else if (!quote && (*p == '\'' || *p == '"'))
                                quote = *p;
                        else if (*p == '\\' && p[1] &&
                                 (!quote || (quote == '"' && strchr("\"\\", p[1]))))
                                *to++ = *++p;
                        else
                                *to++ = *p;
                }
                *to++ = 0;
        }
        if (quote || !argc) {
                free(argv);
                return NULL;
        }
        return argv;
}

static int64_t clock_ms(void)
{
        struct timespec ts;
        clock_gettime(CLOCK_MONOTONIC, &ts);
        return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* The environment and `more`; one block of pointers. */
static char **environment(char *const more[])
{
        size_t n = 0, m = 0;
        while (environ[n])
                n++;
        while (more && more[m])
                m++;
        char **env = calloc(n + m + 1, sizeof *env);
        if (!env)
                return NULL;
        memcpy(env, environ, n * sizeof *env);
        if (m)
                memcpy(env + n, more, m * sizeof *env);
        return env;
}

/* Starts it with its output into a pipe; *fd is the end to read. */
static int start(char *const argv[], char *const env[], pid_t *pid, int *fd)
{
        int ends[2];
        posix_spawn_file_actions_t files;
        posix_spawnattr_t attr;
        sigset_t none, all;

        if (pipe2(ends, O_CLOEXEC))
                return -errno;
        sigemptyset(&none);
        sigfillset(&all);
        posix_spawn_file_actions_init(&files);
        posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
        posix_spawn_file_actions_adddup2(&files, ends[1], 1);
        posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
        posix_spawnattr_init(&attr);
        posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                                POSIX_SPAWN_SETSIGDEF);
        posix_spawnattr_setpgroup(&attr, 0);
        posix_spawnattr_setsigmask(&attr, &none);
        posix_spawnattr_setsigdefault(&attr, &all);
        CLEANUP(freep) char **full = environment(env);
        int err = full ? posix_spawnp(pid, argv[0], &files, &attr, argv, full) : ENOMEM;
        posix_spawnattr_destroy(&attr);
        posix_spawn_file_actions_destroy(&files);
        close(ends[1]);
        if (err) {
                close(ends[0]);
                return -err;
        }
        *fd = ends[0];
        return 0;
}

/* Until the end of its output: 0, -ETIMEDOUT, -EFBIG or -ECANCELED. */
static int collect(struct cred_ask *a, int fd, int64_t until, struct buf *out)
{
        if (buf_grow(out, OUTPUT_MAX + 1))
                return -ENOMEM;
        for (;;) {
                struct pollfd p = {.fd = fd, .events = POLLIN};
                if (a->stop && __atomic_load_n(a->stop, __ATOMIC_SEQ_CST))
                        return -ECANCELED;
                if (clock_ms() > until)
                        return -ETIMEDOUT;
                if (poll(&p, 1, LOOK_MS) <= 0)
                        continue;
                ssize_t n = read(fd, out->p + out->len, OUTPUT_MAX + 1 - out->len);
                if (n < 0 && errno != EINTR)
                        return -errno;
                if (n == 0)
                        return 0;
                out->len += n > 0 ? (size_t)n : 0;
                out->p[out->len] = 0;
                if (out->len > OUTPUT_MAX)
                        return -EFBIG;
        }
}

/* Whether one that was to be ended runs on. */
static bool runs_on(struct cred_ask *a)
{
        if (a->left && waitpid(a->left, NULL, WNOHANG))
                a->left = 0;
        return a->left;
}

/* It may have left its group. One that has become another user's, as by sudo, cannot be ended, nor
 * one that waits for a disk: nobody waits for it. */
static void stop(struct cred_ask *a, pid_t pid)
{
        int64_t until = clock_ms() + KILLED_MS;

        kill(-pid, SIGKILL);
        kill(pid, SIGKILL);
        a->left = pid;
        while (runs_on(a) && clock_ms() <= until)
                usleep(1000);
}

/* Its exit status, or -1 when it did not end by itself in time: then it is ended. */
static int reap(struct cred_ask *a, pid_t pid, int64_t until, bool at_once)
{
        int status = 0;
        while (!at_once && clock_ms() <= until &&
               !(a->stop && __atomic_load_n(a->stop, __ATOMIC_SEQ_CST))) {
                if (waitpid(pid, &status, WNOHANG) == pid)
                        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
                usleep(1000);
        }
        stop(a, pid);
        return -1;
}

int cred_exec(struct cred_ask *a, const char *what, char *const argv[], char *const env[],
              unsigned timeout_ms, struct buf *out)
{
        CLEANUP(closep) int fd = -1;
        int64_t until = clock_ms() + timeout_ms;
        pid_t pid;

        if (runs_on(a))
                return cred_no(a, -ETIMEDOUT,
                               "%s: process %d, which was to print them before, cannot be ended: "
                               "end it",
                               what, (int)a->left);
        int err = start(argv, env, &pid, &fd);
        if (err)
                return cred_no(a, err == -ENOMEM ? err : -EINVAL,
                               "%s: %s cannot be run: %s; name a program that can", what, argv[0],
                               strerror(-err));
        err = collect(a, fd, until, out);
        int status = reap(a, pid, until, err != 0);
        if (err == -ECANCELED)
                return cred_no(a, err, "stopped");
        if (err == -EFBIG)
                return cred_no(a, -EBADMSG, "%s: %s prints more than 64 KiB: correct the command",
                               what, argv[0]);
        if (err || status < 0)
                return cred_no(a, -ETIMEDOUT,
                               "%s: %s did not end in %u s: run it by hand to see why", what,
                               argv[0], timeout_ms / 1000);
        if (status)
                return cred_no(a, -EACCES,
                               "%s: %s failed with status %d: run it by hand to see why", what,
                               argv[0], status);
        return 0;
}
