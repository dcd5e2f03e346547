/* SPDX-License-Identifier: Apache-2.0 */
/* follow.h: brings the thread that serves small writes to the core of the program that sends them.
 *
 * Such a program waits for each reply, so it and the thread take turns. On two cores each turn
 * wakes a sleeping core (18 us a request of 4 KiB in a virtual machine), on one it is a switch (7
 * us). The core is the program's own, idle while it waits: nobody else loses it. */
#ifndef CKPTFS_MOUNT_FOLLOW_H
#define CKPTFS_MOUNT_FOLLOW_H

#include <stddef.h>
#include <sys/types.h>

/* Tells that this thread has a write of n bytes by thread `pid` at hand. Small writes of one writer
 * in a row move this thread; any other lets it run everywhere again. */
void follow_writer(pid_t pid, size_t n);

/* Tells that a request is over: one that was no write lets this thread run everywhere again. */
void follow_end(void);

#endif
