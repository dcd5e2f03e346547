/* SPDX-License-Identifier: Apache-2.0 */
/* dir_marker.h: the empty object whose key ends in '/' by which a directory exists without files.
 */
#ifndef CKPTFS_MOUNT_DIR_MARKER_H
#define CKPTFS_MOUNT_DIR_MARKER_H

#include "mount/core/mount.h"

/* A name in the directory is about to go: makes the directory one that stays when it was the last,
 * if it is not known to be. One request a directory, once. done() runs once, maybe before this
 * returns; that a marker is refused is no reason not to go on. */
void dir_marker_ensure(struct mount *m, struct node *dir, void (*done)(void *arg), void *arg);

/* Makes the marker again that had this key and these metadata, unless there is one: what should
 * have taken its place has failed. `meta` lasts until done(), which runs once, maybe before this
 * returns; the log says an error. */
void dir_marker_restore(struct mount *m, const char *key, const struct store_meta *meta,
                        void (*done)(void *arg), void *arg);

#endif
