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

#include "bench/sim/store/made.h"

struct object;
struct index_node;

enum { INDEX_LEVELS = 16 };

struct index {
        struct index_node *head[INDEX_LEVELS];
        uint64_t rnd;
        size_t count;
        struct made *made;       /* what is there without an entry, or NULL */
        struct index_node *seen; /* of them, the one that was sought last */
};

void index_init(struct index *ix);
/* Lets go of all objects. */
void index_release(struct index *ix);

/* The index has these, too, but for those whose keys it has already. Once. Takes them over, unless
 * it returns -ENOMEM. */
int index_fill(struct index *ix, struct made *made);

/* Borrowed, NULL when there is none. One that was made has an entry from now on. */
struct object *index_find(struct index *ix, const char *key);
/* Takes over the reference; *old is the one that had the key, now the caller's, or NULL. 0 or
 * -ENOMEM (nothing changed). */
int index_put(struct index *ix, struct object *o, struct object **old);
/* The object, now the caller's, or NULL. */
struct object *index_remove(struct index *ix, const char *key);

/* The first entry whose key is not below `key`, or with `after` above it; NULL at the end. Valid
 * until the next change, or where the index was filled until the next entry is sought. */
const struct index_node *index_seek(const struct index *ix, const char *key, int after);
const struct index_node *index_next(const struct index *ix, const struct index_node *n);
struct object *index_object(const struct index_node *n);

#endif
