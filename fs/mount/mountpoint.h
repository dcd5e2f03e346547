/* SPDX-License-Identifier: Apache-2.0 */
/* mountpoint.h: whether a directory can be mounted on. */
#ifndef CKPTFS_MOUNT_MOUNTPOINT_H
#define CKPTFS_MOUNT_MOUNTPOINT_H

#include <stddef.h>

/* Checks that `path` is an empty directory that nothing is mounted on and that /dev/fuse can be
 * opened. 0 with the absolute path malloc'ed in *out, or a negative errno with cause and remedy in
 * `why`. */
int mountpoint_check(const char *path, char **out, char *why, size_t nwhy);

#endif
