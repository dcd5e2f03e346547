/* SPDX-License-Identifier: Apache-2.0 */
/* index.h: objects sorted by the bytes of their keys: a skip list (Pugh, "Skip Lists: A
 * Probabilistic Alternative to Balanced Trees", 1990), one in four nodes on each next level.
 *
 * Finding, adding and removing take O(log n), the next entry O(1). Holds one reference of each
 * object. Not thread-safe: the caller has a lock. */
#ifndef CKPTFS_SIM_INDEX_H
#define CKPTFS_SIM_INDEX_H

#include <stddef.h>
#include <stdint.h>

struct object;
struct index_node;

enum { INDEX_LEVELS = 16 };

struct index {
        struct index_node *head[INDEX_LEVELS];
        uint64_t rnd;
        size_t count;
};

void index_init(struct index *ix);
/* Lets go of all objects. */
void index_release(struct index *ix);

/* Borrowed, NULL when there is none. */
struct object *index_find(const struct index *ix, const char *key);
/* Takes over the reference; *old is the one that had the key, now the caller's, or NULL. 0 or
 * -ENOMEM (nothing changed). */
int index_put(struct index *ix, struct object *o, struct object **old);
/* The object, now the caller's, or NULL. */
struct object *index_remove(struct index *ix, const char *key);

/* The first entry whose key is not below `key`, or with `after` above it; NULL at the end. Valid
 * until the next change. */
const struct index_node *index_seek(const struct index *ix, const char *key, int after);
const struct index_node *index_next(const struct index_node *n);
struct object *index_object(const struct index_node *n);

#endif
