/* SPDX-License-Identifier: Apache-2.0 */
/* machine.c: see machine.h. */
#include "base/machine/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/params.h"

#include "base/banned.h"

enum { FUSE_MAJOR = 10, FUSE_MINOR = 229 }; /* Documentation/admin-guide/devices.txt of Linux */

/* A limit as the kernel writes it; UINT64_MAX where there is none: no file, or "max", which is no
 * number. */
static uint64_t limit_of(const char *root, int len, const char *group, const char *file)
{
        CLEANUP(freep) char *path = NULL;
        uint64_t n;

        if (asprintf(&path, "%s%.*s/%s", root, len, group, file) < 0)
                return UINT64_MAX;
        CLEANUP(fclosep) FILE *f = fopen(path, "re");
        return f && fscanf(f, "%" SCNu64, &n) == 1 ? n : UINT64_MAX;
}

/* The least limit of the group and of those above it. A container may see its own group as the root
 * of the hierarchy, though the group's name is that outside: what is not there limits nothing. */
static uint64_t least_limit(const char *root, const char *group, const char *file)
{
        uint64_t least = limit_of(root, 0, group, file);

        for (size_t len = strlen(group); len > 1;) {
                uint64_t n = limit_of(root, (int)len, group, file);
                least = n < least ? n : least;
                len = (size_t)((const char *)memrchr(group, '/', len) - group);
        }
        return least;
}

/* What the control group of this process may use, by either version (cgroups(7)); UINT64_MAX: no
 * limit is known. */
static uint64_t group_memory(void)
{
        CLEANUP(fclosep) FILE *f = fopen("/proc/self/cgroup", "re");
        CLEANUP(freep) char *line = NULL;
        uint64_t least = UINT64_MAX;
        size_t room = 0;

        while (f && getline(&line, &room, f) > 0) {
                const char *kinds = strchr(line, ':');
                char *group = kinds ? strchr(kinds + 1, ':') : NULL;
                uint64_t n = UINT64_MAX;
                if (!group || group[1] != '/')
                        continue;
                *group++ = 0;
                group[strcspn(group, "\n")] = 0;
                if (!kinds[1])
                        n = least_limit("/sys/fs/cgroup", group, "memory.max");
                else if (!strcmp(kinds + 1, "memory"))
                        n = least_limit("/sys/fs/cgroup/memory", group, "memory.limit_in_bytes");
                least = n < least ? n : least;
        }
        return least;
}

bool machine_lacks_memory(const struct params *p, char *said, size_t n, const char **remedy)
{
        enum { MIB_BITS = 20, PROGRAM = 10, FIRST_TRANSFERS = 16 };
        uint64_t machine = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
        uint64_t group = group_memory(), most = (group < machine ? group : machine) >> MIB_BITS;
        uint64_t beside =
                PROGRAM + p->threads + (p->connections ? p->connections : FIRST_TRANSFERS);
        uint64_t memory = p->memory >> MIB_BITS;

        if (memory + beside <= most) {
                snprintf(said, n, "memory= is %" PRIu64 " MiB of %" PRIu64 " MiB", memory, most);
                return false;
        }
        snprintf(said, n,
                 "memory= is %" PRIu64 " MiB, the daemon itself takes some %" PRIu64
                 " MiB, and this %s has %" PRIu64 " MiB",
                 memory, beside, group < machine ? "container or service" : "machine", most);
        *remedy = group < machine
                          ? "give less or raise the limit, or the daemon may be killed when "
                            "memory is short"
                          : "give less, or the daemon may be killed when memory is short";
        return true;
}

uint64_t machine_disk_free(const char *dir)
{
        struct statvfs disk;
        return statvfs(dir, &disk) ? UINT64_MAX : (uint64_t)disk.f_bavail * disk.f_frsize;
}

/* Some file systems (overlayfs before Linux 6.1) can only take the name away. */
int machine_unnamed_file(const char *dir)
{
        CLEANUP(freep) char *path = NULL;
        int fd = open(dir, O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);

        if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR))
                return fd < 0 ? -errno : fd;
        if (asprintf(&path, "%s/.ckptfs-spill.XXXXXX", dir) < 0)
                return -ENOMEM;
        fd = mkostemp(path, O_CLOEXEC);
        if (fd < 0)
                return -errno;
        unlink(path);
        return fd;
}

bool machine_is_confined(int err)
{
        return err == -EROFS && getenv("INVOCATION_ID"); /* systemd.exec(5) */
}

int machine_fuse_device(char *why, size_t nwhy)
{
        CLEANUP(closep) int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
        struct stat st;

        if (fd >= 0 && !fstat(fd, &st) && S_ISCHR(st.st_mode) &&
            st.st_rdev == makedev(FUSE_MAJOR, FUSE_MINOR))
                return TAKE_FD(fd);
        int err = fd < 0 ? -errno : -ENODEV;
        snprintf(why, nwhy, "/dev/fuse: %s: %s, or give the container the device", strerror(-err),
                 err == -EACCES ? "let all users read and write it (mode 666)"
                                : "load the module with modprobe fuse");
        return err;
}

bool machine_all_may_read(const char *file)
{
        struct stat st;
        return *file && !stat(file, &st) && st.st_mode & S_IROTH;
}
