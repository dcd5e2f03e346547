/* SPDX-License-Identifier: Apache-2.0 */
/* readdir_history.h: the names of a directory in the order of its last listing, and the programs
 * that look at one after the other.
 *
 * A program that reads all names first looks at them afterwards: in the order of the listing, or,
 * as fts does with very many, in that of their inode numbers. Looks that follow each other in
 * either order are a walk, whose window says how many names may be asked for ahead of it. Pure, and
 * not thread-safe: under the tree's lock. */
#ifndef CKPTFS_MOUNT_READDIR_HISTORY_H
#define CKPTFS_MOUNT_READDIR_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
        HISTORY_BEGIN = 3, /* looks in a row that are a walk */
        HISTORY_FIRST = 4, /* names asked for ahead then; twice as many as it goes on */
        HISTORY_MOST = 64, /* up to this */
        HISTORY_SLACK = 8, /* names that a walk may leave out; a few at once go back as far */
        HISTORY_WASTE = 64 /* names that may have been asked for in vain: no more is asked then */
};

/* The histories of all directories of a mount. When memory is short, the one that was listed
 * longest ago is dropped. */
struct readdir_history;
struct readdir_histories {
        struct readdir_history *newest, *oldest;
        size_t bytes, most;
};

struct walk;

/* `lister` lists a directory from its beginning: *at is the history that it fills, instead of what
 * was there. *at is set to NULL when the history is dropped. */
void history_begin(struct readdir_histories *all, struct readdir_history **at, const void *lister);
/* The lister listed a name, and goes on behind it at `off`. A name that was listed before, or by
 * another lister, is ignored. A history that has no room stays as it is until a walk has reached
 * its end: then it begins anew with this name. `r` may be NULL. */
void history_add(struct readdir_history *r, const void *lister, uint64_t off, const char *name,
                 uint64_t ino, bool dir);
void history_free(struct readdir_history *r); /* NULL is fine */

/* A program looks at the name with this inode number; *dir says whether it is a directory. `hit`:
 * the name had been asked for ahead. NULL: it is not in the history. The walk is to be used at
 * once. */
struct walk *history_look(struct readdir_history *r, uint64_t ino, int64_t now_ns, bool hit,
                          bool *dir);

/* The next name that the walk should ask for, or NULL. An answer is used up to `spare_ns` after it
 * was asked for, so a walk with pauses asks for few. */
const char *history_next(struct readdir_history *r, struct walk *w, int64_t spare_ns, bool *dir);
/* It is asked for. */
void history_asked(struct readdir_history *r);

#endif
