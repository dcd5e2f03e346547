/* SPDX-License-Identifier: Apache-2.0 */
/* doctor_machine.c: what a mount needs of the machine, tried where that does no harm. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/machine/machine.h"
#include "ctl/doctor.h"
#include "store/core/open_params.h"

#include "base/banned.h"

enum {
        DISK_PROBE = 32 << 20,
        DISK_SLOW = 200 << 20, /* bytes a second: less than a fast line brings */
        READ_AHEAD_KB = 4096,  /* what a mount asks for (fs/mount/daemon/session.c) */
        DESCRIPTORS_EACH = 3,  /* of a connection for data, with those beside it */
        DESCRIPTORS_OTHERS = 600,
        MIB_BITS = 20
};

/* --- FUSE --- */

/* Mounts for nobody: the mount goes with this process, and nobody else ever sees it. The result is
 * an errno. */
static int mount_alone(int fuse)
{
        char options[96];

        snprintf(options, sizeof options, "fd=%d,rootmode=40000,user_id=0,group_id=0", fuse);
        if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
            mount("ckptfs-doctor", "/", "fuse", MS_NOSUID | MS_NODEV, options))
                return errno;
        return 0;
}

static int try_mount(int fuse)
{
        int status;
        pid_t pid = fork();

        if (!pid)
                _exit(mount_alone(fuse));
        if (pid < 0)
                return -errno;
        while (waitpid(pid, &status, 0) < 0)
                if (errno != EINTR)
                        return -errno;
        return WIFEXITED(status) ? -WEXITSTATUS(status) : -EIO;
}

/* fusermount3 as libfuse finds it, by PATH. Whether it has the rights to mount. */
static bool find_fusermount(char *path, size_t n)
{
        const char *dirs = getenv("PATH");
        struct stat st;

        for (dirs = dirs ? dirs : ""; *dirs; dirs += strspn(dirs, ":")) {
                size_t len = strcspn(dirs, ":");
                snprintf(path, n, "%.*s/fusermount3", (int)len, dirs);
                if (!access(path, X_OK) && !stat(path, &st))
                        return !st.st_uid && st.st_mode & S_ISUID;
                dirs += len;
        }
        *path = 0;
        return false;
}

static bool others_are_allowed(void)
{
        CLEANUP(fclosep) FILE *f = fopen("/etc/fuse.conf", "re");
        char line[256];

        while (f && fgets(line, sizeof line, f))
                if (!strncmp(line + strspn(line, " \t"), "user_allow_other", 16))
                        return true;
        return false;
}

static void look_at_helper(struct doctor *d)
{
        char path[512];

        if (find_fusermount(path, sizeof path))
                doctor_say(d, DOCTOR_OK, "rights", "%s mounts for this user", path);
        else if (*path)
                doctor_say(d, DOCTOR_BROKEN, "rights",
                           "%s is not setuid root: install fuse3 anew, or mount as root", path);
        else
                doctor_say(d, DOCTOR_BROKEN, "rights",
                           "fusermount3 is not on PATH: install fuse3, or mount as root");
        if (d->p->allow_other && !others_are_allowed())
                doctor_say(d, DOCTOR_BROKEN, "allow_other",
                           "/etc/fuse.conf does not allow it: write user_allow_other there");
}

static void look_at_fuse(struct doctor *d)
{
        char why[256];

        if (d->device) {
                doctor_say(d, DOCTOR_OK, "fuse", "the mount runs");
                return;
        }
        CLEANUP(closep) int fd = machine_fuse_device(why, sizeof why);
        if (fd < 0) {
                doctor_say(d, DOCTOR_BROKEN, "fuse", "%s", why);
                return;
        }
        doctor_say(d, DOCTOR_OK, "fuse", "/dev/fuse can be opened");
        if (geteuid()) {
                look_at_helper(d);
                return;
        }
        int err = try_mount(fd);
        if (err)
                doctor_say(d, DOCTOR_BROKEN, "rights",
                           "mounting is refused (%s): a container needs the capability SYS_ADMIN, "
                           "and a profile of AppArmor or SELinux that allows mounts",
                           strerror(-err));
        else
                doctor_say(d, DOCTOR_OK, "rights", "root may mount");
}

static void look_at_kernel(struct doctor *d)
{
        struct utsname u;
        unsigned major = 0, minor = 0;

        if (uname(&u) || sscanf(u.release, "%u.%u", &major, &minor) != 2)
                snprintf(u.release, sizeof u.release, "?");
        if (major > 6 || (major == 6 && minor >= 6))
                doctor_say(d, DOCTOR_OK, "kernel", "Linux %s", u.release);
        else
                doctor_say(d, DOCTOR_SLOW, "kernel",
                           "Linux %s: large reads cannot bypass the page cache (read_cache=auto): "
                           "Linux 6.6 and later let them",
                           u.release);
}

/* --- limits --- */

/* How many files the mount may open: a daemon that runs has its own limit. */
static rlim_t descriptors_of(const struct doctor *d)
{
        struct rlimit r = {.rlim_max = RLIM_INFINITY};
        unsigned long long most;
        char path[64], line[256];

        getrlimit(RLIMIT_NOFILE, &r);
        if (!d->pid)
                return r.rlim_max;
        snprintf(path, sizeof path, "/proc/%.20s/limits", d->pid);
        CLEANUP(fclosep) FILE *f = fopen(path, "re");
        while (f && fgets(line, sizeof line, f))
                if (sscanf(line, "Max open files %*s %llu", &most) == 1)
                        return most;
        return r.rlim_max;
}

