/* SPDX-License-Identifier: Apache-2.0 */
/* follow.c: see follow.h. */
#include "mount/follow.h"

#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

#include "base/banned.h"

/* A look costs some 20 us: once in so many requests it does not show. */
enum { SMALL = 32 << 10, LOOK_EVERY = 256, FIELD_STATE = 3, FIELD_PROCESSOR = 39 };

static _Thread_local struct {
        pid_t pid;
        unsigned in_a_row;
        bool moved, wrote;
        cpu_set_t before;
} follow;

/* The core a thread ran on last, proc_pid_stat(5), or -1. */
static int core_of(pid_t pid)
{
        char path[64], line[1024];
        snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
        CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t n = fd < 0 ? -1 : read(fd, line, sizeof line - 1);
        if (n <= 0)
                return -1;
        line[n] = 0;
        const char *p = strrchr(line, ')');
        for (int field = FIELD_STATE; p && field <= FIELD_PROCESSOR; field++)
                p = strchr(p + 1, ' ');
        return p ? (int)strtol(p, NULL, 10) : -1;
}

static void move_to(int core)
{
        cpu_set_t one;

        if (!follow.moved && sched_getaffinity(0, sizeof follow.before, &follow.before))
                return;
        if (core < 0 || core >= CPU_SETSIZE || !CPU_ISSET(core, &follow.before))
                return;
        CPU_ZERO(&one);
        CPU_SET(core, &one);
        follow.moved |= !sched_setaffinity(0, sizeof one, &one);
}

static void stay(void)
{
        if (follow.moved)
                sched_setaffinity(0, sizeof follow.before, &follow.before);
        follow.moved = false;
        follow.in_a_row = 0;
}

void follow_writer(pid_t pid, size_t n)
{
        follow.wrote = true;
        if (n > SMALL || pid != follow.pid) {
                stay();
                follow.pid = pid;
        } else if (++follow.in_a_row % LOOK_EVERY == 0) {
                move_to(core_of(pid));
        }
}

void follow_end(void)
{
        if (!follow.wrote)
                stay();
        follow.wrote = false;
}
