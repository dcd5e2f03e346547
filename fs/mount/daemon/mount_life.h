/* SPDX-License-Identifier: Apache-2.0 */
/* mount_life.h: how a mount is put together, and taken apart. */
#ifndef CKPTFS_MOUNT_MOUNT_LIFE_H
#define CKPTFS_MOUNT_MOUNT_LIFE_H

struct mount;
struct store;

/* Builds all of it for an opened store, which it takes over. params, url and
 * mountpoint are set. 0 or -ENOMEM. */
int mount_init(struct mount *m, struct store *store);
/* What a reload has changed of the options comes into force, and credentials
 * are asked for anew. */
void mount_apply(struct mount *m);
/* Ends what is being written: commits under way finish, the rest is aborted, and nothing is opened
 * for writing any more. Blocks, at most for the option `deadline` from its first call on. */
void mount_finish(struct mount *m);
/* The same, then closes the store and frees everything. */
void mount_release(struct mount *m);

#endif