static void look_at_limits(struct doctor *d)
{
        unsigned long long want =
                DESCRIPTORS_EACH * store_transfers_most(d->p) + DESCRIPTORS_OTHERS;
        rlim_t most = descriptors_of(d);

        if (most >= want)
                doctor_say(d, DOCTOR_OK, "limits", "enough files may be open for the connections");
        else if (!d->p->connections && most > DESCRIPTORS_OTHERS)
                doctor_say(d, DOCTOR_SLOW, "limits",
                           "%llu files may be open, so that connections=auto takes %llu at most: "
                           "raise the limit to %llu (ulimit -Hn, LimitNOFILE=) where more are "
                           "faster",
                           (unsigned long long)most,
                           (unsigned long long)(most - DESCRIPTORS_OTHERS) / DESCRIPTORS_EACH,
                           want);
        else
                doctor_say(d, most < want / 2 ? DOCTOR_BROKEN : DOCTOR_SLOW, "limits",
                           "%llu files may be open, and connections= may need %llu: raise the "
                           "limit (ulimit -Hn, LimitNOFILE=), or give fewer connections",
                           (unsigned long long)most, want);
}

static void look_at_memory(struct doctor *d)
{
        char said[256];
        const char *remedy;

        if (machine_lacks_memory(d->p, said, sizeof said, &remedy))
                doctor_say(d, DOCTOR_BROKEN, "memory", "%s: %s", said, remedy);
        else
                doctor_say(d, DOCTOR_OK, "memory", "%s", said);
}

/* The read-ahead that the kernel has for a mount, in KiB; 0: not known. */
static unsigned read_ahead_of(const char *device)
{
        char path[128];
        unsigned kb = 0;

        snprintf(path, sizeof path, "/sys/class/bdi/%s/read_ahead_kb", device);
        CLEANUP(fclosep) FILE *f = fopen(path, "re");
        return f && fscanf(f, "%u", &kb) == 1 ? kb : 0;
}

static void look_at_read_ahead(struct doctor *d)
{
        struct statvfs sys;
        unsigned kb = d->device ? read_ahead_of(d->device) : 0;

        if (kb >= READ_AHEAD_KB)
                doctor_say(d, DOCTOR_OK, "read-ahead", "the kernel reads %u KiB ahead", kb);
        else if (kb)
                doctor_say(d, DOCTOR_SLOW, "read-ahead",
                           "the kernel reads %u KiB ahead: write %d to "
                           "/sys/class/bdi/%s/read_ahead_kb, or mount as root",
                           kb, READ_AHEAD_KB, d->device);
        else if (!geteuid() && !statvfs("/sys", &sys) && !(sys.f_flag & ST_RDONLY))
                doctor_say(d, DOCTOR_OK, "read-ahead", "a mount can raise the kernel's");
        else
                doctor_say(d, DOCTOR_SLOW, "read-ahead",
                           "a mount cannot raise the kernel's, since %s: reads through the page "
                           "cache may be slower",
                           geteuid() ? "only root may" : "/sys cannot be written");
}

/* --- the disk --- */

static double seconds(void)
{
        struct timespec ts;
        clock_gettime(CLOCK_MONOTONIC, &ts);
        return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* Writes as much to the disk as makes its speed show: 0 or a negative errno. */
static int write_probe(int fd)
{
        enum { BLOCK = 1 << 20 };
        CLEANUP(freep) char *block = malloc(BLOCK);

        if (!block)
                return -ENOMEM;
        memset(block, 0x5a, BLOCK);
        for (int at = 0; at < DISK_PROBE; at += BLOCK) {
                ssize_t n = write(fd, block, BLOCK);
                if (n != BLOCK)
                        return n < 0 ? -errno : -ENOSPC;
        }
        return fdatasync(fd) ? -errno : 0;
}

static void look_at_spill(struct doctor *d)
{
        const char *dir = d->p->spill_dir;
        double from = seconds();
        CLEANUP(closep) int fd = machine_unnamed_file(dir);
        uint64_t room = machine_disk_free(dir);

        room = room < UINT64_MAX - d->spilled ? room + d->spilled : room;
        int err = fd < 0 ? fd : write_probe(fd);
        double rate = DISK_PROBE / (seconds() - from + 1e-9);

        if (err)
                doctor_say(d, DOCTOR_BROKEN, "spill",
                           "spill_dir=%s: %s: name a directory of a local disk that can be "
                           "written and has room",
                           dir, strerror(-err));
        else if (room < d->p->spill)
                doctor_say(d, DOCTOR_SLOW, "spill",
                           "%s has %" PRIu64 " MiB free, and spill= is %" PRIu64
                           " MiB: writes get ENOSPC from there on: free space, or name another "
                           "spill_dir",
                           dir, room >> MIB_BITS, d->p->spill >> MIB_BITS);
        else if (rate < DISK_SLOW)
                doctor_say(d, DOCTOR_SLOW, "spill",
                           "%s takes %.0f MB/s: name a faster disk by spill_dir, or give more "
                           "memory",
                           dir, rate / 1e6);
        else
                doctor_say(d, DOCTOR_OK, "spill",
                           "%s takes %.0f MB/s, and has %" PRIu64 " MiB free", dir, rate / 1e6,
                           room >> MIB_BITS);
}

void doctor_machine(struct doctor *d)
{
        look_at_fuse(d);
        look_at_kernel(d);
        look_at_limits(d);
        look_at_memory(d);
        look_at_read_ahead(d);
        if (!d->p->ro)
                look_at_spill(d);
}
