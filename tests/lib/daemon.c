/* SPDX-License-Identifier: Apache-2.0 */
/* daemon.c: see daemon.h. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon.h"

#include "base/banned.h"

enum { FUSE_MAGIC = 0x65735546, TRIES = 5, WAIT_MS = 60000, MOST_ARGS = 32 };

static void run_daemon(const struct daemon *d, char *const *command)
{
        char *args[MOST_ARGS + 2], mount[sizeof d->mount], log[sizeof d->mount + 8];
        int n = 0;

        for (; command[n] && n < MOST_ARGS; n++)
                args[n] = command[n];
        snprintf(mount, sizeof mount, "%s", d->mount);
        args[n++] = mount;
        args[n] = NULL;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        snprintf(log, sizeof log, "%s.log", mount);
        int fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0644);
        dup2(fd, 1);
        dup2(fd, 2);
        close(fd);
        execvp(args[0], args);
        _exit(127);
}

static bool is_mounted(const struct daemon *d)
{
        struct statfs fs;

        return !statfs(d->mount, &fs) && (unsigned long)fs.f_type == FUSE_MAGIC;
}

static bool comes_up(struct daemon *d)
{
        for (int ms = 0; ms < WAIT_MS; ms += 10) {
                if (is_mounted(d))
                        return true;
                if (waitpid(d->pid, NULL, WNOHANG) == d->pid)
                        return false;
                usleep(10000);
        }
        kill(d->pid, SIGKILL);
        waitpid(d->pid, NULL, 0);
        return false;
}

bool daemon_start(struct daemon *d, char *const *command, const char *dir)
{
        snprintf(d->mount, sizeof d->mount, "%s", dir);
        for (int i = 0; i < TRIES; i++) { /* a store that often fails may refuse a mount */
                d->pid = fork();
                if (!d->pid)
                        run_daemon(d, command);
                if (d->pid > 0 && comes_up(d))
                        return true;
        }
        d->pid = 0;
        fprintf(stderr, "the bucket cannot be mounted at %s\n", d->mount);
        return false;
}

void daemon_kill(struct daemon *d)
{
        if (d->pid <= 0)
                return;
        kill(d->pid, SIGKILL);
        waitpid(d->pid, NULL, 0);
        d->pid = 0;
}

bool daemon_end(struct daemon *d)
{
        int status;

        if (d->pid <= 0)
                return true;
        kill(d->pid, SIGTERM);
        bool good = waitpid(d->pid, &status, 0) == d->pid && !status;
        if (!good)
                fprintf(stderr, "%s: the daemon ended with status 0x%x\n", d->mount, status);
        d->pid = 0;
        return good;
}
