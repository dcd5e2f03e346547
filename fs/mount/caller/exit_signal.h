/* SPDX-License-Identifier: Apache-2.0 */
/* exit_signal.h: tells a close by a program from a close by the kernel for a program that a signal
 * ended, and who waits for an answer from who is to end. */
#ifndef CKPTFS_MOUNT_EXIT_SIGNAL_H
#define CKPTFS_MOUNT_EXIT_SIGNAL_H

#include <stdbool.h>
#include <sys/types.h>

/* Whether the line of /proc/PID/stat tells of a process that dies by a signal: PF_EXITING (0x4,
 * include/linux/sched.h) in field 9 and a signal in the low 7 bits of exit_code, field 52;
 * proc_pid_stat(5). */
bool stat_line_tells_kill(const char *line);

/* Whether the text of /proc/TID/status tells of a signal that ends the thread as soon as it returns
 * from its call: one that is pending and neither blocked, ignored nor caught. A tracer may take any
 * but SIGKILL away. */
bool status_tells_end(const char *text);

/* Whether thread `tid`, which waits for an answer, is to end by a signal. False when that cannot be
 * read. Waits for nobody. */
bool is_dying(pid_t tid);

/* Whether thread `tid`, which waits for the answer to a close, is ended by a signal. False when
 * that cannot be read. Does not wait for a thread that is in an exec. */
bool killed(pid_t tid);

/* Whether there is no process `pid` any more. */
bool is_gone(pid_t pid);

/* Whether process `pid` is gone, or a signal is ending it. False when that cannot be read, and for
 * the moment between taking the signal and giving its memory back. */
bool is_ended(pid_t pid);

/* The process that thread `tid` belongs to: itself when that cannot be read. A request names the
 * thread, which may end long before its process does. */
pid_t process_of(pid_t tid);

#endif
