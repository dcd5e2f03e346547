/* SPDX-License-Identifier: Apache-2.0 */
/* mountpoint.c: see mountpoint.h. */
#include "mount/daemon/mountpoint.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mntent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/machine/machine.h"
#include "base/params.h"
#include "mount/daemon/notify.h"

#include "base/banned.h"

enum { FUSE_MAJOR = 10, FUSE_MINOR = 229 }; /* linux/Documentation/admin-guide/devices.txt */

static void closedirp(DIR **d)
{
        if (*d)
                closedir(*d);
}

static void endmntentp(FILE **f)
{
        if (*f)
                endmntent(*f);
}

/* Whether something is mounted on that absolute path; type gets its file system. */
static bool is_mounted(const char *path, char type[64])
{
        CLEANUP(endmntentp) FILE *f = setmntent("/proc/self/mounts", "re");
        char text[4096 + 512];
        struct mntent entry;
        bool found = false;

        while (f && getmntent_r(f, &entry, text, sizeof text)) {
                if (strcmp(entry.mnt_dir, path))
                        continue;
                snprintf(type, 64, "%s", entry.mnt_type); /* the last covers others */
                found = true;
        }
        return found;
}

/* What waits there for this mount, which whoever reads the directory waits for, too. */
static bool waits_for_mount(const char *path)
{
        char type[64];
        return is_mounted(path, type) && !strcmp(type, "autofs");
}

static bool is_empty(const char *path)
{
        CLEANUP(closedirp) DIR *d = opendir(path);
        const struct dirent *e;
        while (d && (e = readdir(d)))
                if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
                        return false;
        return true;
}

/* A path as mountinfo has it: \\040 for a blank, and so on. */
static bool is_path(const char *written, size_t n, const char *path)
{
        const char *end = written + n;

        while (written < end && *path) {
                char c = *written++;
                if (c == '\\' && end - written >= 3) {
                        c = (char)((written[0] - '0') << 6 | (written[1] - '0') << 3 |
                                   (written[2] - '0'));
                        written += 3;
                }
                if (c != *path++)
                        return false;
        }
        return written == end && !*path;
}

/* The descriptor that "/dev/fd/N" names, or -1: it is another path. */
static int descriptor_of(const char *path)
{
        static const char dir[] = "/dev/fd/";
        const char *digits = path + sizeof dir - 1;
        size_t n = strncmp(path, dir, sizeof dir - 1) ? 0 : strspn(digits, "0123456789");

        return n && n < 10 && !digits[n] ? (int)strtol(digits, NULL, 10) : -1;
}

/* Of a descriptor that was mounted elsewhere, maybe in a place that is not seen from here, where
 * the kernel tells it. */
static dev_t connection_device(int fuse)
{
        char path[64], line[128];
        unsigned minor;

        snprintf(path, sizeof path, "/proc/self/fdinfo/%d", fuse);
        CLEANUP(fclosep) FILE *f = fopen(path, "re");
        while (f && fgets(line, sizeof line, f))
                if (sscanf(line, "fuse_connection: %u", &minor) == 1)
                        return makedev(0, minor);
        return 0;
}

dev_t mountpoint_device(const char *path, int fuse)
{
        if (descriptor_of(path) >= 0)
                return connection_device(fuse);
        CLEANUP(fclosep) FILE *f = fopen("/proc/self/mountinfo", "re");
        CLEANUP(freep) char *line = NULL;
        size_t room = 0;
        dev_t dev = 0;

        while (f && getline(&line, &room, f) > 0) {
                unsigned maj, min;
                int at = 0;
                if (sscanf(line, "%*u %*u %u:%u %*s %n", &maj, &min, &at) != 2 || !at)
                        continue;
                if (is_path(line + at, strcspn(line + at, " "), path)) /* the last covers others */
                        dev = makedev(maj, min);
        }
        return dev;
}

/* The absolute path of what is mounted there, which answers no request before this process does: a
 * descriptor that is only a place makes none. Where the place cannot be seen from here, the path as
 * it was given. */
