/* SPDX-License-Identifier: Apache-2.0 */
/* model_same.c: see model.h. */
#include "tests/posix/model.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/cleanup.h"

#include "base/banned.h"

struct world worlds[WORLDS] = {{.name = "mount"}, {.name = "local"}};
int step, every = 1;

bool differ(const char *path, const char *what, long long mount, long long local)
{
        printf("step %d: %s: %s: the mount has %lld, the directory %lld\n", step, path, what, mount,
               local);
        return false;
}

static bool same_bytes(const char *path, const int fds[WORLDS], long long size)
{
        for (long long at = 0; at < size; at += BUFFER) {
                ssize_t n[WORLDS];
                for (int i = 0; i < WORLDS; i++) {
                        n[i] = pread(fds[i], worlds[i].bytes, BUFFER, at);
                        if (n[i] < 0)
                                n[i] = -errno;
                }
                if (every > 1 && n[0] == -EBUSY)
                        return true;
                if (n[0] != n[1])
                        return differ(path, "bytes read", n[0], n[1]);
                for (ssize_t k = 0; k < n[0]; k++)
                        if (worlds[0].bytes[k] != worlds[1].bytes[k])
                                return differ(path, "first wrong byte at", at + k, at + k);
        }
        return true;
}

static bool same_contents(const char *path, long long size)
{
        int fds[WORLDS];
        bool same = true;

        for (int i = 0; i < WORLDS; i++)
                fds[i] = openat(worlds[i].dir, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        if (fds[0] < 0 || fds[1] < 0)
                same = differ(path, "open to compare", fds[0] < 0 ? -errno : 0,
                              fds[1] < 0 ? -1 : 0);
        else
                same = same_bytes(path, fds, size);
        for (int i = 0; i < WORLDS; i++)
                if (fds[i] >= 0)
                        close(fds[i]);
        return same;
}

bool same_text(const char *path, const char *what, const char *a, const char *b)
{
        if (!strcmp(a, b))
                return true;
        printf("step %d: %s: %s: the mount has '%s', the directory '%s'\n", step, path, what, a, b);
        return false;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
        return strcmp((*a)->d_name, (*b)->d_name);
}

static void entries(const struct world *w, const char *path, char *out, size_t size)
{
        struct dirent **list = NULL;
        int n = scandirat(w->dir, path, &list, NULL, by_name);
        size_t used = 0;

        out[0] = 0;
        for (int i = 0; i < n; i++) {
                if (used < size)
                        used += (size_t)snprintf(out + used, size - used, "%s ", list[i]->d_name);
                free(list[i]);
        }
        free(list);
}

static bool same_directory(const char *path)
{
        char text[WORLDS][1000];

        for (int i = 0; i < WORLDS; i++)
                entries(&worlds[i], path, text[i], sizeof text[i]);
        return same_text(path, "entries", text[0], text[1]);
}

static bool same_link(const char *path)
{
        char text[WORLDS][PATH_MAX];

        for (int i = 0; i < WORLDS; i++) {
                ssize_t n = readlinkat(worlds[i].dir, path, text[i], sizeof text[i] - 1);
                text[i][n < 0 ? 0 : n] = 0;
        }
        return same_text(path, "link", text[0], text[1]);
}

static bool same_xattrs(const char *path)
{
        static const char *const names[] = {"user.one", "user.two"};

        for (int k = 0; k < 2; k++) {
                ssize_t n[WORLDS];
                for (int i = 0; i < WORLDS; i++) {
                        char full[PATH_MAX];
                        snprintf(full, sizeof full, "/proc/self/fd/%d/%s", worlds[i].dir, path);
                        n[i] = lgetxattr(full, names[k], worlds[i].bytes, BUFFER);
                        if (n[i] < 0)
                                n[i] = -errno;
                }
                if (n[0] != n[1])
                        return differ(path, names[k], n[0], n[1]);
                if (n[0] > 0 && memcmp(worlds[0].bytes, worlds[1].bytes, (size_t)n[0]))
                        return differ(path, "value of an attribute", 0, 1);
        }
        return true;
}

static bool same_stat(const char *path, const struct stat *a, const struct stat *b)
{
        if (a->st_mode != b->st_mode)
                return differ(path, "mode", a->st_mode, b->st_mode);
        if (a->st_uid != b->st_uid || a->st_gid != b->st_gid)
                return differ(path, "owner", a->st_uid * 100 + a->st_gid,
                              b->st_uid * 100 + b->st_gid);
        if (!S_ISDIR(a->st_mode) && a->st_size != b->st_size)
                return differ(path, "size", a->st_size, b->st_size);
        /* A time that an operation set, and that nothing has changed since. */
        bool was_set = b->st_mtim.tv_sec < OLD + 200000 && !S_ISDIR(a->st_mode);
        if (was_set &&
            (a->st_mtim.tv_sec != b->st_mtim.tv_sec || a->st_mtim.tv_nsec != b->st_mtim.tv_nsec))
                return differ(path, "modification time", a->st_mtim.tv_sec, b->st_mtim.tv_sec);
        return true;
}

bool same_path(const char *path)
{
        struct stat st[WORLDS];
        int err[WORLDS];

        for (int i = 0; i < WORLDS; i++)
                err[i] = fstatat(worlds[i].dir, path, &st[i], AT_SYMLINK_NOFOLLOW) ? errno : 0;
        if (err[0] != err[1])
                return differ(path, "errno of stat", err[0], err[1]);
        if (err[0])
                return true;
        if (!same_stat(path, &st[0], &st[1]))
                return false;
        if (S_ISLNK(st[0].st_mode))
                return same_link(path);
        if (!same_xattrs(path))
                return false;
        return S_ISDIR(st[0].st_mode) ? same_directory(path)
                                      : same_contents(path, (long long)st[0].st_size);
}

bool same_descriptor(int slot)
{
        struct stat st[WORLDS];
        const int fds[WORLDS] = {worlds[0].fds[slot], worlds[1].fds[slot]};

        if (fds[0] < 0)
                return true;
        for (int i = 0; i < WORLDS; i++)
                if (fstat(fds[i], &st[i]))
                        return differ("a descriptor", "errno of fstat", errno, i);
        if (!same_stat("a descriptor", &st[0], &st[1]))
                return false;
        if (!S_ISREG(st[0].st_mode) || (fcntl(fds[0], F_GETFL) & O_ACCMODE) == O_WRONLY)
                return true;
        return same_bytes("a descriptor", fds, (long long)st[0].st_size);
}
