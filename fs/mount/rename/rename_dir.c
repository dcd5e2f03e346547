/* SPDX-License-Identifier: Apache-2.0 */
/* rename_dir.c: see rename.h; directories. fs/move gives the objects their new keys; here is what
 * that means for nodes and those who have files open. */
#include "mount/rename/rename.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/record/rename_journal.h"
#include "base/log.h"
#include "move/move.h"

#include "base/banned.h"

/* A node whose object has been copied: what it has to know when the names change. */
struct follower {
        struct follower *next;
        struct node *n; /* pinned */
        char *key;      /* that will be */
        char was[STORE_ETAG_MAX], etag[STORE_ETAG_MAX];
};

struct dir_rename {
        struct rename *r;
        char *from, *to; /* keys with their '/' */
        struct follower *followers;
};

static void dir_rename_end(struct dir_rename *d, int err)
{
        struct rename *r = d->r;

        while (d->followers) {
                struct follower *f = d->followers;
                d->followers = f->next;
                tree_lock(r->m->tree);
                tree_unref_locked(r->m->tree, f->n, 1);
                tree_unlock(r->m->tree);
                free(f->key);
                free(f);
        }
        free(d->from);
        free(d->to);
        free(d);
        rename_end(r, err);
}

static void copied(void *arg, const char *name, const char *was, const char *etag)
{
        struct dir_rename *d = arg;
        struct tree *t = d->r->m->tree;

        tree_lock(t);
        struct node *n = tree_find_path_locked(t, d->r->n, name);
        struct follower *f = n && !n->dir && *was ? calloc(1, sizeof *f) : NULL;
        if (f && asprintf(&f->key, "%s%s", d->to, name) < 0) {
                free(f);
                f = NULL; /* no memory: its readers will get ESTALE */
        }
        if (f) {
                tree_pin_locked(n);
                f->n = n;
                snprintf(f->was, sizeof f->was, "%s", was);
                snprintf(f->etag, sizeof f->etag, "%s", etag);
                f->next = d->followers;
                d->followers = f;
        }
        tree_unlock(t);
}

static void take_new_name(void *arg)
{
        struct dir_rename *d = arg;
        struct rename *r = d->r;
        struct tree *t = r->m->tree;

        orphan_gone(r->m, r->to_dir, r->to, r->n);
        tree_lock(t);
        for (struct follower *f = d->followers; f; f = f->next)
                rename_follow_locked(f->n, f->key, f->was, f->etag);
        if (tree_move_locked(t, r->n, r->to_dir, r->to))
                tree_remove_locked(t, r->n); /* found again by asking */
        rename_files_locked(r, NULL);
        tree_unlock(t);
        name_lock_resume(&r->lock);
}

static void moved(void *arg, int err)
{
        dir_rename_end(arg, err);
}

/* --- where the store has folders ---------------------------------------------------------------
 */

static void follow_folder(void *arg, struct node *n)
{
        const struct mount *m = arg;

        tree_is_locked(m->tree);
        CLEANUP(freep) char *key = tree_key_locked(n);

        if (key && n->etag)
                rename_follow_locked(n, key, n->etag, n->etag);
}

static void folder_renamed(void *arg, int err, const struct store_object *obj)
{
        struct dir_rename *d = arg;
        struct rename *r = d->r;
        (void)obj;

        if (!err) {
                take_new_name(d);
                tree_lock(r->m->tree);
                tree_each_open_locked(r->m->tree, r->n, follow_folder, r->m);
                tree_unlock(r->m->tree);
        }
        dir_rename_end(d, err);
}

static void target_deleted(void *arg, int err, const struct store_object *obj)
{
        struct dir_rename *d = arg;
        (void)obj;

        if (!err)
                err = store_folder_rename(d->r->m->store, d->from, d->to, folder_renamed, d);
        if (err)
                dir_rename_end(d, err);
}

/* In one step, if there is nothing by the new name; an empty directory goes first. */
static int rename_folder(struct dir_rename *d, bool target)
{
        struct store *s = d->r->m->store;
        return target ? store_delete(s, d->to, target_deleted, d)
                      : store_folder_rename(s, d->from, d->to, folder_renamed, d);
}

/* --- where it has none --------------------------------------------------------------------------
 */

/* What is at the store below the new name: at most the marker of an empty directory. */
static void target_listed(void *arg, int err, const struct store_page *page)
{
        struct dir_rename *d = arg;
        struct rename *r = d->r;

        if (!err && page->n && r->no_replace)
                err = -EEXIST;
        for (size_t i = 0; !err && i < page->n; i++)
                if (strcmp(page->v[i].key, d->to))
                        err = -ENOTEMPTY;
        tree_lock(r->m->tree);
        bool local = tree_has_unpublished_locked(r->m->tree, r->n);
        tree_unlock(r->m->tree);
        const struct move_job job = {
                .store = r->m->store,
                .from = d->from,
                .to = d->to,
                .may_be_empty = local,
                .copied = copied,
                .all_copied = take_new_name,
                .done = moved,
                .arg = d,
        };
        if (!err && store_caps(r->m->store) & STORE_CAP_FOLDERS)
                err = rename_folder(d, page->n != 0);
        else if (!err)
                err = move_start(&job);
        if (err)
                dir_rename_end(d, err);
}

void rename_dir(struct rename *r)
{
        struct dir_rename *d = calloc(1, sizeof *d);

        if (!d) {
                rename_end(r, -ENOMEM);
                return;
        }
        d->r = r;
        int err = asprintf(&d->from, "%s/", r->from_key) < 0 ? -ENOMEM : 0;
        if (!err && asprintf(&d->to, "%s/", r->to_key) < 0)
                err = -ENOMEM;
        if (!err) {
                struct store_list list = {.prefix = d->to, .max = 2};
                err = store_list(r->m->store, &list, target_listed, d);
        }
        if (err)
                dir_rename_end(d, err);
}

static void left_listed(void *arg, int err, const struct store_page *page)
{
        struct mount *m = arg;
        for (size_t i = 0; !err && i < page->n; i++)
                log_warn("%s: a directory's rename was not finished, if none is under way on "
                         "another "
                         "host: ckptctl recover %s",
                         page->v[i].key, m->url);
}

void rename_find_left(struct mount *m)
{
        struct store_list list = {.prefix = RENAME_JOURNAL_PREFIX, .max = 5};
        int err = store_list(m->store, &list, left_listed, m);
        if (err)
                log_info("unfinished renames are not looked for: %s", strerror(-err));
}
