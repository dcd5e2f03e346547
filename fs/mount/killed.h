/* SPDX-License-Identifier: Apache-2.0 */
/* killed.h: tells a close by a program from a close by the kernel for a program that a signal
 * ended. */
#ifndef CKPTFS_MOUNT_KILLED_H
#define CKPTFS_MOUNT_KILLED_H

#include <stdbool.h>
#include <sys/types.h>

/* Whether the line of /proc/PID/stat tells of a process that dies by a signal: PF_EXITING (0x4,
 * include/linux/sched.h) in field 9 and a signal in the low 7 bits of exit_code, field 52;
 * proc_pid_stat(5). */
bool stat_line_tells_kill(const char *line);

/* Whether process `pid` dies by a signal just now. False when it cannot be read. */
bool killed(pid_t pid);

/* Whether `pid` still has the file of inode number `ino` open for writing by another descriptor: a
 * shell moves one by dup2() and close(), and that close ends nothing. Reads fdinfo, which asks no
 * file system. */
bool holds_open(pid_t pid, ino_t ino);

/* The process that thread `tid` belongs to: itself when that cannot be read. A request names the
 * thread, which may end long before its process does. */
pid_t process_of(pid_t tid);

#endif
