/* SPDX-License-Identifier: Apache-2.0 */
/* listing.h: the entries of a directory as they come from the store, page by page, in bounded
 * memory.
 *
 * Entries are numbered from 0; the page being read is held, the one before it, and some that are
 * fetched ahead. Going back behind them lists anew, and counts what is there then. Names that
 * cannot be files are left out and counted. Thread-safe; nothing blocks. */
#ifndef CKPTFS_MOUNT_LISTING_H
#define CKPTFS_MOUNT_LISTING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/waiter.h"
#include "store.h"

struct listing;
struct node;
struct tree;

struct list_entry {
        const char *name;
        bool dir;
        uint64_t size;
        int64_t mtime_ns;
        const char *etag;
        /* Of a store whose listings carry metadata: pairs as in struct store_entry, for
         * store_entry_meta(), of a directory those of its marker (etag "": it has none); else meta
         * is NULL, and only the object tells. */
        const char *meta;
        size_t nmeta;
        bool partial;
        uint64_t metageneration;
        int64_t asked_ns; /* when the store was asked, as in struct node_info */
};

/* Lists the directory, whatever name it gets meanwhile, but in the root not the name `hidden`.
 * NULL: no memory. */
struct listing *listing_new(struct store *store, struct tree *tree, struct node *dir,
                            const char *hidden);
/* Drops the caller's reference; requests under way hold their own. NULL is fine. */
void listing_unref(struct listing *l);

/* Someone who wants entry `index`. The waiter is told once, maybe before listing_want() returns. */
struct list_wait {
        struct waiter waiter;
        uint64_t index;
};
void listing_want(struct listing *l, struct list_wait *w);

/* Starts anew at the next listing_want(): rewinddir(). */
void listing_rewind(struct listing *l);

/* Calls fn for entries from `index` on while it returns true and they are at hand. Returns the
 * index of the first entry not taken; *end says whether it is the end of the directory. fn must not
 * use the listing. */
uint64_t listing_each(struct listing *l, uint64_t index,
                      bool (*fn)(void *arg, const struct list_entry *e), void *arg, bool *end);

#endif
