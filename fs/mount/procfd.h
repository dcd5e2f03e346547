/* SPDX-License-Identifier: Apache-2.0 */
/* procfd.h: descriptors of a file in other processes, as /proc tells. Asks no file system: neither
 * fdinfo nor mountinfo looks at the file. */
#ifndef CKPTFS_MOUNT_PROCFD_H
#define CKPTFS_MOUNT_PROCFD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { PROCFDS_MAX = 64, PROCFDS_PIDS = 256 };

struct procfds {
        ino_t ino; /* to look for */
        dev_t dev; /* of its mount, 0: any */
        size_t n;
        struct {
                pid_t pid;
                int fd;
        } v[PROCFDS_MAX]; /* open for writing */
        size_t npids;
        pid_t pids[PROCFDS_PIDS]; /* looked at */
};

/* Looks for the file in process `pid` and, if asked, in its descendants. */
void procfds_add(struct procfds *f, pid_t pid, bool descendants);

/* How many opens the descriptors found are of: those copied by dup() or fork() are one (kcmp(2)).
 * Where that cannot be told, 1 for any. */
size_t procfds_distinct(const struct procfds *f);

/* The number of the newest process or thread, so that two equal answers mean that none was made in
 * between; -1 where the kernel does not tell. */
int newest_process(void);

#endif
