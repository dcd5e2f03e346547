/* SPDX-License-Identifier: Apache-2.0 */
/* procfd.h: descriptors of a file in other processes, as /proc tells. Asks no file system: fdinfo
 * and mountinfo do not look at the file, and statx() is told not to. */
#ifndef CKPTFS_MOUNT_PROCFD_H
#define CKPTFS_MOUNT_PROCFD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { PROCFDS_MAX = 64, PROCFDS_PIDS = 256 };

/* What was seen of processes: each is looked at once, so that several files are looked for at the
 * price of one. It tells of some time between its beginning, all zero but for `dev`, and now. */
struct procview {
        dev_t dev; /* of the files that matter, 0: any */
        size_t nfds, maxfds;
        struct procview_fd {
                pid_t pid;
                int fd;
                ino_t ino; /* 0: cannot be told from here */
        } * fds;
        size_t nkin, maxkin;
        struct procview_kin {
                pid_t pid, child;
        } * kin;
        size_t npids;
        struct procview_pid {
                pid_t pid;
                bool has_fds, has_kin; /* they are above */
        } pids[PROCFDS_PIDS];
};

/* Forgets what was seen, and frees it. */
void procview_release(struct procview *view);

struct procfds {
        ino_t ino; /* to look for */
        size_t n;
        struct {
                pid_t pid;
                int fd;
        } v[PROCFDS_MAX]; /* open for writing */
        size_t npids;
        pid_t pids[PROCFDS_PIDS]; /* looked at */
};

/* Looks for the file in process `pid` and, if asked, in its descendants. */
void procfds_add(struct procfds *f, struct procview *view, pid_t pid, bool descendants);

/* How many opens the descriptors found are of: those copied by dup() or fork() are one (kcmp(2)).
 * Where that cannot be told, 1 for any. */
size_t procfds_distinct(const struct procfds *f);

/* The number of the newest process or thread, so that two equal answers mean that none was made in
 * between; -1 where the kernel does not tell. */
int newest_process(void);

#endif