static char *mounted_path(const char *path)
{
        CLEANUP(closep) int fd = open(path, O_PATH | O_CLOEXEC);
        char link[64], real[PATH_MAX];

        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        ssize_t n = fd < 0 ? -1 : readlink(link, real, sizeof real);
        return n > 0 && n < (ssize_t)sizeof real ? strndup(real, (size_t)n) : strdup(path);
}

int mountpoint_handed(const char *path, char **out, int *handed, char *why, size_t nwhy)
{
        struct stat st;
        int given = descriptor_of(path), fd = given >= 0 ? given : notify_handed();

        *handed = -1;
        if (fd < 0)
                return 0;
        if (fstat(fd, &st) || !S_ISCHR(st.st_mode) ||
            st.st_rdev != makedev(FUSE_MAJOR, FUSE_MINOR)) {
                snprintf(why, nwhy,
                         "%s is no open descriptor of /dev/fuse: hand over the one that was "
                         "mounted, see ckptfs(1)",
                         path);
                return -EBADF;
        }
        fcntl(fd, F_SETFD, FD_CLOEXEC);
        if (!(*out = given >= 0 ? strdup(path) : mounted_path(path))) {
                snprintf(why, nwhy, "no memory: end another program");
                return -ENOMEM;
        }
        *handed = fd;
        return 0;
}

static bool is_at_or_below(const char *path, const char *dir)
{
        size_t n = strlen(dir);

        while (n && dir[n - 1] == '/')
                n--;
        return !strncmp(path, dir, n) && (!path[n] || path[n] == '/');
}

/* Of what may not be there yet, the directory tells. */
static bool leads_into(const char *path, const char *mountpoint)
{
        CLEANUP(freep) char *dir = strdup(path);
        CLEANUP(freep) char *real = realpath(path, NULL);
        char *slash = dir ? strrchr(dir, '/') : NULL;

        if (!real && slash && slash != dir) {
                *slash = 0;
                real = realpath(dir, NULL);
        }
        return real && is_at_or_below(real, mountpoint);
}

/* Of an O_PATH descriptor. No file system is asked: not even a FUSE one, of which only who mounted
 * it may ask for more. 0: not known. */
static dev_t device_of(int fd)
{
        struct statx st;
        const int flags = AT_EMPTY_PATH | AT_STATX_DONT_SYNC;
        return statx(fd, "", flags, 0, &st) ? 0 : makedev(st.stx_dev_major, st.stx_dev_minor);
}

/* Goes a path on, from *dir: the rest of it after its first name, or NULL at its end. A symbolic
 * link is put into the path. */
