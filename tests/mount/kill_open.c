/* SPDX-License-Identifier: Apache-2.0 */
/* kill_open.c: writers that are killed while they open a new file.
 *
 *      kill_open DIR COUNT
 *
 * COUNT processes, of which some run at once, each create a file in DIR and write nothing; each is
 * killed at a random moment, about half of them before their open returned. Prints how many those
 * were. */
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/banned.h"

enum { AT_ONCE = 6, LEAST_NS = 1000000, MOST_NS = 50000000 };

/* What they share. */
struct writer {
        atomic_bool opens, opened;
        long within_ns; /* that it is killed in: it follows how long an open takes */
};
struct crowd {
        atomic_uint within;
        struct writer writers[AT_ONCE];
};
static struct crowd *shared;

static int64_t now_ns(void)
{
        struct timespec ts;
        clock_gettime(CLOCK_MONOTONIC, &ts);
        return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static void create(struct writer *w, const char *path)
{
        w->opens = true;
        if (open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644) >= 0)
                w->opened = true;
        for (;;)
                pause();
}

static void kill_one(struct writer *w, const char *dir, int number, unsigned *seed)
{
        char path[4096];

        w->opens = w->opened = false;
        snprintf(path, sizeof path, "%s/%d", dir, number);
        pid_t pid = fork();
        if (pid < 0)
                abort();
        if (!pid)
                create(w, path);
        while (!w->opens)
                ;
        int64_t end = now_ns() + rand_r(seed) % w->within_ns;
        while (now_ns() < end) /* a sleep would leave the processor, and miss most moments */
                ;
        bool early = !w->opened;
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        shared->within += early;
        w->within_ns += early ? w->within_ns / 8 : -w->within_ns / 8;
        if (w->within_ns < LEAST_NS || w->within_ns > MOST_NS)
                w->within_ns = early ? MOST_NS : LEAST_NS;
}

int main(int argc, char **argv)
{
        pid_t pids[AT_ONCE];
        int count = argc == 3 ? (int)strtol(argv[2], NULL, 10) : 0;

        if (count <= 0)
                return 2;
        void *p = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                       0);
        if (p == MAP_FAILED)
                return 1;
        shared = p;
        for (int i = 0; i < AT_ONCE; i++) {
                pids[i] = fork();
                if (pids[i])
                        continue;
                unsigned seed = (unsigned)i + 1;
                shared->writers[i].within_ns = LEAST_NS;
                for (int number = i; number < count; number += AT_ONCE)
                        kill_one(&shared->writers[i], argv[1], number, &seed);
                _exit(0);
        }
        for (int i = 0; i < AT_ONCE; i++) {
                int status;
                if (pids[i] < 0 || waitpid(pids[i], &status, 0) != pids[i] || status)
                        return 1;
        }
        printf("%u\n", shared->within);
        return 0;
}
