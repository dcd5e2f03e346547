/* SPDX-License-Identifier: Apache-2.0 */
/* stat_prefetch.h: names of a directory that are asked for before they are looked at, since
 * somebody goes through what was listed. Answers go to the tree as those of a lookup do, and are
 * believed as long as if it had been made when they were asked for. */
#ifndef CKPTFS_MOUNT_STAT_PREFETCH_H
#define CKPTFS_MOUNT_STAT_PREFETCH_H

#include <stdbool.h>
#include <stdint.h>

#include "mount/tree/tree.h"

struct stat_prefetch;
struct lookup;
struct mount;
struct params;

/* What a mount keeps for it; its fields are guarded by the tree's lock. NULL: no memory. */
struct stat_prefetch *prefetch_new(const struct params *p);
void prefetch_free(struct stat_prefetch *a); /* NULL is fine */

/* `lister` begins to list the directory, and tells a name; see readdir_history.h. */
void prefetch_list_locked(struct mount *m, struct node *dir, const void *lister)
        REQUIRES(tree_mutex);
void prefetch_tell_locked(struct node *dir, const void *lister, uint64_t off, const char *name,
                          uint64_t ino, bool is_dir) REQUIRES(tree_mutex);

/* The kernel looks at a name, which has the node `n` if any; `known`: it need not be asked for.
 * *was_dir is set when it was listed as a directory. Returns what is to be asked for now:
 * prefetch_ask() it, once the tree is unlocked. */
struct lookup *prefetch_look_locked(struct mount *m, struct node *dir, const char *name,
                                    struct node *n, bool known, bool *was_dir) REQUIRES(tree_mutex);
void prefetch_ask(struct lookup *list);

/* Whether the same name is being asked for: then the lookup begins anew when that has ended. */
bool prefetch_join_locked(struct lookup *l) REQUIRES(tree_mutex);

/* A lookup ahead has ended with what the store said, or with -errno and NULL. Those who wait for it
 * get an error of the store, and ask what they would have asked when nothing was found. */
void prefetch_end(struct lookup *l, int err, struct node_info *info);

#endif
