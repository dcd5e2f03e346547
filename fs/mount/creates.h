/* SPDX-License-Identifier: Apache-2.0 */
/* creates.h: whether a name is looked up to be made. The kernel asks for a name before it makes it
 * and does not say why; its caller's system call tells. */
#ifndef CKPTFS_MOUNT_CREATES_H
#define CKPTFS_MOUNT_CREATES_H

#include <stdbool.h>
#include <sys/types.h>

/* Whether thread `tid` is in an open() that makes the file `name` anew, whether it is there or not
 * (O_CREAT with O_TRUNC, without O_EXCL). False when that cannot be read. Reads the memory of the
 * caller, a page of which may be of this mount: another thread must take requests meanwhile. */
bool caller_creates(pid_t tid, const char *name);

#endif
