/* SPDX-License-Identifier: Apache-2.0 */
/* privileges.h: what the daemon gives up before its first thread and once it has mounted, so that
 * whoever gets hold of it, by a reply or a request that does harm, holds less. */
#ifndef CKPTFS_MOUNT_PRIVILEGES_H
#define CKPTFS_MOUNT_PRIVILEGES_H

#include <stdbool.h>

/* No core is written, and no other process without privileges reads memory, environment or open
 * files of this one, of the same user either. */
void privileges_hide(void);

/* Keeps the capabilities that a mount needs, or, without CAP_SYS_PTRACE, all; and lets no program
 * that is run from here have more than this process: neither of that is for a process that unmounts
 * by fusermount3. Before the first thread, which would keep its own. */
void privileges_drop(bool unmounts);

/* Whether /proc tells this process who of any user has a file open, and what signal ends it. */
bool privileges_see_all(void);

/* Takes system calls from all threads that a mount does not make once it stands, one by
 * `rings` of io_uring, which it has or not. 0, or a negative
 * errno where the kernel has no filter; 0 also where privileges_drop() had to leave it out. */
int privileges_filter(bool rings);

#endif
