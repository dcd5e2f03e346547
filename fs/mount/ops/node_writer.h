/* SPDX-License-Identifier: Apache-2.0 */
/* node_writer.h: how nodes come to have a file (wfile.h) and lose it again. */
#ifndef CKPTFS_MOUNT_NODE_WRITER_H
#define CKPTFS_MOUNT_NODE_WRITER_H

#include <stdint.h>

#include "base/mutex.h"
#include "mount/core/mount.h"

/* The node's file, made if there is none, of the version that the tree knows: with one reference
 * for the caller, who ends it with node_writer_put(). `key` is the node's. NULL: no memory. */
struct wfile *node_writer_locked(struct mount *m, struct node *n, const char *key)
        REQUIRES(tree_mutex);
/* Ends that; the node loses a file that nobody shares. What no close has published is published
 * first, behind the caller: all of it by the last, else what `u` has a part in; NULL: none. The
 * node is pinned. */
void node_writer_put(struct mount *m, struct node *n, struct wfile *f, const struct wfile_user *u);
/* Whether nobody else shares it. */
bool node_writer_is_last(struct mount *m, const struct node *n);

/* A change of size, and what comes after it. */
struct op_resize {
        struct waiter deferred;
        struct wfile *file;
        struct wfile_user *user; /* NULL: by name */
        uint64_t size;
        struct mount *m;
        struct request *request; /* that it is for */
        void (*done)(struct op_resize *r, int err);
};
/* Makes the file r->size bytes long, or not any more for who is gone (-EINTR); r->done() runs once,
 * maybe before this returns. */
void op_resize(struct op_resize *r);

/* See struct wfile_env. */
int node_writer_lock(void *mount, const char *key, bool alone, struct waiter *w,
                     struct key_lock **l);
void node_writer_unlock(void *mount, struct key_lock *l);
void node_writer_passes(void *mount, const char *key, const char *etag);
int node_writer_meta(void *mount, void *node, bool early, struct store_meta *meta);
int node_writer_merge(void *mount, void *node, const struct store_object *obj);
void node_writer_published(void *mount, void *node, const struct store_object *obj,
                           int64_t asked_ns);
void node_writer_gone(void *mount, void *node, int err);

#endif
