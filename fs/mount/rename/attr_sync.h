/* SPDX-License-Identifier: Apache-2.0 */
/* attr_sync.h: attributes of a node, and how changes of them reach its object.
 *
 * node->attr is what programs see. A change of a committed object is sent by itself, by replacing
 * the object's metadata; what changes while one is on its way is sent together after it. A file
 * that has unpublished bytes sends nothing: its next commit carries the attributes. Whoever else
 * changes or deletes the object waits for the change under way (attr_sync_wait()): a store may
 * finish a copy after a later request. Nothing blocks. */
#ifndef CKPTFS_MOUNT_ATTR_SYNC_H
#define CKPTFS_MOUNT_ATTR_SYNC_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/mutex.h"
#include "mount/core/mount.h"

/* The attributes of a file or directory `name` that `uid` and `gid` make in `dir`; `mode` has its
 * type, and the umask is applied. To be released. The tree is locked. */
struct attr attr_sync_fresh_locked(const struct mount *m, const struct node *dir, const char *name,
                                   mode_t mode, uid_t uid, gid_t gid, dev_t rdev)
        REQUIRES(tree_mutex);

/* Whether a commit is what makes changes of the node known, or nothing does. The tree is locked. */
bool attr_sync_waits_for_commit_locked(const struct node *n) REQUIRES(tree_mutex);

/* Sends the changes that the object does not carry yet, or leaves them to the commit to come;
 * `before` is what it carries. The waiter is told, maybe before this returns. -ESTALE, -ENOENT: the
 * object is another by now, or gone; then the node's attributes are to be asked for anew. After an
 * error they are what they were. */
void attr_sync(struct mount *m, struct node *n, const struct attr *before, struct waiter *w);

/* Tells the waiter when no change is on its way to the object, or, without `all`, when the one that
 * is has arrived or failed; maybe before this returns. */
void attr_sync_wait(struct mount *m, struct node *n, bool all, struct waiter *w);

/* The node has a new reader, which is to follow a change that is on its way. Returns a reader that
 * does not any more, or NULL: reader_moved() it once the tree is unlocked. */
struct reader *attr_sync_follow_locked(struct node *n) REQUIRES(tree_mutex);

/* The end of the mount: waits until no change is on its way. Blocks. */
void attr_sync_finish(struct mount *m);

/* --- commits of a file's bytes --- */

/* The metadata of the version that is to be published. `early`: of an upload that begins before the
 * last byte is known. 0, -ENOSPC or -ENOMEM. */
int attr_sync_meta(struct mount *m, struct node *n, bool early, struct store_meta *meta);
/* The version that the file began with has other metadata than when it was asked for: those come,
 * but for what was changed here. 0 or a negative errno. */
int attr_sync_merge(struct mount *m, struct node *n, const struct store_object *obj);
/* The commit that asked attr_sync_meta() last was published as `obj`, as the store was asked to at
 * `asked_ns`. The node takes that over. Whether attributes changed meanwhile: call attr_sync(). The
 * tree is locked. */
bool attr_sync_published_locked(struct mount *m, struct node *n, const struct store_object *obj,
                                int64_t asked_ns) REQUIRES(tree_mutex);
/* Nobody writes the file any more: times of what was written and not published are taken back.
 * Whether attributes changed that no version carries, since it failed: call attr_sync(). The tree
 * is locked. */
bool attr_sync_left_locked(struct node *n) REQUIRES(tree_mutex);
/* `uid` writes to the file, or cuts it, now. */
void attr_sync_touch(struct mount *m, struct node *n, uid_t uid);
/* It was refused, and nothing else was written since the file was published. */
void attr_sync_untouch(struct mount *m, struct node *n);

/* The key of the object that carries the attributes: of the root ".ckptfs/root". NULL: no memory.
 */
char *attr_sync_key(struct mount *m, const struct node *n);

#endif
