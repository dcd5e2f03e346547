/* SPDX-License-Identifier: Apache-2.0 */
/* rename_journal.h: the record of a directory that is being renamed, so that what a crash
 * interrupts can be finished. One JSON object at the store, RENAME_JOURNAL_PREFIX ID, there for as
 * long as the rename. Pure.
 */
#ifndef CKPTFS_BASE_RENAME_JOURNAL_H
#define CKPTFS_BASE_RENAME_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RENAME_JOURNAL_PREFIX ".ckptfs/intent/"

enum { RENAME_JOURNAL_TEXT_MAX = 16 << 10 };

/* Strings are malloc'ed. */
struct rename_journal {
        char *from, *to;  /* directories, with a '/' at their end */
        bool copied;      /* all is at `to`: what is left to do is to delete `from` */
        bool undone;      /* what was brought to `to` goes back */
        const char *turn; /* random: no two records have one version; of what is read NULL */
        char *host;       /* that renames; NULL: unknown */
        int64_t time_ns;
};
void rename_journal_release(struct rename_journal *i);

/* As text, malloc'ed; NULL: no memory. */
char *rename_journal_print(const struct rename_journal *i);

/* Reads it; `name` stands for it in `why`. 0, -ENOMEM or -EINVAL with one line in `why`. */
int rename_journal_parse(const char *name, const char *text, size_t n, struct rename_journal *out,
                         char *why, size_t nwhy);

#endif
