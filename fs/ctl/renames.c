/* SPDX-License-Identifier: Apache-2.0 */
/* renames.c: finishes renames of directories that a crash interrupted. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/record/rename_journal.h"
#include "ctl/ctl.h"
#include "move/move.h"

#include "base/banned.h"

static int finish(const struct ctl *c, const char *id)
{
        CLEANUP(rename_journal_release) struct rename_journal i = {.from = NULL};
        CLEANUP(freep) char *record = NULL, *text = NULL, *from = NULL, *to = NULL, *host = NULL;
        char why[CTL_WHY_MAX], age[CTL_AGE_MAX];
        size_t n;

        if (asprintf(&record, RENAME_JOURNAL_PREFIX "%s", id) < 0)
                return ctl_fail(id, -ENOMEM);
        int err = ctl_read(c->store, record, RENAME_JOURNAL_TEXT_MAX, &text, &n);
        if (err)
                return err == -ENOENT ? CTL_OK : ctl_fail(record, err); /* ended meanwhile */
        if (rename_journal_parse(record, text, n, &i, why, sizeof why) ||
            move_recover(c->store, id, text, n, why, sizeof why))
                return ctl_complain(why);
        from = ctl_printable(i.from);
        to = ctl_printable(i.to);
        host = ctl_printable(i.host ? i.host : "-");
        if (!from || !to || !host)
                return ctl_fail(record, -ENOMEM);
        printf("renamed\t%s\t%s\t%s\t%s\n", ctl_age(i.time_ns, age), host, from, to);
        return CTL_OK;
}

int ctl_recover_renames(const struct ctl *c)
{
        CLEANUP(ctl_names_release) struct ctl_names ids = {.n = 0};
        int rc = CTL_OK, err = ctl_names_get(c->store, RENAME_JOURNAL_PREFIX, &ids);

        if (err)
                return ctl_fail("the unfinished renames cannot be listed", err);
        for (size_t i = 0; i < ids.n; i++)
                if (finish(c, ids.v[i]))
                        rc = CTL_FAILED;
        return rc;
}
