/* SPDX-License-Identifier: Apache-2.0 */
/* fdo_names.c: verbs of fdo.c that are about names and attributes, and one that sends signals. */
#include "tests/lib/fdo.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/banned.h"

static long long do_rename(char **a)
{
        return result(rename(a[0], a[1]));
}

/* rename2 n|x OLD NEW: RENAME_NOREPLACE, RENAME_EXCHANGE */
static long long do_rename2(char **a)
{
        unsigned flags = *a[0] == 'n' ? RENAME_NOREPLACE : RENAME_EXCHANGE;
        return result(renameat2(AT_FDCWD, a[1], AT_FDCWD, a[2], flags));
}

static long long do_link(char **a)
{
        return result(link(a[0], a[1]));
}

static long long do_symlink(char **a)
{
        return result(symlink(a[0], a[1]));
}

static long long do_mkfifo(char **a)
{
        return result(mkfifo(a[0], 0644));
}

static long long do_chmod(char **a)
{
        return result(chmod(a[1], (mode_t)number(a[0])));
}

static long long do_chown(char **a)
{
        return result(chown(a[1], (uid_t)number(a[0]), (gid_t)-1));
}

static long long do_utime(char **a)
{
        const struct timespec t[2] = {{.tv_sec = number(a[0])}, {.tv_sec = number(a[0])}};
        return result(utimensat(AT_FDCWD, a[1], t, 0));
}

static long long do_unlink(char **a)
{
        return result(unlink(a[0]));
}

static long long do_mkdir(char **a)
{
        return result(mkdir(a[0], 0755));
}

static long long do_rmdir(char **a)
{
        return result(rmdir(a[0]));
}

/* How many names the directory has. */
static long long do_list(char **a)
{
        DIR *d = opendir(a[0]);
        long long n = 0;
        if (!d)
                return -errno;
        errno = 0;
        while (readdir(d))
                n++;
        int err = errno;
        closedir(d);
        return err ? -err : FDO_NUMBER + n;
}

static long long do_getxattr(char **a)
{
        ssize_t n = getxattr(a[1], a[0], NULL, 0);
        return n < 0 ? -errno : FDO_NUMBER + n;
}

static long long do_setxattr(char **a)
{
        return result(setxattr(a[1], a[0], "x", 1, 0));
}

static long long do_readlink(char **a)
{
        char to[4096];
        ssize_t n = readlink(a[0], to, sizeof to);
        return n < 0 ? -errno : FDO_NUMBER + n;
}

static void on_alarm(int signo)
{
        (void)signo;
}

/* From now on a signal that is caught comes every 20 ms; calls go on after it. */
static long long do_alarms(char **a)
{
        const struct sigaction act = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
        const struct timeval often = {.tv_usec = 20000};
        const struct itimerval timer = {.it_interval = often, .it_value = often};
        (void)a;
        return result(sigaction(SIGALRM, &act, NULL) || setitimer(ITIMER_REAL, &timer, NULL) ? -1
                                                                                             : 0);
}

static long long do_namemax(char **a)
{
        struct statvfs v;
        return statvfs(a[0], &v) ? -errno : FDO_NUMBER + (long long)v.f_namemax;
}

const struct fdo_verb fdo_names[] = {
        {"rename", 2, do_rename},     {"rename2", 3, do_rename2},   {"link", 2, do_link},
        {"symlink", 2, do_symlink},   {"mkfifo", 1, do_mkfifo},     {"chmod", 2, do_chmod},
        {"chown", 2, do_chown},       {"utime", 2, do_utime},       {"unlink", 1, do_unlink},
        {"mkdir", 1, do_mkdir},       {"rmdir", 1, do_rmdir},       {"list", 1, do_list},
        {"getxattr", 2, do_getxattr}, {"setxattr", 2, do_setxattr}, {"readlink", 1, do_readlink},
        {"alarms", 0, do_alarms},     {"namemax", 1, do_namemax},   {NULL, 0, NULL},
};