static char *next_step(char **path, char *name, int *dir)
{
        char target[PATH_MAX];
        size_t n = strcspn(name, "/");
        char *rest = name[n] ? name + n + 1 : name + n;

        name[n] = 0;
        CLEANUP(closep) int fd = openat(*dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        ssize_t k = fd < 0 ? -1 : readlinkat(fd, "", target, sizeof target - 1);
        if (k > 0) {
                char *longer = NULL;
                target[k] = 0;
                if (asprintf(&longer, "%s/%s", target, rest) < 0)
                        longer = NULL;
                free(*path);
                *path = rest = longer;
                if (*target != '/')
                        return rest;
        }
        close(*dir);
        *dir = k > 0 ? open("/", O_PATH | O_CLOEXEC) : TAKE_FD(fd);
        return rest;
}

/* Whether the way to a path leads through the device, which is mounted, and which nobody may serve
 * yet: it is asked for nothing. */
static bool passes(const char *path, dev_t dev)
{
        enum { STEPS_MAX = PATH_MAX };
        CLEANUP(freep) char *way = strdup(path);
        CLEANUP(closep) int dir = open("/", O_PATH | O_CLOEXEC);
        char *name = way;

        for (int i = 0; name && dir >= 0 && i < STEPS_MAX; i++) {
                if (device_of(dir) == dev)
                        return true;
                name += strspn(name, "/");
                if (!*name)
                        return false;
                name = next_step(&way, name, &dir);
        }
        return false;
}

/* Whether the directory is one of another mount of ckptfs. */
static bool is_in_ckptfs(const char *dir)
{
        CLEANUP(fclosep) FILE *f = fopen("/proc/self/mountinfo", "re");
        CLEANUP(freep) char *line = NULL;
        size_t room = 0;
        unsigned maj, min;
        struct stat st;

        if (stat(dir, &st))
                return false;
        while (f && getline(&line, &room, f) > 0)
                if (sscanf(line, "%*u %*u %u:%u ", &maj, &min) == 2 &&
                    makedev(maj, min) == st.st_dev && strstr(line, " - fuse.ckptfs "))
                        return true;
        return false;
}

static bool lies_in(const char *path, const char *mountpoint, const dev_t *mounted)
{
        if (is_at_or_below(path, mountpoint))
                return true;
        return mounted ? *mounted && passes(path, *mounted) : leads_into(path, mountpoint);
}

int mountpoint_check_options(const char *mountpoint, const dev_t *mounted, const struct params *p,
                             char *why, size_t nwhy)
{
        const struct {
                const char *option, *path;
        } all[] = {
                {"spill_dir", p->ro ? NULL : p->spill_dir},
                {"log", log_path(p->log)},
                {"control_dir", p->control_dir},
                {"metrics", strncmp(p->metrics, "unix:", 5) ? NULL : p->metrics + 5},
                {"ca_bundle", p->ca_bundle},
                {"credentials", p->credentials},
                {"csek_file", p->csek_file},
                {"sse_c_key_file", p->sse_c_key_file},
        };

        for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
                const char *path = all[i].path;
                if (!path || *path != '/' || !lies_in(path, mountpoint, mounted))
                        continue;
                snprintf(why, nwhy,
                         "%s=%s lies in the mount itself, which would wait for itself: name "
                         "another place",
                         all[i].option, path);
                return -EINVAL;
        }
        if ((!mounted || *mounted) && !p->ro && is_in_ckptfs(p->spill_dir)) {
                snprintf(why, nwhy,
                         "spill_dir=%s lies in a mount of ckptfs, and the two could wait for each "
                         "other: name a directory of a local disk",
                         p->spill_dir);
                return -EINVAL;
        }
        return 0;
}

int mountpoint_is_taken(const char *path, char *why, size_t nwhy)
{
        char type[64];

        if (!is_mounted(path, type) || waits_for_mount(path))
                return 0;
        snprintf(why, nwhy,
                 "%s has a mount (%s) on it already: umount it or name another directory", path,
                 type);
        return -EBUSY;
}

int mountpoint_check(const char *path, char **out, char *why, size_t nwhy)
{
        struct stat st;
        CLEANUP(freep) char *real = realpath(path, NULL);
        int err = real && !stat(real, &st) ? 0 : -errno;

        if (err == -ENOTCONN) {
                snprintf(why, nwhy, "%s is a mount whose daemon has died: run umount %s first",
                         path, path);
                return err;
        }
        if (err) {
                snprintf(why, nwhy, "mountpoint %s: %s: %s", path, strerror(-err),
                         err == -ENOENT ? "create it with mkdir"
                                        : "name a directory that you can enter");
                return err;
        }
        if (!S_ISDIR(st.st_mode)) {
                snprintf(why, nwhy, "mountpoint %s is not a directory: name an empty one", path);
                return -ENOTDIR;
        }
        if ((err = mountpoint_is_taken(real, why, nwhy)))
                return err;
        if (!waits_for_mount(real) && !is_empty(real)) {
                snprintf(why, nwhy, "mountpoint %s is not empty: name an empty directory", path);
                return -ENOTEMPTY;
        }
        CLEANUP(closep) int fd = machine_fuse_device(why, nwhy);
        if (fd < 0)
                return fd;
        *out = TAKE_PTR(real);
        return 0;
}
