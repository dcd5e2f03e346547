/* SPDX-License-Identifier: Apache-2.0 */
/* proc_fds.h: descriptors of a file in other processes, as /proc tells.
 *
 * Since the kernel closes descriptors while a process executes another program, a process may hold
 * its exec_update_lock and wait for our answer to that close. What wants the lock, too, waits for
 * ourselves then. On Linux 6.18, with a process in such a close:
 *
 *      may be read     status, statm, comm, fd/ (names alone), fdinfo/N, task/, task/TID/children,
 *                      mountinfo; tgkill() and kill() with signal 0
 *      waits for it    stat, syscall, wchan, stack, maps, stat() and readlink() of fd/N, kcmp(),
 *                      process_vm_readv(), pidfd_getfd()
 *
 * Here only the first are read, and kcmp() is called where nothing else tells: on a thread that
 * nobody waits for longer than a moment (proc_query.h). A thread that waits in another call than
 * exec or exit cannot be in that state, nor can its process: exec ends all other threads before it
 * takes the lock. So whatever such a caller's own files tell may be read (exit_signal.c,
 * open_intent.c). */
#ifndef CKPTFS_MOUNT_PROC_FDS_H
#define CKPTFS_MOUNT_PROC_FDS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "mount/caller/mount_list.h"

enum { PROC_FDS_MAX = 1024, PROC_FDS_PIDS = 1024, PROC_VIEW_MOUNTS = 8 };

/* What was seen of processes: each is looked at once, so that several files are looked for at the
 * price of one. It tells of some time between its beginning, all zero but for `list`, and now. */
struct proc_view {
        struct mount_list *list; /* the mounts of the files that matter: two mounts of one bucket
                                    have the same inode numbers; NULL: any */
        size_t nfds, maxfds;
        struct proc_view_fd {
                pid_t pid, tid; /* the process, and a thread of it that has them */
                int fd;
                unsigned long mount;
                ino_t ino;
        } * fds; /* open for writing, on any mount */
        size_t nkin, maxkin;
        struct proc_view_kin {
                pid_t pid, child;
        } * kin;
        size_t nmounts;
        struct proc_view_mount {
                unsigned long id;
                bool matches;
        } mounts[PROC_VIEW_MOUNTS]; /* whether they are in the list */
        size_t npids;
        struct proc_view_pid {
                pid_t pid;
                bool has_fds, has_kin; /* they are above */
        } pids[PROC_FDS_PIDS];
};

/* Forgets what was seen, and frees it. */
void proc_view_release(struct proc_view *view);

struct proc_fds {
        ino_t ino; /* to look for */
        size_t n;
        struct proc_fds_one {
                pid_t pid, tid;
                int fd;
        } v[PROC_FDS_MAX]; /* open for writing */
        size_t npids;
        pid_t pids[PROC_FDS_PIDS]; /* looked at */
};

/* Looks for the file in process `pid` and, if asked, in its descendants. */
void proc_fds_add(struct proc_fds *f, struct proc_view *view, pid_t pid, bool descendants);

/* Whether the descriptors found are of `opens` opens or more: those copied by dup() or fork() are
 * of one. Calls kcmp(2), which may wait for an exec of somebody, only when more than one is asked
 * for, and for process `closer`, which may be in one, only if those of others are not enough. Where
 * opens cannot be told apart, they count as one. */
bool proc_fds_hold(struct proc_fds *f, unsigned opens, pid_t closer);

/* The number of the newest process or thread, so that two equal answers mean that none was made in
 * between; -1 where the kernel does not tell. */
int newest_process(void);

#endif
