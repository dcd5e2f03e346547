/* SPDX-License-Identifier: Apache-2.0 */
/* mountpoint.h: whether a directory can be mounted on, and what is mounted there. */
#ifndef CKPTFS_MOUNT_MOUNTPOINT_H
#define CKPTFS_MOUNT_MOUNTPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Whether somebody with rights has mounted: where `path` is /dev/fd/N, or a service manager has
 * handed over the descriptor of what is mounted on `path` (notify_handed()). 0 with that descriptor
 * of /dev/fuse in *handed, or -1: nobody has; and the absolute path malloc'ed in *out. A negative
 * errno with cause and remedy in `why`: it is no such descriptor. */
int mountpoint_handed(const char *path, char **out, int *handed, char *why, size_t nwhy);

/* Checks that `path` is an empty directory that nothing is mounted on and that /dev/fuse can be
 * opened. 0 with the absolute path malloc'ed in *out, or a negative errno with cause and remedy in
 * `why`. */
int mountpoint_check(const char *path, char **out, char *why, size_t nwhy);

/* 0, or -EBUSY with cause and remedy in `why`: something is mounted on that absolute path, and does
 * not wait for this mount. */
int mountpoint_is_taken(const char *path, char *why, size_t nwhy);

/* Checks that none of the files and directories that the options name lies in the mount, which
 * would wait for itself: 0, or -EINVAL with cause and remedy in `why`. `mounted`: NULL, or its
 * device if it is there already; where that is 0, not known, what leads to it by a symbolic link is
 * not seen. */
struct params;
int mountpoint_check_options(const char *mountpoint, const dev_t *mounted, const struct params *p,
                             char *why, size_t nwhy);

/* The device of what is mounted on that absolute path, without asking it; or, of /dev/fd/N, what
 * the kernel tells of `fuse`, the descriptor of /dev/fuse. 0: not known. */
dev_t mountpoint_device(const char *path, int fuse);

#endif
