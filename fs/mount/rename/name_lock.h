/* SPDX-License-Identifier: Apache-2.0 */
/* name_lock.h: one lock of all names of a mount.
 *
 * Whatever makes, removes, opens, cuts or changes something takes it shared, on the directory where
 * a name changes or on the node. A rename takes it exclusively on what it renames and on what it
 * replaces, an unlink on the file: that, with all below it, is at rest meanwhile. What is copied
 * would else lose what comes later, and what is deleted would come back.
 *
 * All nodes of a lock are asked for at once, and a lock is granted when none is left of those that
 * were asked for before it and conflict with it. So nobody waits for one that came later, nobody
 * waits for ever, and two that want the same nodes in another order wait one for the other only
 * once: as long as who has a lock does not take a second one. Nothing blocks: who waits is a small
 * struct.
 *
 * What a callback begins takes part. A change of attributes that a request began runs under the
 * request's lock, which lasts until it is done (attr_sync.h); one that the end of a commit begins
 * takes a lock of its own, since nobody else has one then (node_writer.c). A commit itself takes
 * none: what is renamed or unlinked holds the files (hold.h, orphan.h), and waits for requests that
 * publish. */
#ifndef CKPTFS_MOUNT_NAME_LOCK_H
#define CKPTFS_MOUNT_NAME_LOCK_H

#include <stdbool.h>

#include "base/mutex.h"
#include "mount/core/mount.h"

struct name_lock {
        /* The caller's: nodes that stay, or NULL. A rename has the directories of both names in
         * `shared`. granted() runs once, maybe before name_lock_take() returns; keys are to be made
         * in it. */
        struct node *shared[2], *exclusive[2];
        void (*granted)(struct name_lock *l);
        /* name_lock.c's own */
        struct name_lock *prev, *next, *next_granted;
        bool waits;
};

void name_lock_take(struct mount *m, struct name_lock *l);
/* May be taken again at once, also by granted(). */
void name_lock_drop(struct mount *m, struct name_lock *l);

/* Whether a lock that is shared on the node would have to wait now. The tree is locked. */
bool name_lock_bars_locked(const struct mount *m, const struct node *n) REQUIRES(tree_mutex);

/* Whether somebody has the node, or what is above it, for himself: what the store says of its name
 * now is of a change that is not over, and counts for nothing. The tree is locked. */
bool name_lock_rests_locked(const struct mount *m, const struct node *n) REQUIRES(tree_mutex);

/* Whether a rename or removal is under way of `n` (which may be NULL) or of what is above `dir`, or
 * a rename from or to that directory. The tree is locked. */
bool name_lock_changes_locked(const struct mount *m, const struct node *dir, const struct node *n)
        REQUIRES(tree_mutex);

#endif
