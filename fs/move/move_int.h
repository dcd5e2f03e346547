/* SPDX-License-Identifier: Apache-2.0 */
/* move_int.h: what move.c (the course of a move, copies) and purge.c (deletions) share. */
#ifndef CKPTFS_MOVE_MOVE_INT_H
#define CKPTFS_MOVE_MOVE_INT_H

#include "move/copied.h"
#include "store.h"

struct purge {
        struct store *store;
        const char *victims, *twins; /* prefixes that end in '/'; copied */
        bool are_copies;             /* the victims are copies of the twins, else originals */
        const struct copied *copied; /* which versions of the victims go, sorted; or NULL */
        void (*done)(void *arg, int err);
        void *arg;
};
/* Deletes the objects below `victims` that have a twin below `twins`, in batches, and originals
 * whose twin was taken away, unless they may have come back. What others have made stays: copies
 * that `copied` does not name, originals of another version than was copied, and, where `copied` is
 * NULL or partial, an original that is newer than its copy or has none; where it is NULL, copies of
 * other bytes than the original. done() gets the first error; all that can be deleted are. 0 or a
 * negative errno, and done() never runs. */
int purge_start(const struct purge *job);

#endif
