/* SPDX-License-Identifier: Apache-2.0 */
/* pass.h: keeps changes out of what is being renamed or unlinked.
 *
 * Whatever makes, removes, opens or changes a name holds a pass meanwhile. A rename's bars its
 * root, which is then at rest: those who come wait until the rename has ended and see what became
 * of it: what has a copy is known by that until then, and the rename waits for those who came
 * before it. So does the removal of a file: one that is opened between the deletion's request and
 * its reply would be published again, or lose what it was begun with. A pass is waited for only by
 * later ones, so none waits for itself. Nothing blocks: who waits is a small struct. */
#ifndef CKPTFS_MOUNT_PASS_H
#define CKPTFS_MOUNT_PASS_H

#include "mount/mount.h"

struct pass {
        /* The caller's: where names change, the second may be NULL; what is renamed or
         * unlinked, or NULL; all stay. Keys are to be made in go(), which runs once, maybe before
         * pass_enter() returns. */
        struct node *in[2];
        struct node *root;
        void (*go)(struct pass *p);
        /* pass.c's own */
        struct pass *next, **link, *next_ready;
        bool drains;
};

void pass_enter(struct mount *m, struct pass *p);
void pass_leave(struct mount *m, struct pass *p);

/* Whether a pass for changes in `n` would have to wait now. The tree is locked. */
bool pass_barred_locked(const struct mount *m, struct node *n);

/* Whether a rename or removal is under way of `n` (which may be NULL) or of what is above `dir`, or
 * a rename from or to that directory. The tree is locked. */
bool pass_changes_locked(const struct mount *m, const struct node *dir, const struct node *n);

#endif
