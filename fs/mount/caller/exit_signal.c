/* SPDX-License-Identifier: Apache-2.0 */
/* exit_signal.c: see exit_signal.h. */
#include "mount/caller/exit_signal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#include "base/banned.h"

enum { PF_EXITING_BIT = 0x4, FIELD_FLAGS = 9, FIELD_EXIT_CODE = 52 };

bool stat_line_tells_kill(const char *line)
{
        unsigned long flags = 0, code = 0;
        const char *p = strrchr(line, ')'); /* the name before it may hold anything */
        if (!p)
                return false;
        p++;
        for (int field = 3; field <= FIELD_EXIT_CODE; field++) {
                while (*p == ' ')
                        p++;
                if (!*p || *p == '\n')
                        return false;
                if (field == FIELD_FLAGS)
                        flags = strtoul(p, NULL, 10);
                if (field == FIELD_EXIT_CODE)
                        code = strtoul(p, NULL, 10);
                while (*p && *p != ' ' && *p != '\n')
                        p++;
        }
        return (flags & PF_EXITING_BIT) && (code & 0x7f);
}

/* The beginning of a file of /proc as a string: false when it cannot be read. */
static bool read_proc(pid_t tid, const char *name, char *text, size_t n)
{
        char path[64];
        snprintf(path, sizeof path, "/proc/%d/%s", (int)tid, name);
        CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t k = fd < 0 ? -1 : read(fd, text, n - 1);
        text[k > 0 ? k : 0] = 0;
        return k > 0;
}

/* A thread that ends gives its memory back before it closes its files, and one without memory is in
 * no exec: `stat`, which waits for the end of one, may be read then and not before. */
bool killed(pid_t tid)
{
        char line[2048];

        return read_proc(tid, "statm", line, sizeof line) && !strncmp(line, "0 ", 2) &&
               read_proc(tid, "stat", line, sizeof line) && stat_line_tells_kill(line);
}

static uint64_t bit(int signo)
{
        return (uint64_t)1 << (signo - 1);
}

/* A number of a line of `status`, of the base; 0 where there is none. */
static uint64_t field_of(const char *text, const char *name, int base)
{
        const char *line = strstr(text, name);
        return line ? strtoull(line + strlen(name), NULL, base) : 0;
}

bool status_tells_end(const char *text)
{
        uint64_t pending = field_of(text, "\nSigPnd:", 16) | field_of(text, "\nShdPnd:", 16);
        uint64_t spared = field_of(text, "\nSigBlk:", 16) | field_of(text, "\nSigIgn:", 16) |
                          field_of(text, "\nSigCgt:", 16) | bit(SIGCHLD) | bit(SIGCONT) |
                          bit(SIGSTOP) | bit(SIGTSTP) | bit(SIGTTIN) | bit(SIGTTOU) | bit(SIGURG) |
                          bit(SIGWINCH);

        if (field_of(text, "\nTracerPid:", 10))
                spared = UINT64_MAX;
        return pending & bit(SIGKILL) || pending & ~spared;
}

/* The masks come after the groups, which may be many. */
bool is_dying(pid_t tid)
{
        char text[16384];
        return tid > 0 && read_proc(tid, "status", text, sizeof text) && status_tells_end(text);
}

bool is_gone(pid_t pid)
{
        return pid > 0 && kill(pid, 0) && errno == ESRCH;
}

bool is_ended(pid_t pid)
{
        return is_gone(pid) || (pid > 0 && (is_dying(pid) || killed(pid)));
}

/* What is known of threads, to be checked before it is believed: the thread above, its process
 * below. */
enum { GUESSES = 256 };
static _Atomic uint64_t guesses[GUESSES];

static bool is_thread_of(pid_t pid, pid_t tid)
{
        return !tgkill(pid, tid, 0) || errno == EPERM;
}

static pid_t read_process(pid_t tid)
{
        char text[512];

        if (!read_proc(tid, "status", text, sizeof text))
                return tid;
        const char *line = strstr(text, "\nTgid:"); /* a newline in a name is escaped */
        long pid = line ? strtol(line + 6, NULL, 10) : 0;
        return pid > 0 ? (pid_t)pid : tid;
}

pid_t process_of(pid_t tid)
{
        if (tid <= 0)
                return tid;
        _Atomic uint64_t *slot = &guesses[(unsigned)tid % GUESSES];
        uint64_t guess = atomic_load_explicit(slot, memory_order_relaxed);
        pid_t pid = (pid_t)(guess & UINT32_MAX);
        if ((pid_t)(guess >> 32) == tid && is_thread_of(pid, tid))
                return pid;
        pid = is_thread_of(tid, tid) ? tid : read_process(tid);
        atomic_store_explicit(slot, (uint64_t)tid << 32 | (uint32_t)pid, memory_order_relaxed);
        return pid;
}
