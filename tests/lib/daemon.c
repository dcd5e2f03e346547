/* SPDX-License-Identifier: Apache-2.0 */
/* drive_daemon.c: the daemons of the hosts; see drive.h. They die with the driver. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "drive.h"

#include "base/banned.h"

enum { FUSE_MAGIC = 0x65735546, TRIES = 5, WAIT_MS = 60000, MOST_ARGS = 32 };

static pid_t pids[HOSTS];
static char mounts[HOSTS][300];

static void run_daemon(int host, char **command)
{
        char *args[MOST_ARGS + 2], log[320];
        int n = 0;

        for (; command[n] && n < MOST_ARGS; n++)
                args[n] = command[n];
        args[n++] = mounts[host];
        args[n] = NULL;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        snprintf(log, sizeof log, "%s.log", mounts[host]);
        int fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0644);
        dup2(fd, 1);
        dup2(fd, 2);
        execvp(args[0], args);
        _exit(127);
}

static bool is_mounted(int host)
{
        struct statfs fs;

        return !statfs(mounts[host], &fs) && (unsigned long)fs.f_type == FUSE_MAGIC;
}

static bool comes_up(int host)
{
        for (int ms = 0; ms < WAIT_MS; ms += 10) {
                if (is_mounted(host))
                        return true;
                if (waitpid(pids[host], NULL, WNOHANG) == pids[host])
                        return false;
                usleep(10000);
        }
        kill(pids[host], SIGKILL);
        waitpid(pids[host], NULL, 0);
        return false;
}

bool daemon_start(int host, char **command, const char *dir)
{
        snprintf(mounts[host], sizeof mounts[host], "%s", dir);
        for (int i = 0; i < TRIES; i++) { /* a store that often fails may refuse a mount */
                pids[host] = fork();
                if (!pids[host])
                        run_daemon(host, command);
                if (pids[host] > 0 && comes_up(host))
                        return true;
        }
        pids[host] = 0;
        fprintf(stderr, "host %d: the bucket cannot be mounted at %s\n", host, mounts[host]);
        return false;
}

void daemon_kill(int host)
{
        if (pids[host] <= 0)
                return;
        kill(pids[host], SIGKILL);
        waitpid(pids[host], NULL, 0);
        pids[host] = 0;
}

bool daemons_end(void)
{
        bool good = true;
        int status;

        for (int host = 0; host < HOSTS; host++) {
                if (pids[host] <= 0)
                        continue;
                kill(pids[host], SIGTERM);
                if (waitpid(pids[host], &status, 0) == pids[host] && !status)
                        continue;
                fprintf(stderr, "host %d: the daemon ended with status 0x%x\n", host, status);
                good = false;
        }
        return good;
}
