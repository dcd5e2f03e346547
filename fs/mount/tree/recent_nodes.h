/* SPDX-License-Identifier: Apache-2.0 */
/* recent_nodes.h: nodes that nobody refers to, and that somebody is about to look at. */
#ifndef CKPTFS_MOUNT_RECENT_NODES_H
#define CKPTFS_MOUNT_RECENT_NODES_H

enum { RECENT_NODES_MOST = 256 };

struct node;

struct recent_nodes {
        struct node *v[RECENT_NODES_MOST]; /* the oldest at `turn` */
        unsigned turn;
};

/* Adds the node, and returns the one whose place it takes, or NULL. */
struct node *recent_nodes_add(struct recent_nodes *r, struct node *n);
/* Removes it: how many times it was there. */
unsigned recent_nodes_remove(struct recent_nodes *r, const struct node *n);

#endif
