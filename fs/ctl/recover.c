/* SPDX-License-Identifier: Apache-2.0 */
/* recover.c: finishes what a crash or a conflict left in the prefix: changes of files that lost to
 * another host's are shown, published or discarded. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/record/recovery_record.h"
#include "ctl/ctl.h"

#include "base/banned.h"

/* A change that was kept in place of being published. */
struct change {
        const struct ctl *c;
        char *record_key;
        char *bytes_key; /* of those that are no part of an upload */
        struct recovery_record rec;
};

static void change_release(struct change *ch)
{
        free(ch->record_key);
        free(ch->bytes_key);
        recovery_record_release(&ch->rec);
}

static int print_change(const struct change *ch, const char *what)
{
        CLEANUP(freep) char *key = ctl_printable(ch->rec.key);
        CLEANUP(freep) char *host = ctl_printable(ch->rec.host ? ch->rec.host : "-");
        char age[CTL_AGE_MAX];
        if (!key || !host)
                return -ENOMEM;
        printf("%s\t%s\t%" PRIu64 "\t%s\t%s\n", what, ctl_age(ch->rec.time_ns, age), ch->rec.size,
               host, key);
        return 0;
}

static int with_upload(const struct change *ch, int (*act)(struct store_upload *up))
{
        const struct recovery_record *k = &ch->rec;
        struct store_upload *up = store_upload_open(ch->c->store, k->key, k->upload);
        int err = up ? 0 : -ENOMEM;

        for (size_t i = 0; !err && i < k->nparts; i++) {
                const struct store_part part = {
                        .partno = k->parts[i].partno,
                        .size = k->parts[i].size,
                        .etag = k->parts[i].etag,
                        .has_crc = k->parts[i].has_crc,
                        .crc32c = k->parts[i].crc32c,
                };
                err = store_upload_adopt(up, &part);
        }
        if (!err)
                err = act(up);
        store_upload_free(up);
        return err;
}

static int complete(struct store_upload *up)
{
        return store_upload_complete_wait(up, NULL, NULL);
}

/* Publishes the change over whatever the key holds. The bytes stay, so that it can be tried again
 * as long as there is a record; of an upload the store tells that it was completed. */
static int force(const struct change *ch)
{
        return ch->rec.upload ? with_upload(ch, complete)
                              : store_copy_wait(ch->c->store, ch->bytes_key, ch->rec.key, NULL);
}

static int discard(const struct change *ch)
{
        return ch->rec.upload ? with_upload(ch, store_upload_abort_wait)
                              : store_delete_wait(ch->c->store, ch->bytes_key);
}

/* Without a record, bytes that stay are removed by their age. */
static int remove_bytes(const struct change *ch)
{
        if (ch->rec.upload || !ch->c->force)
                return CTL_OK;
        int err = store_delete_wait(ch->c->store, ch->bytes_key);
        return err ? ctl_fail(ch->bytes_key, err) : CTL_OK;
}

/* The record goes when all is done that needs it. */
static int apply_choice(const struct change *ch)
{
        CLEANUP(freep) char *key = ctl_printable(ch->rec.key);
        const char *what = "kept";
        int err = 0;

        if (ch->c->force || ch->c->discard) {
                what = ch->c->force ? "published" : "discarded";
                err = ch->c->force ? force(ch) : discard(ch);
                if (!err)
                        err = store_delete_wait(ch->c->store, ch->record_key);
        }
        if (!err)
                err = print_change(ch, what);
        if (!err)
                return ch->c->force || ch->c->discard ? remove_bytes(ch) : CTL_LEFT;
        if (err == -ENOENT && ch->c->force)
                fprintf(stderr, "ckptctl: %s: its bytes are gone from the store: use --discard\n",
                        key ? key : "no memory");
        else
                ctl_fail(ch->rec.key, err);
        return CTL_FAILED;
}

static int recover_one(const struct ctl *c, const char *id)
{
        CLEANUP(change_release) struct change ch = {.c = c};
        CLEANUP(freep) char *text = NULL;
        char why[CTL_WHY_MAX];
        struct store_object obj;

        if (asprintf(&ch.record_key, RECOVERY_PREFIX "%s", id) < 0 ||
            asprintf(&ch.bytes_key, ORPHAN_PREFIX "%s", id) < 0)
                return ctl_fail(id, -ENOMEM);
        int err = ctl_read(c->store, ch.record_key, RECOVERY_TEXT_MAX, &text, &obj);
        if (err == -ENOENT)
                return CTL_OK; /* done meanwhile */
        if (err)
                return ctl_fail(ch.record_key, err);
        if (recovery_record_parse(ch.record_key, text, (size_t)obj.size, &ch.rec, why, sizeof why))
                return ctl_complain(why);
        return c->key && strcmp(c->key, ch.rec.key) ? CTL_OK : apply_choice(&ch);
}

static int recover_changes(const struct ctl *c)
{
        CLEANUP(ctl_names_release) struct ctl_names ids = {.n = 0};
        int rc = CTL_OK, err = ctl_names_get(c->store, RECOVERY_PREFIX, &ids);

        if (err)
                return ctl_fail("the kept changes cannot be listed", err);
        for (size_t i = 0; i < ids.n; i++)
                rc = ctl_worse(rc, recover_one(c, ids.v[i]));
        return ctl_names_rest(&ids, RECOVERY_PREFIX, rc);
}

int ctl_recover(const struct ctl *c)
{
        int rc = recover_changes(c);
        if (!c->key)
                rc = ctl_worse(ctl_recover_renames(c), rc);
        return c->has_age ? ctl_worse(ctl_remove_leftovers(c), rc) : rc;
}
