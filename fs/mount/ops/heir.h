/* SPDX-License-Identifier: Apache-2.0 */
/* heir.h: how an open ends well whose file is replaced meanwhile.
 *
 * Told that the file is gone (ESTALE), the kernel looks the name up once more, and opens what it
 * finds; told so again, the program gets the error. So the second try opens what its own lookup
 * brought: the store is asked then, after whatever a rename or a change of attributes here leaves
 * behind, and the version that it tells of stood after the open began. It is not asked for again.
 *
 * If a rename here replaces that, too, who comes back to read is given a handle of the heir, which
 * has the name then, and what the kernel asked for, of which nothing is left, looks like the heir.
 * As long as one such handle is open, others get the same heir, whatever has the name by then.
 *
 * An heir is the second choice: the kernel has checked the mode and the owner of another file, and
 * a mapping that is shared does not see what is written to the heir later; before Linux 6.6 there
 * is none. One that is no regular file, or that the caller might not read, is not taken. */
#ifndef CKPTFS_MOUNT_HEIR_H
#define CKPTFS_MOUNT_HEIR_H

#include "base/mutex.h"
#include "mount/ops/op.h"

/* What to open instead of the node; NULL: it still has its name, or nothing else has, or which name
 * the kernel means is not known. The tree is locked. */
struct node *heir_of_locked(struct mount *m, const struct node *n) REQUIRES(tree_mutex);

/* Whether the thread was told before that a file is gone, and has come back: it has opened none
 * since. The tree is locked. */
bool heir_is_due_locked(const struct mount *m, pid_t tid) REQUIRES(tree_mutex);
/* The same of one that looks a name up: what an earlier lookup brought is not believed any more, as
 * a program may ask for a file's attributes and open it later. The tree is locked. */
bool heir_looks_up_locked(struct mount *m, pid_t tid) REQUIRES(tree_mutex);
/* It is told now, of the node. The tree is locked. */
void heir_send_back_locked(struct mount *m, pid_t tid, const struct node *n) REQUIRES(tree_mutex);
/* The thread has opened or made a file, or found none by the name, or has come back in vain. The
 * tree is locked. */
void heir_over_locked(struct mount *m, pid_t tid) REQUIRES(tree_mutex);
/* A lookup of who has come back leads to the node, of which the store was asked for that. It counts
 * if the name is that of the file that had gone: a thread may have given that one up. The tree is
 * locked. */
void heir_tell_locked(struct mount *m, pid_t tid, const struct node *n) REQUIRES(tree_mutex);
/* Whether one did just now. The tree is locked. */
bool heir_is_told_locked(const struct mount *m, pid_t tid, const struct node *n)
        REQUIRES(tree_mutex);

/* Whether the caller, who may open `n` to read it, may open the heir as well, with the flags of the
 * open. The tree is locked. */
bool heir_fits_locked(const struct mount *m, struct node *heir, struct node *n,
                      const struct fuse_ctx *caller, int flags) REQUIRES(tree_mutex);

/* The handle, of the heir, is shown as the node `n`. The kernel is to forget the attributes of
 * that. The tree is locked. */
void heir_take_locked(struct handle *h, struct node *n) REQUIRES(tree_mutex);
void heir_drop_locked(struct mount *m, struct node *n) REQUIRES(tree_mutex);

#endif
