/* SPDX-License-Identifier: Apache-2.0 */
/* prepare_nvme.c: see prepare_nvme.h.
 *
 * A device is blank when its ends and samples between them are zeros: an instance's local disks
 * come so, and a file system, a partition table or a volume's label would show. That nobody uses it
 * says the kernel, which lets only one open it exclusively, and what stands below it in /sys. */
#include "bench/cli/prepare_nvme.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"

#include "base/banned.h"

extern char **environ;

enum { ENDS = 4 << 20, SAMPLE = 64 << 10, SAMPLES = 256 };

static int refuse(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static int refuse(const char *fmt, ...)
{
        va_list ap;

        fputs("ckptbench: prepare-nvme: ", stderr);
        va_start(ap, fmt);
        vfprintf(stderr, fmt, ap);
        va_end(ap);
        fputc('\n', stderr);
        return -EINVAL;
}

/* How many entries a directory has besides . and .., of names that begin with `begin`. */
static size_t entries(const char *dir, const char *begin)
{
        DIR *d = opendir(dir);
        size_t n = 0;

        for (struct dirent *e; d && (e = readdir(d));)
                n += strcmp(e->d_name, ".") && strcmp(e->d_name, "..") &&
                     !strncmp(e->d_name, begin, strlen(begin));
        if (d)
                closedir(d);
        return n;
}

/* Partitions of it, and volumes and arrays that are made of it, are in /sys. */
static int check_parts(const char *device, dev_t dev)
{
        char link[64], real[PATH_MAX], path[PATH_MAX + 16];

        snprintf(link, sizeof link, "/sys/dev/block/%u:%u", major(dev), minor(dev));
        if (!realpath(link, real))
                return refuse("%s is not in /sys: give a disk of this machine", device);
        snprintf(path, sizeof path, "%s/partition", real);
        if (!access(path, F_OK))
                return refuse("%s is a partition: give a whole blank device", device);
        if (entries(real, strrchr(real, '/') + 1))
                return refuse("%s has partitions: give a blank device", device);
        snprintf(path, sizeof path, "%s/holders", real);
        if (entries(path, ""))
                return refuse("%s is part of a volume or an array: give a device that nobody uses",
                              device);
        return 0;
}

/* Whether [off, off + len) are zeros: 0, -EEXIST or another negative errno. */
static int check_zeros(int fd, uint64_t off, size_t len, char *room)
{
        for (size_t done = 0; done < len;) {
                size_t ask = len - done < SAMPLE ? len - done : SAMPLE;
                ssize_t n = pread(fd, room, ask, (off_t)(off + done));
                if (n <= 0)
                        return n ? -errno : -EIO;
                for (ssize_t i = 0; i < n; i++)
                        if (room[i])
                                return -EEXIST;
                done += (size_t)n;
        }
        return 0;
}

static int check_blank(const char *device, int fd, uint64_t size)
{
        CLEANUP(freep) char *room = malloc(SAMPLE);
        uint64_t end = size > ENDS ? size - ENDS : 0;
        int err = room ? check_zeros(fd, 0, size < ENDS ? (size_t)size : ENDS, room) : -ENOMEM;

        if (!err)
                err = check_zeros(fd, end, (size_t)(size - end), room);
        for (uint64_t i = 1; i < SAMPLES && !err && size > 2 * ENDS; i++)
                err = check_zeros(fd, size / SAMPLES * i / SAMPLE * SAMPLE, SAMPLE, room);
        if (err == -EEXIST)
                return refuse(
                        "%s is not blank: nothing was touched; if its data is to go, erase it "
                        "yourself (blkdiscard)",
                        device);
        return err ? refuse("%s: read: %s: give a device that works", device, strerror(-err)) : 0;
}

/* What helps when the device cannot be opened. */
static const char *remedy_of(int err)
{
        if (err != EACCES && err != EPERM)
                return "give a device that works";
        return geteuid() ? "be root"
                         : "root may not here: run this on the host, or give the container the "
                           "device and its capabilities";
}

/* All that is asked of the device. */
static int check_device(const char *device, uint64_t *size)
{
        struct stat st;

        if (stat(device, &st))
                return refuse("%s: %s: give a block device", device, strerror(errno));
        if (!S_ISBLK(st.st_mode))
                return refuse("%s is no block device: give one, as /dev/nvme1n1", device);
        int err = check_parts(device, st.st_rdev);
        if (err)
                return err;
        CLEANUP(closep) int fd = open(device, O_RDONLY | O_EXCL | O_CLOEXEC);
        if (fd < 0 && errno == EBUSY)
                return refuse("%s is mounted or in use: give a device that nobody uses", device);
        if (fd < 0)
                return refuse("%s: %s: %s", device, strerror(errno), remedy_of(errno));
        off_t end = lseek(fd, 0, SEEK_END);
        if (end <= 0)
                return refuse("%s has no size: give a disk", device);
        *size = (uint64_t)end;
        return check_blank(device, fd, *size);
}

static int check_mountpoint(const char *dir)
{
        struct stat here, up;
        char parent[PATH_MAX + 4];

        if (stat(dir, &here))
                return refuse("%s: %s: make the directory first", dir, strerror(errno));
        if (!S_ISDIR(here.st_mode))
                return refuse("%s is no directory: give an empty one", dir);
        snprintf(parent, sizeof parent, "%s/..", dir);
        if (stat(parent, &up) || up.st_dev != here.st_dev || up.st_ino == here.st_ino)
                return refuse("%s is a mountpoint already: give another directory", dir);
        if (entries(dir, ""))
                return refuse("%s is not empty: give an empty directory", dir);
        return 0;
}

static int run_mkfs(const char *device)
{
        char *const argv[] = {(char[]){"mkfs.ext4"}, (char[]){"-q"}, (char *)device, NULL};
        posix_spawn_file_actions_t fa;
        pid_t pid;
        int status;

        posix_spawn_file_actions_init(&fa); /* it asks nobody */
        posix_spawn_file_actions_addopen(&fa, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
        int err = posix_spawnp(&pid, argv[0], &fa, NULL, argv, environ);
        posix_spawn_file_actions_destroy(&fa);
        if (err)
                return refuse("mkfs.ext4: %s: install e2fsprogs", strerror(err));
        while (waitpid(pid, &status, 0) < 0)
                if (errno != EINTR)
                        return refuse("mkfs.ext4: %s: try again", strerror(errno));
        if (!WIFEXITED(status) || WEXITSTATUS(status))
                return refuse("mkfs.ext4 failed on %s: see its message", device);
        return 0;
}

static int make_it(const char *device, const char *dir)
{
        int err = run_mkfs(device);

        if (!err && mount(device, dir, "ext4", MS_NOATIME, NULL))
                err = refuse("%s was made but cannot be mounted at %s: %s: mount it yourself",
                             device, dir, strerror(errno));
        if (!err)
                printf("%s is mounted at %s: give path=%s\n", device, dir, dir);
        return err;
}

static int usage(void)
{
        refuse("the device or the directory is missing: give ckptbench prepare-nvme "
               "--device DEVICE --mountpoint DIR [--yes]");
        return 1;
}

int prepare_nvme_main(int argc, char **argv)
{
        const char *device = NULL, *dir = NULL;
        bool yes = false;
        uint64_t size = 0;

        for (int i = 1; i < argc; i++) {
                if (!strcmp(argv[i], "--yes"))
                        yes = true;
                else if (!strcmp(argv[i], "--device") && i + 1 < argc)
                        device = argv[++i];
                else if (!strcmp(argv[i], "--mountpoint") && i + 1 < argc)
                        dir = argv[++i];
                else
                        return usage();
        }
        if (!device || !dir)
                return usage();
        if (check_mountpoint(dir) || check_device(device, &size))
                return 1;
        if (!yes) {
                refuse("would make an ext4 file system on %s (%.1f GB) and mount it at %s: give "
                       "--yes to have it done",
                       device, (double)size / 1e9, dir);
                return 1;
        }
        return make_it(device, dir) ? 1 : 0;
}
