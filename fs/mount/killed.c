/* SPDX-License-Identifier: Apache-2.0 */
/* killed.c: see killed.h. */
#include "mount/killed.h"

#include <dirent.h>
#include <fcntl.h>
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

bool killed(pid_t pid)
{
        char path[64], line[2048];
        snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
        CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return false;
        ssize_t n = read(fd, line, sizeof line - 1);
        if (n <= 0)
                return false;
        line[n] = 0;
        return stat_line_tells_kill(line);
}

pid_t process_of(pid_t tid)
{
        char path[64], text[512];
        snprintf(path, sizeof path, "/proc/%d/status", (int)tid);
        CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
        if (n <= 0)
                return tid;
        text[n] = 0;
        const char *line = strstr(text, "\nTgid:"); /* a newline in a name is escaped */
        long pid = line ? strtol(line + 6, NULL, 10) : 0;
        return pid > 0 ? (pid_t)pid : tid;
}

/* Whether a text of fdinfo is of that inode, open for writing. */
static bool fdinfo_matches(const char *text, ino_t ino)
{
        const char *flags = strstr(text, "flags:");
        const char *number = strstr(text, "ino:");
        if (!flags || !number || strtoull(number + 4, NULL, 10) != (unsigned long long)ino)
                return false;
        return (strtoul(flags + 6, NULL, 8) & O_ACCMODE) != O_RDONLY;
}

static void closedirp(DIR **d)
{
        if (*d)
                closedir(*d);
}

bool holds_open(pid_t pid, ino_t ino)
{
        char path[64], text[512];
        snprintf(path, sizeof path, "/proc/%d/fdinfo", (int)pid);
        CLEANUP(closedirp) DIR *d = opendir(path);
        struct dirent *e;

        while (d && (e = readdir(d))) {
                CLEANUP(closep) int fd = openat(dirfd(d), e->d_name, O_RDONLY | O_CLOEXEC);
                ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
                if (n <= 0)
                        continue;
                text[n] = 0;
                if (fdinfo_matches(text, ino))
                        return true;
        }
        return false;
}
