/* SPDX-License-Identifier: Apache-2.0 */
/* mountpoint.h: whether a directory can be mounted on, and what is mounted there. */
#ifndef CKPTFS_MOUNT_MOUNTPOINT_H
#define CKPTFS_MOUNT_MOUNTPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Checks that `path` is /dev/fd/N, a descriptor of /dev/fuse that somebody with rights has mounted;
 * or an empty directory that nothing is mounted on and that /dev/fuse can be
 * opened. 0 with the absolute path malloc'ed in *out, or a negative errno with cause and remedy in
 * `why`. */
int mountpoint_check(const char *path, char **out, char *why, size_t nwhy);

/* Whether it is /dev/fd/N. */
bool mountpoint_is_descriptor(const char *path);

/* The device of what is mounted on that absolute path, without asking it; or, of /dev/fd/N, what
 * the kernel tells of `fuse`, the descriptor of /dev/fuse. 0: not known. */
dev_t mountpoint_device(const char *path, int fuse);

#endif
