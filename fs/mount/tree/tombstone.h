/* SPDX-License-Identifier: Apache-2.0 */
/* tombstone.h: what is known not to be in a directory, why, and since when. See
 * docs/decisions/055.
 *
 * A tombstone of one name says that it was removed here, or given to something else, or that
 * another host has changed what it leads to. Replies to what the store was asked before then
 * describe the past, also when the name is there again.
 *
 * A tombstone of a range says that the store had no name between two others when it was asked. It
 * counts for as long as the caller allows. It ends where a name may have come to be since: a name
 * that has a node is never looked for here, so that is when a name loses its node. So does what is
 * known of a name that was missing, which is a range of one.
 *
 * Both are bounded; what is pushed out leaves a time behind or is asked for again. Pure, and not
 * thread-safe: under the tree's lock. */
#ifndef CKPTFS_MOUNT_TOMBSTONE_H
#define CKPTFS_MOUNT_TOMBSTONE_H

#include <stdbool.h>
#include <stdint.h>

/* --- names that were removed, of a whole mount --- */

/* Each is known by a hash of directory and name. */

enum { TOMBSTONE_NAMES = 1 << 14 };

struct tombstones;
struct tombstones *tombstones_new(void); /* NULL: no memory */
void tombstones_free(struct tombstones *t);

/* `why`: REMOVED, or CHANGED by another host, so that something may have the name. */
enum removed { NOT_REMOVED, MAYBE_REMOVED, CHANGED, REMOVED };
void tombstone_add_name(struct tombstones *t, uint64_t hash, enum removed why, int64_t now_ns);
/* The name is there again: it has changed. */
void tombstone_end_name(struct tombstones *t, uint64_t hash);

/* Whether the name was removed, or changed, at `since_ns` or later; `maybe` if its tombstone may
 * have been pushed out. */
enum removed tombstone_find_name(const struct tombstones *t, uint64_t hash, int64_t since_ns);

/* --- ranges of one directory that the store had nothing in --- */

enum { TOMBSTONE_RANGES = 32 };

struct tombstone_range;
struct tombstone_missing;
struct dir_tombstones { /* all zeros: there are none */
        struct tombstone_range *ranges;
        struct tombstone_missing *missing;
        int64_t ended_ns; /* when a name last ended one, or would have */
};
void dir_tombstones_release(struct dir_tombstones *d);

/* The store had nothing between the names `from` and `to` (NULL: the end), which are copied; names
 * of directories end in '/'. Nothing is noted when a name ended ranges since, or without memory. */
void tombstone_add_range(struct dir_tombstones *d, const char *from, const char *to,
                         int64_t asked_ns);
/* The name may be there: only what is before and behind it stays. */
void tombstone_end_range(struct dir_tombstones *d, const char *name, int64_t now_ns);

/* Whether there was neither a file nor a directory `name` when the store was asked, after
 * `since_ns`. */
bool tombstone_in_range(const struct dir_tombstones *d, const char *name, int64_t since_ns);

/* --- names of one directory that the store was asked for in vain, each by its hash --- */

enum { TOMBSTONE_MISSING = 64 };

/* Nothing is noted when a name may have come to be since, or without memory. */
void tombstone_add_missing(struct dir_tombstones *d, const char *name, int64_t asked_ns);
bool tombstone_is_missing(const struct dir_tombstones *d, const char *name, int64_t since_ns);

#endif
