/* SPDX-License-Identifier: Apache-2.0 */
/* orphan.h: the bytes of a file that is open for reading while its name goes away or to another
 * file.
 *
 * A store forgets an object with its name. What readers still need is copied aside first, to
 * UNLINKED_PREFIX ID, where no listing of the mount shows it, and they are sent there; it goes when
 * the node does. */
#ifndef CKPTFS_MOUNT_ORPHAN_H
#define CKPTFS_MOUNT_ORPHAN_H

#include "mount/core/mount.h"

/* A node that is about to lose its name, in a change that the store may still refuse: prepared, the
 * store is asked, then the change is committed or undone. */
enum leave_state { LEAVE_NONE, LEAVE_PREPARING, LEAVE_PREPARED };
struct leaving {
        /* The caller's, who has an exclusive lock on the node: its file is not published. */
        struct mount *m;
        struct node *n;
        void (*ready)(void *arg);
        void *arg;
        /* orphan.c's own */
        enum leave_state state;
        char *key, *copy; /* the object's, and that of what was copied aside */
        char etag[STORE_ETAG_MAX], copy_etag[STORE_ETAG_MAX];
        bool aside; /* those who have it open use the copy */
};
/* Runs l->ready(l->arg), maybe before it returns, once what the node's readers read was copied
 * aside (else the log says so, and they will get ESTALE). */
void leave_prepare(struct leaving *l);
/* The name is gone: nothing that is written to the node is published any more. Before
 * leave_prepare(), this and the next do nothing. */
void leave_commit(struct leaving *l);
/* The node keeps its name: all is as it was. */
void leave_undo(struct leaving *l);

/* Gives the mount what it keeps for this. 0 or -ENOMEM. */
int orphan_init(struct mount *m);
/* Deletes what is left of such files, and frees m->orphans. Blocks. No request of the kernel may be
 * under way. */
void orphan_release(struct mount *m);

#endif
