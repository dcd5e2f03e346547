/* SPDX-License-Identifier: Apache-2.0 */
/* unlinked.c: removes what a mount that died kept of deleted files, which programs still had open.
 * That of a mount that lives looks the same, so only the age tells: the administrator gives it. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/record/recovery_record.h"
#include "ctl/ctl.h"

#include "base/banned.h"

static int remove_one(const struct ctl *c, const char *id)
{
        CLEANUP(freep) char *key = NULL;
        struct store_object obj;
        char age[CTL_AGE_MAX];

        if (asprintf(&key, UNLINKED_PREFIX "%s", id) < 0)
                return ctl_fail(id, -ENOMEM);
        int err = store_head_wait(c->store, key, &obj);
        if (!err && ctl_is_older(c, obj.mtime_ns)) {
                err = store_delete_wait(c->store, key);
                CLEANUP(freep) char *name = ctl_printable(key);
                if (!err)
                        printf("removed\t%s\t%" PRIu64 "\t%s\n", ctl_age(obj.mtime_ns, age),
                               obj.size, name ? name : "no memory");
        }
        return !err || err == -ENOENT ? CTL_OK : ctl_fail(key, err); /* closed meanwhile */
}

int ctl_remove_unlinked(const struct ctl *c)
{
        CLEANUP(ctl_names_release) struct ctl_names ids = {.n = 0};
        int rc = CTL_OK, err = ctl_names_get(c->store, UNLINKED_PREFIX, &ids);

        if (err)
                return ctl_fail("what deleted files left cannot be listed", err);
        for (size_t i = 0; i < ids.n; i++)
                if (remove_one(c, ids.v[i]))
                        rc = CTL_FAILED;
        return rc;
}
