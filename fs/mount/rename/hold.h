/* SPDX-License-Identifier: Apache-2.0 */
/* hold.h: keeps the files below a node from being published while the node gets another name, and
 * tells them their new keys. Those that are opened meanwhile are held, too. */
#ifndef CKPTFS_MOUNT_HOLD_H
#define CKPTFS_MOUNT_HOLD_H

#include "base/mutex.h"
#include "mount/core/mount.h"

struct held;

struct hold {
        struct mount *m;
        struct node *root; /* the caller's, who keeps it: a file, or a directory */
        void (*ready)(void *arg);
        void *arg;
        /* hold.c's own */
        struct tree_watch watch;
        struct held *list;
        size_t waiting;
};

/* Runs h->ready(h->arg), maybe before it returns, once nothing that is held is being published. */
void hold_begin(struct hold *h);
/* From now on they are published at `key`, or, NULL, at the keys that the tree says, where the
 * versions they began with are, too. The tree is locked. */
void hold_rename_locked(struct hold *h, const char *key) REQUIRES(tree_mutex);
/* Lets them go, if any are held. */
void hold_end(struct hold *h);

#endif
