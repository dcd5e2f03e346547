/* SPDX-License-Identifier: Apache-2.0 */
/* renames.c: finishes renames of directories that a crash interrupted, or takes them back. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/record/rename_journal.h"
#include "ctl/ctl.h"
#include "move/move.h"

#include "base/banned.h"

enum {
        TRIES = 5 /* for a record that its mount, or another ckptctl, changes meanwhile */
};

static int print_rename(const struct rename_journal *i)
{
        CLEANUP(freep) char *from = ctl_printable(i->from), *to = ctl_printable(i->to);
        CLEANUP(freep) char *host = ctl_printable(i->host ? i->host : "-");
        char age[CTL_AGE_MAX];

        if (!from || !to || !host)
                return ctl_fail("renamed", -ENOMEM);
        printf("%s\t%s\t%s\t%s\t%s\n", i->undone ? "undone" : "renamed", ctl_age(i->time_ns, age),
               host, from, to);
        return CTL_OK;
}

/* 0 or a negative errno; -EAGAIN the record was changed or deleted meanwhile. */
static int finish_once(const struct ctl *c, const char *id, const char *record, int *rc)
{
        CLEANUP(rename_journal_release) struct rename_journal i = {.from = NULL};
        CLEANUP(freep) char *text = NULL;
        struct store_object obj;
        char why[CTL_WHY_MAX];
        int err = ctl_read(c->store, record, RENAME_JOURNAL_TEXT_MAX, &text, &obj);

        if (err)
                return err == -ESTALE ? -EAGAIN : err;
        if (rename_journal_parse(record, text, (size_t)obj.size, &i, why, sizeof why)) {
                *rc = ctl_complain(why);
                return 0;
        }
        err = move_recover(c->store, id, obj.etag, &i);
        if (!err)
                *rc = print_rename(&i);
        if (!err || err == -EAGAIN)
                return err;
        snprintf(why, sizeof why, "rename %s to %s cannot be %s: %s: try again", i.from, i.to,
                 i.undone ? "undone" : "finished", strerror(-err));
        *rc = ctl_complain(why);
        return 0;
}

static int finish(const struct ctl *c, const char *id)
{
        CLEANUP(freep) char *record = NULL;
        int rc = CTL_OK, err = -EAGAIN;

        if (asprintf(&record, RENAME_JOURNAL_PREFIX "%s", id) < 0)
                return ctl_fail(id, -ENOMEM);
        for (unsigned i = 0; err == -EAGAIN && i < TRIES; i++)
                err = finish_once(c, id, record, &rc);
        return err && err != -ENOENT ? ctl_fail(record, err) : rc; /* gone: ended meanwhile */
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
        return ctl_names_rest(&ids, RENAME_JOURNAL_PREFIX, rc);
}
