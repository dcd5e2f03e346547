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

#include "base/banned.h"

enum { FUSE_MAJOR = 10, FUSE_MINOR = 229 }; /* Documentation/admin-guide/devices.txt of Linux */

/* What the control group of the process may use; UINT64_MAX: no limit is known. In a container its
 * own group is the root of what is seen. */
static uint64_t group_memory(void)
{
        CLEANUP(fclosep) FILE *f = fopen("/sys/fs/cgroup/memory.max", "re");
        uint64_t n;

        return f && fscanf(f, "%" SCNu64, &n) == 1 ? n : UINT64_MAX; /* "max" is no number */
}

uint64_t machine_memory(bool *container)
{
        uint64_t machine = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
        uint64_t group = group_memory();

        *container = group < machine;
        return *container ? group : machine;
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
