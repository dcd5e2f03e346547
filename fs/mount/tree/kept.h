/* SPDX-License-Identifier: Apache-2.0 */
/* kept.h: the nodes that stay, though nobody refers to them, for who will look at them soon. */
#ifndef CKPTFS_MOUNT_KEPT_H
#define CKPTFS_MOUNT_KEPT_H

enum { KEPT_MOST = 256 };

struct node;

struct kept {
        struct node *v[KEPT_MOST]; /* the oldest at `turn` */
        unsigned turn;
};

/* Keeps the node, and returns the one whose place it takes, or NULL. */
struct node *kept_add(struct kept *k, struct node *n);
/* Keeps it no more: how many times it was kept. */
unsigned kept_take(struct kept *k, const struct node *n);

#endif
