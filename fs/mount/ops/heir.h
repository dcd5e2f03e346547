/* SPDX-License-Identifier: Apache-2.0 */
/* heir.h: who opens a file for reading while a rename replaces it gets the file that has the name
 * then.
 *
 * The open waits for the rename. Told that the file is gone, the kernel looks the name up once
 * more, and opens what it finds; if that is replaced as well by then, the program gets ESTALE, as
 * often as not where one name is replaced again and again. So who comes back is given a handle of
 * the heir, and what the kernel asked for, of which nothing is left, looks like the heir. As long
 * as one such handle is open, others get the same heir, whatever has the name by then.
 *
 * An heir is the second choice: the kernel has checked the mode and the owner of another file, and
 * a mapping that is shared does not see what is written to the heir later; before Linux 6.6 there
 * is none. One that is no regular file, or whose mode or owner differ, is not taken: the kernel
 * looks the name up again, or the program does. */
#ifndef CKPTFS_MOUNT_HEIR_H
#define CKPTFS_MOUNT_HEIR_H

#include "base/mutex.h"
#include "mount/ops/op.h"

/* What to open instead of the node; NULL: it still has its name, or nothing else has, or which name
 * the kernel means is not known. The tree is locked. */
struct node *heir_of_locked(struct mount *m, const struct node *n) REQUIRES(tree_mutex);

/* Whether the thread was told before that a file is gone, and has opened none since; else it is
 * told now. The tree is locked. */
bool heir_is_due_locked(struct mount *m, pid_t tid) REQUIRES(tree_mutex);
/* The thread has opened or made a file, or found none by the name. The tree is locked. */
void heir_over_locked(struct mount *m, pid_t tid) REQUIRES(tree_mutex);

/* Whether who may open `n` may open the heir as well. The tree is locked. */
bool heir_fits_locked(const struct mount *m, struct node *heir, struct node *n)
        REQUIRES(tree_mutex);

/* The handle, of the heir, is shown as the node `n`. The kernel is to forget the attributes of
 * that. The tree is locked. */
void heir_take_locked(struct handle *h, struct node *n) REQUIRES(tree_mutex);
void heir_drop_locked(struct mount *m, struct node *n) REQUIRES(tree_mutex);

#endif
