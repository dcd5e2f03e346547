/* SPDX-License-Identifier: Apache-2.0 */
/* uploads.c: lists and aborts unfinished uploads. Those that a conflict left on purpose are left
 * alone: `ckptctl recover` knows what to do with them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/record/recovery_record.h"
#include "ctl/ctl.h"

#include "base/banned.h"

/* The ids of uploads that records of kept changes name. */
static int get_recorded(struct store *s, struct ctl_names *ids)
{
        CLEANUP(ctl_names_release) struct ctl_names names = {.n = 0};
        char why[CTL_WHY_MAX];
        int err = ctl_names_get(s, RECOVERY_PREFIX, &names);

        if (!err && names.more)
                err = -E2BIG;
        ids->v = calloc(names.n ? names.n : 1, sizeof *ids->v);
        if (!err && !ids->v)
                err = -ENOMEM;
        for (size_t i = 0; !err && i < names.n; i++) {
                CLEANUP(recovery_record_release) struct recovery_record k = {.key = NULL};
                CLEANUP(freep) char *key = NULL, *text = NULL;
                struct store_object obj;
                if (asprintf(&key, RECOVERY_PREFIX "%s", names.v[i]) < 0)
                        return -ENOMEM;
                err = ctl_read(s, key, RECOVERY_TEXT_MAX, &text, &obj);
                if (err == -ENOENT || err == -EFBIG) {
                        err = 0; /* done meanwhile, or no record */
                        continue;
                }
                if (!err && recovery_record_parse(key, text, (size_t)obj.size, &k, why, sizeof why))
                        (void)ctl_complain(why);
                else if (!err && k.upload)
                        ids->v[ids->n++] = TAKE_PTR(k.upload);
        }
        return err;
}

static bool is_recorded(const struct ctl_names *ids, const char *id)
{
        for (size_t i = 0; i < ids->n; i++)
                if (!strcmp(ids->v[i], id))
                        return true;
        return false;
}

static bool is_wanted(const struct ctl *c, const struct ctl_upload *u)
{
        if (c->key && strcmp(c->key, u->key))
                return false;
        return !c->has_age || ctl_is_older(c, u->begun_ns);
}

static int print_upload(const struct ctl_upload *u, const char *more)
{
        CLEANUP(freep) char *key = ctl_printable(u->key), *id = ctl_printable(u->id);
        char age[CTL_AGE_MAX];
        if (!key || !id)
                return -ENOMEM;
        printf("%s\t%s\t%s%s\n", ctl_age(u->begun_ns, age), id, key, more);
        return 0;
}

static int abort_one(struct store *s, const struct ctl_upload *u)
{
        struct store_upload *up = store_upload_open(s, u->key, u->id);
        int err = up ? store_upload_abort_wait(up) : -ENOMEM;
        store_upload_free(up);
        return err;
}

static int each_upload(const struct ctl *c, bool abort)
{
        CLEANUP(ctl_uploads_release) struct ctl_uploads u = {.n = 0};
        CLEANUP(ctl_names_release) struct ctl_names recorded = {.n = 0};
        int rc = CTL_OK, err = ctl_uploads_get(c->store, &u);

        if (!err)
                err = get_recorded(c->store, &recorded);
        if (err == -E2BIG)
                return ctl_complain(RECOVERY_PREFIX " has more records than can be told from "
                                                    "uploads here: ckptctl recover settles them");
        if (err)
                return ctl_fail("the uploads cannot be listed", err);
        for (size_t i = 0; i < u.n; i++) {
                bool left = is_recorded(&recorded, u.v[i].id);
                if (!is_wanted(c, &u.v[i]) || (abort && left))
                        continue;
                err = abort ? abort_one(c->store, &u.v[i]) : 0;
                if (!err)
                        err = print_upload(&u.v[i], left ? "\tkept" : "");
                if (err)
                        rc = ctl_fail(u.v[i].key, err);
        }
        if (u.more) {
                fprintf(stderr,
                        "ckptctl: the store lists no more than %zu uploads at once: run "
                        "this again for the rest\n",
                        u.n);
                rc = rc == CTL_OK ? CTL_LEFT : rc;
        }
        return rc;
}

int ctl_uploads_list(const struct ctl *c)
{
        return each_upload(c, false);
}

int ctl_uploads_abort(const struct ctl *c)
{
        if (!c->yes && !c->key && !c->has_age) {
                fputs("ckptctl: this would abort every unfinished upload, also those of programs "
                      "that write now: give --older TIME, --key KEY or --yes\n",
                      stderr);
                return CTL_FAILED;
        }
        return each_upload(c, true);
}
