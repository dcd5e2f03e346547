/* SPDX-License-Identifier: Apache-2.0 */
/* rename.h: gives a file or a directory another name, at the store and in the tree.
 *
 * A file that is at the store is copied there to its new key and the old one deleted, or renamed in
 * one step where the store can; one that is not is renamed in the tree alone. Nodes keep their
 * identity, so that the kernel's inodes and pages stay good and open files follow. */
#ifndef CKPTFS_MOUNT_RENAME_H
#define CKPTFS_MOUNT_RENAME_H

#include "base/mutex.h"
#include "mount/core/mount.h"
#include "mount/rename/orphan.h"
#include "mount/rename/name_lock.h"

struct rename {
        /* The caller's; strings are malloc'ed and freed by rename_release(). The directories stay
         * for as long as this runs. */
        struct mount *m;
        struct node *from_dir, *to_dir;
        char *from, *to; /* names */
        bool no_replace; /* -EEXIST if there is something */
        /* Whether it is to begin, once the names are locked; else it ends with -EINTR. */
        bool (*wanted)(struct rename *r);
        /* Runs once, maybe before rename_start() returns. After an error both names lead to what
         * they did, or to the file that should be renamed; the log says which. */
        void (*done)(struct rename *r, int err);

        /* rename.c's own */
        struct name_lock lock;
        char *from_key, *to_key; /* keys, of directories too without a '/' at their end */
        struct leaving leaving;  /* of a target that is a file */
        struct node *n, *target; /* the lock's; target: NULL, or what has the new name */
        char etag[STORE_ETAG_MAX], new_etag[STORE_ETAG_MAX];
        struct rename_reader *readers; /* of what is renamed */
        unsigned tries;
        bool unknown;  /* it ended with -ENOENT since the tree does not know the old name */
        bool replaced; /* elsewhere: it is another version that was renamed */
};

void rename_start(struct rename *r);
void rename_release(struct rename *r);

/* Says in the log which renames were left unfinished, once the store has answered. */
void rename_find_left(struct mount *m);

#endif
