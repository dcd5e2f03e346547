/* SPDX-License-Identifier: Apache-2.0 */
/* park.h: the bytes of a file that is open for reading while its name goes away or to another file.
 *
 * A store forgets an object with its name. What readers still need is copied aside first, to
 * UNLINKED_PREFIX ID, where no listing of the mount shows it, and they are sent there; it goes when
 * the node does. */
#ifndef CKPTFS_MOUNT_PARK_H
#define CKPTFS_MOUNT_PARK_H

#include "mount/mount.h"

/* The node is about to lose its name: from now on nothing it writes is published, a commit under
 * way ends, and what its readers read is copied aside (else the log says so and they will get
 * ESTALE). done() runs once, maybe before this returns. The caller keeps the node. */
void park_leave(struct mount *m, struct node *n, void (*done)(void *arg), void *arg);

/* The name is gone, or is another's: its node, if it has one and that is not `but`, goes on without
 * one. */
void park_gone(struct mount *m, struct node *dir, const char *name, const struct node *but);

/* Gives the mount what it keeps for this. 0 or -ENOMEM. */
int park_init(struct mount *m);
/* Deletes what is left of such files, and frees m->park. Blocks. No request of the kernel may be
 * under way. */
void park_release(struct mount *m);

#endif
