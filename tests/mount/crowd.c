/* SPDX-License-Identifier: Apache-2.0 */
/* crowd.c: random families of processes that share an open file.
 *
 *      crowd FILE SEED clean|killed
 *
 * A process opens FILE, and its descendants write records of 64 bytes to it, duplicate its
 * descriptor, close copies, fork, execute other programs, end and are killed, all at random. Prints
 * how many records were written.
 *
 * clean     those that wrote end well, only ones that never did are killed: all records are to be
 *           published when all have ended
 * killed    as long as the others live the one that opened the file dies by a signal, and none but
 *           those that never wrote close it after that: nothing is to be published */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/banned.h"

enum { RECORD = 64, STEPS = 12, DEPTH = 3, CHILDREN = 24 };

/* What all of them share. */
struct shared {
        atomic_uint records, processes, failed;
};

static struct shared *shared;
static bool kills;
static unsigned seed;
static int fd = -1;
static bool wrote;

static unsigned below(unsigned n)
{
        seed = seed * 1103515245 + 12345; /* ISO C's rand() */
        return (seed >> 16) % n;
}

static void must(bool good)
{
        if (!good)
                atomic_fetch_add(&shared->failed, 1);
}

static void put(int to)
{
        char record[RECORD];
        memset(record, 'r', sizeof record - 1);
        record[RECORD - 1] = '\n';
        must(write(to, record, sizeof record) == RECORD);
        atomic_fetch_add(&shared->records, 1);
        wrote = true;
}

static void nap(void)
{
        usleep(below(3000));
}

static void execute(void)
{
        execl("/bin/true", "true", (char *)NULL);
        _exit(1);
}

/* A process that only inherited the file, and ends in any way. */
static void bystand(void)
{
        nap();
        switch (below(4)) {
        case 0:
                kill(getpid(), SIGKILL);
                break;
        case 1:
                execute();
                break;
        case 2:
                close(dup(fd));
                close(fd);
                break;
        default:
                break;
        }
        _exit(0);
}

static void write_and_fork(int depth);

static void child(int depth)
{
        if (atomic_fetch_add(&shared->processes, 1) >= CHILDREN)
                return;
        unsigned its = seed ^ (below(1U << 15) << 16);
        bool writes = depth < DEPTH && below(2);
        pid_t pid = fork();
        must(pid >= 0);
        if (pid)
                return;
        seed = its;
        wrote = false;
        if (!writes || kills)
                bystand();
        write_and_fork(depth + 1);
        if (below(3) == 0)
                must(!close(fd));
        else if (below(3) == 0)
                execute();
        _exit(0);
}

static void write_and_fork(int depth)
{
        for (int i = 0; i < STEPS; i++) {
                switch (below(6)) {
                case 0:
                        child(depth);
                        break;
                case 1:
                        must(!close(dup(fd)));
                        break;
                case 2:
                        nap();
                        break;
                case 3: {
                        int copy = dup(fd);
                        put(copy);
                        must(!close(copy));
                        break;
                }
                default:
                        put(fd);
                        break;
                }
        }
}

/* Orphans come to the caller, which so knows when all have ended. */
static void wait_for_all(void)
{
        while (wait(NULL) > 0 || errno == EINTR)
                ;
}

int main(int argc, char **argv)
{
        if (argc != 4)
                return 2;
        kills = !strcmp(argv[3], "killed");
        seed = (unsigned)strtoul(argv[2], NULL, 10);
        shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                      0);
        if (shared == MAP_FAILED || prctl(PR_SET_CHILD_SUBREAPER, 1))
                return 1;
        if (!fork()) {
                fd = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644);
                must(fd >= 0);
                put(fd);
                write_and_fork(0);
                if (kills)
                        kill(getpid(), SIGKILL);
                if (below(2))
                        must(!close(fd));
                _exit(0);
        }
        wait_for_all();
        printf("%u\n", atomic_load(&shared->records) * RECORD);
        return atomic_load(&shared->failed) ? 1 : 0;
}
