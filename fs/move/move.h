/* SPDX-License-Identifier: Apache-2.0 */
/* move.h: gives all objects below one prefix another one, so that a crash leaves it completable.
 *
 * Stores rename no directories: all objects are copied, hundreds at once, then the old ones are
 * deleted in batches. A record (base/record/rename_journal.h) stands at the store meanwhile;
 * whoever finds it can go on. Where a store renames objects, each is renamed. Listings are read in
 * pages: memory does not grow with the directory. */
#ifndef CKPTFS_MOVE_MOVE_H
#define CKPTFS_MOVE_MOVE_H

#include "store.h"

struct move_job {
        struct store *store;
        const char *from, *to; /* with a '/' at their end; copied */
        bool may_be_empty;     /* else -ENOENT when there is no object */
        /* An object is at `to` too, or now: `name` is what follows the prefix, `was` and `etag` are
         * its versions at both. Runs on I/O threads, several at once. NULL is fine. */
        void (*copied)(void *arg, const char *name, const char *was, const char *etag);
        /* All are at `to`, which is to be used from now on; what is still at `from` goes after it.
         * Runs once, not after an error. NULL is fine. */
        void (*all_copied)(void *arg);
        /* The end. After an error before all_copied() all is at `from` again, and at `to` what
         * others have put there; else all is at `to`, and some may still be at `from`. What could
         * not be tidied up has its record left, and a line in the log. */
        void (*done)(void *arg, int err);
        void *arg;
};
/* 0 or a negative errno, and done() never runs. */
int move_start(const struct move_job *job);

/* Finishes a move of which a record was left: the object RENAME_JOURNAL_PREFIX `id` of that
 * version; or takes it back, when the record says so. What was written meanwhile stays, but where
 * objects are renamed what is at `to` goes back, whose ever it is. A mount that is at it still does
 * the same. Blocks. 0, or a negative errno: -EAGAIN the record was changed or deleted meanwhile. */
struct rename_journal;
int move_recover(struct store *store, const char *id, const char *version,
                 const struct rename_journal *record);

#endif
