/* SPDX-License-Identifier: Apache-2.0 */
/* procfd.c: see procfd.h. */
#include "mount/procfd.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"

#include "base/banned.h"

static void closedirp(DIR **d)
{
        if (*d)
                closedir(*d);
}

/* The first bytes of a file as a string; false when it cannot be read. */
static bool read_text(int dir, const char *name, char *text, size_t n)
{
        CLEANUP(closep) int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
        ssize_t k = fd < 0 ? -1 : read(fd, text, n - 1);
        text[k > 0 ? k : 0] = 0;
        return k > 0;
}

int newest_process(void)
{
        char text[32];
        return read_text(AT_FDCWD, "/proc/sys/kernel/ns_last_pid", text, sizeof text)
                       ? (int)strtol(text, NULL, 10)
                       : -1;
}

/* Whether the mount `id`, as process `pid` numbers them, is of the device: two mounts of one bucket
 * have the same inode numbers. A mount that is not in the list was taken out of it: it may be. */
static bool mount_matches(pid_t pid, unsigned long id, dev_t dev)
{
        char path[64];
        snprintf(path, sizeof path, "/proc/%d/mountinfo", (int)pid);
        CLEANUP(fclosep) FILE *f = fopen(path, "re");
        CLEANUP(freep) char *line = NULL;
        size_t room = 0;

        while (f && getline(&line, &room, f) > 0) {
                unsigned long its;
                unsigned parent, maj, min;
                if (sscanf(line, "%lu %u %u:%u ", &its, &parent, &maj, &min) == 4 && its == id)
                        return makedev(maj, min) == dev;
        }
        return true;
}

/* Whether a text of fdinfo is of that inode, open for writing. */
static bool fdinfo_matches(const struct procfds *f, pid_t pid, const char *text)
{
        const char *flags = strstr(text, "flags:");
        const char *number = strstr(text, "ino:");
        const char *mount = strstr(text, "mnt_id:");
        if (!flags || !number || strtoull(number + 4, NULL, 10) != (unsigned long long)f->ino ||
            (strtoul(flags + 6, NULL, 8) & O_ACCMODE) == O_RDONLY)
                return false;
        return !f->dev || !mount || mount_matches(pid, strtoul(mount + 7, NULL, 10), f->dev);
}

static void add_fds(struct procfds *f, pid_t pid)
{
        char path[64], text[512];
        snprintf(path, sizeof path, "/proc/%d/fdinfo", (int)pid);
        CLEANUP(closedirp) DIR *d = opendir(path);
        struct dirent *e;

        while (d && f->n < PROCFDS_MAX && (e = readdir(d))) {
                if (e->d_name[0] == '.' || !read_text(dirfd(d), e->d_name, text, sizeof text) ||
                    !fdinfo_matches(f, pid, text))
                        continue;
                f->v[f->n].pid = pid;
                f->v[f->n++].fd = (int)strtol(e->d_name, NULL, 10);
        }
}

/* Adds the process to those to be looked at, once. */
static void add_pid(struct procfds *f, pid_t pid)
{
        for (size_t i = 0; i < f->npids; i++)
                if (f->pids[i] == pid)
                        return;
        if (f->npids < PROCFDS_PIDS)
                f->pids[f->npids++] = pid;
}

static void add_children(struct procfds *f, pid_t pid)
{
        char path[64], text[4096];
        snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
        CLEANUP(closedirp) DIR *d = opendir(path);
        struct dirent *e;

        while (d && (e = readdir(d))) {
                snprintf(path, sizeof path, "%.20s/children", e->d_name);
                if (e->d_name[0] == '.' || !read_text(dirfd(d), path, text, sizeof text))
                        continue;
                char *end;
                for (const char *p = text; *p; p = end) {
                        long child = strtol(p, &end, 10);
                        if (end == p)
                                break;
                        if (*end) /* else the text may have been cut in it */
                                add_pid(f, (pid_t)child);
                }
        }
}

void procfds_add(struct procfds *f, pid_t pid, bool descendants)
{
        size_t i = f->npids;
        add_pid(f, pid);
        for (; i < f->npids; i++) {
                add_fds(f, f->pids[i]);
                if (descendants)
                        add_children(f, f->pids[i]);
        }
}

static bool is_same_open(const struct procfds *f, size_t a, size_t b)
{
        return syscall(SYS_kcmp, f->v[a].pid, f->v[b].pid, KCMP_FILE, (unsigned long)f->v[a].fd,
                       (unsigned long)f->v[b].fd) <= 0; /* an error: not told apart */
}

size_t procfds_distinct(const struct procfds *f)
{
        size_t n = 0;
        for (size_t i = 0; i < f->n; i++) {
                size_t k = 0;
                while (k < i && !is_same_open(f, i, k))
                        k++;
                n += k == i;
        }
        return n;
}
