/* SPDX-License-Identifier: Apache-2.0 */
/* open_intent.h: whether a name is looked up to be opened, or made. The kernel asks for a name
 * before and does not say why; its caller's system call tells. */
#ifndef CKPTFS_MOUNT_OPEN_INTENT_H
#define CKPTFS_MOUNT_OPEN_INTENT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* A system call that a thread is in. */
struct call {
        long nr;
        uint64_t arg[3], sp, pc;
};

/* Whether thread `tid` is in an open() with O_CREAT, which is *c then. False when that cannot be
 * read or is not certain: a 32-bit program, openat2(), whose flags are in memory, io_uring. */
bool caller_may_create(pid_t tid, struct call *c);
/* Whether the thread is in a call that asks for attributes or rights, and neither opens nor changes
 * anything. False when that is not certain. */
bool caller_only_looks(pid_t tid);
/* Whether that call makes the file `name` anew, whether it is there or not (O_CREAT with O_TRUNC,
 * without O_EXCL). Reads the memory of the caller, a page of which may be of this mount: another
 * thread must take requests meanwhile. A caller that does not let its memory be seen holds up the
 * thread until it dies. */
bool caller_creates(pid_t tid, const struct call *c, const char *name);
/* At the end: true when `thread` is held up by a caller. It returns from there no more. */
bool caller_leave(pthread_t thread);

/* --- its steps, for tests --- */

/* Reads the line of /proc/TID/syscall: false when the thread is in no call. */
bool call_read(const char *text, struct call *c);
bool call_only_looks(const struct call *c);
/* Whether the call makes a file anew, and where its path is. */
bool call_creates(const struct call *c, uint64_t *path);
/* Whether `name` is the last of the path and no directory on the way. */
bool path_makes(const char *path, const char *name);

#endif
