/* SPDX-License-Identifier: Apache-2.0 */
/* leftovers.c: removes what nobody wants any more: what a mount that died kept of deleted files,
 * which programs still had open, and bytes of changes that have no record. Those of a mount that
 * lives look the same, so only the age tells: the administrator gives it. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/record/recovery_record.h"
#include "ctl/ctl.h"

#include "base/banned.h"

/* 0, -EEXIST or another negative errno. */
static int check_unrecorded(const struct ctl *c, const char *id)
{
        CLEANUP(freep) char *record = NULL;
        struct store_object obj;

        if (asprintf(&record, RECOVERY_PREFIX "%s", id) < 0)
                return -ENOMEM;
        int err = store_head_wait(c->store, record, &obj);
        return err == -ENOENT ? 0 : err ? err : -EEXIST;
}

static int remove_one(const struct ctl *c, const char *key, const char *recorded_as)
{
        CLEANUP(freep) char *name = ctl_printable(key);
        struct store_object obj;
        char age[CTL_AGE_MAX];
        int err = store_head_wait(c->store, key, &obj);

        if (!err && !ctl_is_older(c, obj.mtime_ns))
                return CTL_OK;
        if (!err && recorded_as)
                err = check_unrecorded(c, recorded_as);
        if (!err)
                err = store_delete_wait(c->store, key);
        if (!err)
                printf("removed\t%s\t%" PRIu64 "\t%s\n", ctl_age(obj.mtime_ns, age), obj.size,
                       name ? name : "no memory");
        bool stays = err == -ENOENT || err == -EEXIST; /* closed meanwhile; or kept */
        return !err || stays ? CTL_OK : ctl_fail(key, err);
}

static int remove_all(const struct ctl *c, const char *prefix, bool recorded)
{
        CLEANUP(ctl_names_release) struct ctl_names ids = {.n = 0};
        int rc = CTL_OK, err = ctl_names_get(c->store, prefix, &ids);

        if (err)
                return ctl_fail(prefix, err);
        for (size_t i = 0; i < ids.n; i++) {
                CLEANUP(freep) char *key = NULL;
                if (asprintf(&key, "%s%s", prefix, ids.v[i]) < 0)
                        return ctl_fail(ids.v[i], -ENOMEM);
                if (remove_one(c, key, recorded ? ids.v[i] : NULL))
                        rc = CTL_FAILED;
        }
        return ctl_names_rest(&ids, prefix, rc);
}

int ctl_remove_leftovers(const struct ctl *c)
{
        int rc = remove_all(c, UNLINKED_PREFIX, false);

        return ctl_worse(remove_all(c, ORPHAN_PREFIX, true), rc);
}
