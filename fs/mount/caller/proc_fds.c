/* SPDX-License-Identifier: Apache-2.0 */
/* proc_fds.c: see proc_fds.h. */
#include "mount/caller/proc_fds.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/grow.h"

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

static pthread_once_t newest_once = PTHREAD_ONCE_INIT;
static int newest_fd;

static void open_newest(void)
{
        newest_fd = open("/proc/sys/kernel/ns_last_pid", O_RDONLY | O_CLOEXEC);
}

int newest_process(void)
{
        char text[32];

        pthread_once(&newest_once, open_newest);
        ssize_t n = newest_fd < 0 ? -1 : pread(newest_fd, text, sizeof text - 1, 0);
        if (n <= 0)
                return -1;
        text[n] = 0;
        return (int)strtol(text, NULL, 10);
}

/* --- a view --- */

void proc_view_release(struct proc_view *view)
{
        free(view->fds);
        free(view->kin);
        *view = (struct proc_view){.list = view->list};
}

enum { ROOM = 64 }; /* at first; what finds no memory stays unseen */

static struct proc_view_pid *view_pid(struct proc_view *view, pid_t pid)
{
        for (size_t i = 0; i < view->npids; i++)
                if (view->pids[i].pid == pid)
                        return &view->pids[i];
        if (view->npids == PROC_FDS_PIDS)
                proc_view_release(view);
        view->pids[view->npids] = (struct proc_view_pid){.pid = pid};
        return &view->pids[view->npids++];
}

/* `dir` is /proc/PID/task/TID/fdinfo. */
static void see_fd(struct proc_view *view, pid_t pid, pid_t tid, int dir, const char *name)
{
        char text[512];

        if (!read_text(dir, name, text, sizeof text))
                return;
        const char *flags = strstr(text, "flags:");
        const char *mount = strstr(text, "mnt_id:");
        const char *number = strstr(text, "ino:");
        if (!flags || !mount || !number || (strtoul(flags + 6, NULL, 8) & O_ACCMODE) == O_RDONLY ||
            GROW(view->fds, view->nfds, view->maxfds, ROOM))
                return;
        view->fds[view->nfds++] = (struct proc_view_fd){.pid = pid,
                                                        .tid = tid,
                                                        .fd = (int)strtol(name, NULL, 10),
                                                        .mount = strtoul(mount + 7, NULL, 10),
                                                        .ino = strtoull(number + 4, NULL, 10)};
}

/* The descriptors of a thread, which are those of its process: false when it has none, as one that
 * has ended. */
static bool see_thread(struct proc_view *view, pid_t pid, pid_t tid)
{
        char path[64];
        snprintf(path, sizeof path, "/proc/%d/task/%d/fdinfo", (int)pid, (int)tid);
        CLEANUP(closep) int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        _Alignas(struct dirent64) char text[8192];
        bool any = false;
        ssize_t n;

        while (dir >= 0 && (n = getdents64(dir, text, sizeof text)) > 0) {
                const struct dirent64 *e;
                for (ssize_t at = 0; at < n; at += e->d_reclen) {
                        e = (const struct dirent64 *)(const void *)(text + at);
                        if (e->d_name[0] == '.')
                                continue;
                        see_fd(view, pid, tid, dir, e->d_name);
                        any = true;
                }
        }
        return any;
}

/* The first thread of a process may end before the others (pthread_exit() in main()). */
static void see_fds(struct proc_view *view, pid_t pid)
{
        if (see_thread(view, pid, pid))
                return;
        char path[64];
        snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
        CLEANUP(closedirp) DIR *d = opendir(path);
        const struct dirent *e;

        while (d && (e = readdir(d))) {
                pid_t tid = (pid_t)strtol(e->d_name, NULL, 10); /* 0 of the dots */
                if (tid && tid != pid && see_thread(view, pid, tid))
                        return;
        }
}

/* `text` is the beginning of /proc/PID/task/TID/children. */
static void see_children(struct proc_view *view, pid_t pid, const char *text)
{
        char *end;

        for (const char *p = text; *p; p = end) {
                long child = strtol(p, &end, 10);
                if (end == p || !*end) /* else the text may have been cut in it */
                        return;
                if (GROW(view->kin, view->nkin, view->maxkin, ROOM))
                        return;
                view->kin[view->nkin++] = (struct proc_view_kin){.pid = pid, .child = (pid_t)child};
        }
}

