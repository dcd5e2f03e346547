/* SPDX-License-Identifier: Apache-2.0 */
/* name_lock.h: one lock of all names of a mount. See docs/decisions/032.
 *
 * It has three modes, and a node is locked with all that is below it:
 *
 *      shared     whatever makes, removes, opens, cuts or changes something, on the directory where
 *                 a name changes or on the node
 *      exclusive  a rename, on what it renames and on what it replaces; a removal, on what it
 *                 removes
 *      publish    a commit, or a change of attributes that is sent, on its file, while a request
 *                 is under way that needs the file's name or the version that has it; and by key,
 *                 on the object that is made, moved or removed
 *
 *                   shared   exclusive   publish
 *      shared       both     waits       both
 *      exclusive    waits    waits       waits
 *      publish      both     waits       one at a time for each file
 *
 * A lock is asked for with all its nodes at once, and shared and exclusive locks are granted in the
 * order in which they were asked for, as far as they conflict: nobody waits for one that came
 * later. When its turn has come, one that is exclusive pauses the files below its nodes
 * (wfile_pause()) until none of them publishes, locks the keys of its names, and is held. So a
 * commit waits for a rename or removal whose turn has come, never for one that waits:
 * whoever holds a shared lock may wait for a commit. Nothing blocks: whoever waits is a struct.
 *
 * An upload whose file was renamed is completed under its first name and moved from there. Nobody
 * else may give that name an object meanwhile, which would be moved or deleted in its place, nor
 * take this one away, nor rename or remove a directory that the name is in: it has the key alone.
 * All others have their keys beside one another. Whoever has a key waits for the store only. What
 * the store has at a key that is had so is on its way, and nobody sees it by that name.
 *
 * Whoever holds a lock does not take a second one. What a callback begins takes part: a change of
 * attributes that a request began runs under the request's lock, which lasts until it is done
 * (attr_sync.h); one that the end of a commit begins takes a lock of its own, since nobody else has
 * one then (node_writer.c). */
#ifndef CKPTFS_MOUNT_NAME_LOCK_H
#define CKPTFS_MOUNT_NAME_LOCK_H

#include <stdbool.h>

#include "base/mutex.h"
#include "base/waiter.h"
#include "mount/core/mount.h"

struct key_lock;
struct paused_file;

struct name_lock {
        /* The caller's. Nodes that stay until name_lock_take() returns, or NULL, and names that
         * stay as long as the lock: what has names[i] in shared[i] is locked exclusively. Both
         * directories are a rename's. The waiter is told once, maybe before name_lock_take()
         * returns; keys are to be made then. With an error (-ENOMEM) the lock is held as well, but
         * files below it may be published: nothing is to be begun. */
        struct node *shared[2];
        const char *names[2];
        struct waiter waiter;
        /* What has the names; NULL: nothing. Pinned while the lock is held. */
        struct node *exclusive[2];
        /* name_lock.c's own */
        struct mount *m;
        bool admitted;
        int err;
        size_t pausing; /* files that still publish */
        struct paused_file *files;
        struct waiter for_keys;
        struct key_lock *keys; /* of the names, or NULL */
};

void name_lock_take(struct mount *m, struct name_lock *l);
/* May be taken again at once, also when it is told. */
void name_lock_drop(struct name_lock *l);
/* What the lock is held for is over as far as files are concerned: they are published again. */
void name_lock_resume(struct name_lock *l);

/* Locks keys whose objects are about to change, all at once: the first, and the second unless it is
 * NULL; alone, with one, or beside others who are not. 0, and *l is held; -EAGAIN, and the waiter
 * is told once it is, in the order in which they were asked for; or -ENOMEM, and *l is NULL. */
int name_lock_publish(struct mount *m, const char *const keys[2], bool alone, struct waiter *w,
                      struct key_lock **l);
/* Ends one that is held. NULL is fine. */
void name_lock_published(struct mount *m, struct key_lock *l);

/* The version is at the key, which is held alone, where there was nothing before; NULL: it has left
 * that. */
void name_lock_passes(struct mount *m, const char *key, const char *etag);

/* Whether what the store has at the key is on its way to another name, and counts as absent. Where
 * that is not known yet, the waiter, unless it is NULL, is told when more is: then the store is
 * asked again. The tree is locked. */
enum passing { PASSES_NOT, PASSES, PASSES_MAYBE };
enum passing name_lock_passing_locked(const struct mount *m, const char *key, const char *etag,
                                      struct waiter *w) REQUIRES(tree_mutex);
enum passing name_lock_passing(struct mount *m, const char *key, const char *etag,
                               struct waiter *w);
/* Whether anything is: else there is nothing to ask. The tree is locked. */
static inline bool name_lock_any_passes_locked(const struct mount *m) REQUIRES(tree_mutex)
{
        return m->names.alone.first;
}

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
