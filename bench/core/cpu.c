/* SPDX-License-Identifier: Apache-2.0 */
/* cpu.c: see cpu.h. */
#include "bench/core/cpu.h"

#include <dirent.h>
#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"

#include "base/banned.h"

static double seconds(struct timeval t)
{
        return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

double cpu_self_s(void)
{
        struct rusage u;
        getrusage(RUSAGE_SELF, &u);
        return seconds(u.ru_utime) + seconds(u.ru_stime);
}

double cpu_process_s(pid_t pid)
{
        char path[64], line[1024];
        unsigned long long utime, stime;

        snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
        CLEANUP(fclosep) FILE *f = pid > 0 ? fopen(path, "re") : NULL;
        if (!f || !fgets(line, sizeof line, f))
                return 0;
        char *p = strrchr(line, ')'); /* a name may hold anything, so count from its end */
        if (!p || sscanf(p + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", &utime,
                         &stime) != 2)
                return 0;
        return (double)(utime + stime) / (double)sysconf(_SC_CLK_TCK);
}

/* Seconds of the machine: in programs, and in the kernel. */
static void machine_s(double *programs, double *kernel)
{
        unsigned long long user, nice, sys, idle, wait, irq, soft;
        double tick = 1.0 / (double)sysconf(_SC_CLK_TCK);
        CLEANUP(fclosep) FILE *f = fopen("/proc/stat", "re");

        *programs = *kernel = 0;
        if (!f || fscanf(f, "cpu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &sys, &idle,
                         &wait, &irq, &soft) != 7)
                return;
        *programs = (double)(user + nice) * tick;
        *kernel = (double)(sys + irq + soft) * tick;
}

double cpu_machine_s(void)
{
        double programs, kernel;
        machine_s(&programs, &kernel);
        return programs + kernel;
}

double cpu_kernel_s(void)
{
        double programs, kernel;
        machine_s(&programs, &kernel);
        return kernel;
}

unsigned cpu_cores(void)
{
        cpu_set_t set;
        if (sched_getaffinity(0, sizeof set, &set))
                return 1;
        return (unsigned)CPU_COUNT(&set);
}

unsigned cpu_cores_online(void)
{
        long n = sysconf(_SC_NPROCESSORS_ONLN);
        return n > 0 ? (unsigned)n : 1;
}

void cpu_name(char *out, size_t n)
{
        char line[256];
        CLEANUP(fclosep) FILE *f = fopen("/proc/cpuinfo", "re");

        snprintf(out, n, "unknown");
        while (f && fgets(line, sizeof line, f)) {
                char *colon = strchr(line, ':');
                if (strncmp(line, "model name", 10) || !colon)
                        continue;
                line[strcspn(line, "\n")] = 0;
                snprintf(out, n, "%s", colon + 2);
                return;
        }
}

/* The mountpoint that holds `path`: where the device changes on the way up. */
static int mountpoint_of(const char *path, char out[PATH_MAX])
{
        struct stat here, up;

        if (!realpath(path, out) || stat(out, &here))
                return -1;
        while (strcmp(out, "/")) {
                char parent[PATH_MAX];
                snprintf(parent, sizeof parent, "%s", out);
                char *slash = strrchr(parent, '/');
                slash[slash == parent ? 1 : 0] = 0;
                if (stat(parent, &up) || up.st_dev != here.st_dev)
                        break;
                snprintf(out, PATH_MAX, "%s", parent);
        }
        return 0;
}

/* An argument may be relative to where the process is. */
static bool is_path(const char *pid, const char *arg, const char *want)
{
        char path[PATH_MAX + 64], real[PATH_MAX];

        if (*arg == '/')
                snprintf(path, sizeof path, "%s", arg);
        else
                snprintf(path, sizeof path, "/proc/%.20s/cwd/%s", pid, arg);
        return !strcmp(arg, want) || (realpath(path, real) && !strcmp(real, want));
}

static bool has_argument(const char *pid, const char *want)
{
        char path[64], arg[PATH_MAX];
        size_t n = 0;
        int c;

        snprintf(path, sizeof path, "/proc/%.20s/cmdline", pid);
        CLEANUP(fclosep) FILE *f = fopen(path, "re");
        while (f && (c = fgetc(f)) != EOF) {
                if (n < sizeof arg - 1)
                        arg[n++] = (char)c;
                if (c)
                        continue;
                arg[n - 1] = 0;
                n = 0;
                if (is_path(pid, arg, want))
                        return true;
        }
        return false;
}

/* The connection of an open /dev/fuse, which is the number of the device that is mounted; -1: the
 * kernel does not tell, as older ones. */
static long connection_of(const char *pid, const char *fd)
{
        char path[64], line[128];
        long number = -1;

        snprintf(path, sizeof path, "/proc/%.20s/fdinfo/%.20s", pid, fd);
        CLEANUP(fclosep) FILE *f = fopen(path, "re");
        while (f && fgets(line, sizeof line, f))
                if (sscanf(line, "fuse_connection: %ld", &number) == 1)
                        break;
        return number;
}

/* Whether the process serves the FUSE mount of this device at `where`. */
static bool serves(const char *pid, dev_t dev, const char *where)
{
        char path[64], target[64];
        bool maybe = false, does = false;

        snprintf(path, sizeof path, "/proc/%.20s/fd", pid);
        DIR *d = opendir(path);
        for (struct dirent *e; d && !does && (e = readdir(d));) {
                ssize_t n = readlinkat(dirfd(d), e->d_name, target, sizeof target - 1);
                target[n > 0 ? n : 0] = 0;
                if (strcmp(target, "/dev/fuse") != 0)
                        continue;
                long number = connection_of(pid, e->d_name);
                does = number >= 0 && dev == makedev(0, (unsigned)number);
                maybe = maybe || number < 0;
        }
        if (d)
                closedir(d);
        return does || (maybe && has_argument(pid, where));
}

pid_t cpu_find_mount(const char *path)
{
        char where[PATH_MAX];
        struct stat st;
        pid_t found = 0;

        if (mountpoint_of(path, where) || stat(where, &st))
                return 0;
        DIR *d = opendir("/proc");
        for (struct dirent *e; d && !found && (e = readdir(d));) {
                if (*e->d_name < '1' || *e->d_name > '9')
                        continue;
                if (serves(e->d_name, st.st_dev, where))
                        found = (pid_t)strtol(e->d_name, NULL, 10);
        }
        if (d)
                closedir(d);
        return found;
}