static void see_kin(struct proc_view *view, pid_t pid)
{
        char path[64], text[4096];
        snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
        CLEANUP(closedirp) DIR *d = opendir(path);
        struct dirent *e;

        while (d && (e = readdir(d))) {
                snprintf(path, sizeof path, "%.20s/children", e->d_name);
                if (e->d_name[0] != '.' && read_text(dirfd(d), path, text, sizeof text))
                        see_children(view, pid, text);
        }
}

/* --- a file in it --- */

/* Adds the process to those to be looked at, once. */
static void add_pid(struct proc_fds *f, pid_t pid)
{
        for (size_t i = 0; i < f->npids; i++)
                if (f->pids[i] == pid)
                        return;
        if (f->npids < PROC_FDS_PIDS)
                f->pids[f->npids++] = pid;
}

/* Whether the mount is that of the files that matter; asked once for each mount, and only of files
 * that have the number: pipes and sockets have mounts that are in no list. */
static bool mount_matches(struct proc_view *view, pid_t pid, unsigned long id)
{
        if (!view->list)
                return true;
        for (size_t i = 0; i < view->nmounts; i++)
                if (view->mounts[i].id == id)
                        return view->mounts[i].matches;
        bool matches = mount_list_has(view->list, pid, id);
        if (view->nmounts < PROC_VIEW_MOUNTS)
                view->mounts[view->nmounts++] =
                        (struct proc_view_mount){.id = id, .matches = matches};
        return matches;
}

static void add_fds(struct proc_fds *f, struct proc_view *view, pid_t pid)
{
        struct proc_view_pid *seen = view_pid(view, pid);

        if (!seen->has_fds)
                see_fds(view, pid);
        seen->has_fds = true;
        for (size_t i = 0; i < view->nfds && f->n < PROC_FDS_MAX; i++) {
                const struct proc_view_fd *fd = &view->fds[i];
                if (fd->pid != pid || fd->ino != f->ino || !mount_matches(view, pid, fd->mount))
                        continue;
                f->v[f->n++] = (struct proc_fds_one){.pid = pid, .tid = fd->tid, .fd = fd->fd};
        }
}

static void add_children(struct proc_fds *f, struct proc_view *view, pid_t pid)
{
        struct proc_view_pid *seen = view_pid(view, pid);

        if (!seen->has_kin)
                see_kin(view, pid);
        seen->has_kin = true;
        for (size_t i = 0; i < view->nkin; i++)
                if (view->kin[i].pid == pid)
                        add_pid(f, view->kin[i].child);
}

void proc_fds_add(struct proc_fds *f, struct proc_view *view, pid_t pid, bool descendants)
{
        size_t i = f->npids;
        add_pid(f, pid);
        for (; i < f->npids; i++) {
                add_fds(f, view, f->pids[i]);
                if (descendants)
                        add_children(f, view, f->pids[i]);
        }
}

static bool is_same_open(const struct proc_fds *f, size_t a, size_t b)
{
        return syscall(SYS_kcmp, f->v[a].tid, f->v[b].tid, KCMP_FILE, (unsigned long)f->v[a].fd,
                       (unsigned long)f->v[b].fd) <= 0; /* an error: not told apart */
}

static void move_last(struct proc_fds *f, pid_t pid)
{
        size_t end = f->n;

        for (size_t i = 0; i < end;) {
                if (f->v[i].pid != pid) {
                        i++;
                        continue;
                }
                struct proc_fds_one one = f->v[i];
                f->v[i] = f->v[--end];
                f->v[end] = one;
        }
}

bool proc_fds_hold(struct proc_fds *f, unsigned opens, pid_t closer)
{
        unsigned n = 0;

        if (opens <= 1 || f->n < opens)
                return f->n >= opens;
        move_last(f, closer);
        for (size_t i = 0; i < f->n && n < opens; i++) {
                size_t k = 0;
                while (k < i && !is_same_open(f, i, k))
                        k++;
                n += k == i;
        }
        return n >= opens;
}
