/* SPDX-License-Identifier: Apache-2.0 */
/* syscall_filter.h: system calls that no thread of this process makes again, nor any program that
 * it runs. */
#ifndef CKPTFS_MOUNT_SYSCALL_FILTER_H
#define CKPTFS_MOUNT_SYSCALL_FILTER_H

#include <stdbool.h>

/* Each of them gives EPERM from now on; rings of io_uring that are there already may be used, where
 * the mount has some (`rings`), and new ones not be made. Wants no_new_privs. 0, or a negative
 * errno: the kernel, or this build for its machine, has no filter. */
int syscall_filter(bool rings);

#endif
