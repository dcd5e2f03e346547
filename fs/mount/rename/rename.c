/* SPDX-License-Identifier: Apache-2.0 */
/* rename.c: see rename.h. To be read from top to bottom: each step is begun by the end of the one
 * before it.
 *
 *      the beginning     both names are locked, and what the tree can tell is checked
 *      a file            its object gets the new name, and loses the old one
 *      a directory       fs/move does that for all objects, or the store for the folder
 *      the open files    what their readers and writers go through meanwhile
 *      the end           whatever became of it */
#include "mount/rename/rename.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/container_of.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/record/rename_journal.h"
#include "mount/rename/dir_marker.h"
#include "move/move.h"

#include "base/banned.h"

enum { TRIES = 3 }; /* against others who replace the file meanwhile */

/* The steps of all. */
static void names_granted(struct waiter *w);
static void old_dir_stays(void *arg);
static void rename_end(struct rename *r, int err);
/* Of a file. */
static void rename_file(struct rename *r);
static void target_looked_for(void *arg, int err, const struct store_object *obj);
static void prepare_target(struct rename *r);
static void target_prepared(void *arg);
static void replaced_deleted(void *arg, int err, const struct store_object *obj);
static void rename_unpublished(struct rename *r);
static void rename_object(struct rename *r);
static void version_found(void *arg, int err, const struct store_object *obj);
static void object_has_new_name(void *arg, int err, const struct store_object *obj);
static void object_has_old_name(struct rename *r, int err);
static void old_name_deleted(void *arg, int err, const struct store_object *obj);
static void old_name_was_taken(struct rename *r);
static void copy_deleted(void *arg, int err, const struct store_object *obj);
static void take_new_name(struct rename *r);
/* Of a directory. */
struct dir_rename;
static void rename_dir(struct rename *r);
static void target_listed(void *arg, int err, const struct store_page *page);
static void target_known(void *arg, int err, const struct store_object *obj);
static int rename_below(struct dir_rename *d);
static int rename_folder(struct dir_rename *d);
static void target_deleted(void *arg, int err, const struct store_object *obj);
static void folder_renamed(void *arg, int err, const struct store_object *obj);
static int rename_objects(struct dir_rename *d);
static void note_copy(void *arg, const char *name, const char *was, const char *etag);
static void take_new_names(void *arg);
static void rename_dir_end(void *arg, int err);
static void target_restored(void *arg);
/* Of open files. */
static void readers_wait_locked(struct rename *r) REQUIRES(tree_mutex);
static void readers_go_on(struct rename *r);
static void writers_follow_locked(struct rename *r, const char *key) REQUIRES(tree_mutex);
static void version_follows_locked(struct node *n, const char *key, const char *was,
                                   const char *etag) REQUIRES(tree_mutex);

/* --- the beginning --- */

void rename_start(struct rename *r)
{
        r->lock = (struct name_lock){.shared = {r->from_dir, r->to_dir},
                                     .names = {r->from, r->to},
                                     .waiter.ready = names_granted};
        name_lock_take(r->m, &r->lock);
}

/* Whether a file below, which may be at the store by no name yet, has too long a key then. */
static bool is_too_long_locked(const struct rename *r) REQUIRES(tree_mutex)
{
        size_t most = store_key_max(r->m->store), was = strlen(r->from_key);
        size_t will = strlen(r->to_key);
        bool longer = false;

        for (struct node *n = tree_open_list_locked(r->m->tree); n && !longer; n = n->open_next) {
                bool below = n->file && !n->unlinked && tree_is_below(n, r->n);
                CLEANUP(freep) char *key = below ? tree_key_locked(n) : NULL;
                longer = key && strlen(key) - was + will >= most;
        }
        return longer;
}

/* What the tree can tell. */
static int check_locked(const struct rename *r) REQUIRES(tree_mutex)
{
        const struct node *n = r->n, *to = r->target;

        if (!n)
                return -ENOENT;
        if (to && r->no_replace && (to->file || tree_fresh_locked(to)))
                return -EEXIST;
        if (n->dir && tree_is_below(r->to_dir, n))
                return -EINVAL;
        if (to && n->dir != to->dir)
                return n->dir ? -ENOTDIR : -EISDIR;
        if (to && tree_has_unpublished_locked(r->m->tree, to))
                return -ENOTEMPTY;
        return n->dir && is_too_long_locked(r) ? -ENAMETOOLONG : 0;
}

/* The directories keep their names from here on. Neither a change of attributes is under way, which
 * would be lost or bring the old name back, nor a request that publishes. */
static void names_granted(struct waiter *w)
{
        struct rename *r = CONTAINER_OF(w, struct rename, lock.waiter);
        int err = w->err;

        r->n = r->lock.exclusive[0];
        r->target = r->lock.exclusive[1];
        if (!err)
                err = r->wanted(r) ? mount_key(r->m, r->from_dir, r->from, &r->from_key) : -EINTR;
        if (!err)
                err = mount_key(r->m, r->to_dir, r->to, &r->to_key);
        tree_lock(r->m->tree);
        r->unknown = !err && !r->n;
        if (!err)
                err = check_locked(r);
        tree_unlock(r->m->tree);
        if (err || r->n == r->target)
                rename_end(r, err);
        else
                dir_marker_ensure(r->m, r->from_dir, old_dir_stays, r);
}

/* Where objects are copied, the old names last until the new ones are known. */
static void old_dir_stays(void *arg)
{
        struct rename *r = arg;

        if (store_caps(r->m->store) & STORE_CAP_RENAME) {
                tree_lock(r->m->tree);
                readers_wait_locked(r);
                tree_unlock(r->m->tree);
        }
        (r->n->dir ? rename_dir : rename_file)(r);
}

/* --- a file: its target --- */

/* The request that renames an object tells whether there is a target; without one, who asks does.
 */
static void rename_file(struct rename *r)
{
        tree_lock(r->m->tree);
        bool published = r->n->published;
        bool asks = r->no_replace && !published;
        /* Of a first version that failed there is nothing that could take the name. */
        int err = !published && r->n->file ? wfile_unsynced(r->n->file) : 0;
        tree_unlock(r->m->tree);
        if (!err && asks)
                err = store_head(r->m->store, r->to_key, target_looked_for, r);

        if (err)
                rename_end(r, err);
        else if (!asks)
                prepare_target(r);
}

static void target_looked_for(void *arg, int err, const struct store_object *obj)
{
        struct rename *r = arg;
        (void)obj;
        if (err == -ENOENT)
                prepare_target(r);
        else
                rename_end(r, err ? err : -EEXIST);
}

static void prepare_target(struct rename *r)
{
        r->leaving =
                (struct leaving){.m = r->m, .n = r->target, .ready = target_prepared, .arg = r};
        if (r->target)
                leave_prepare(&r->leaving);
        else
                target_prepared(r);
}

/* What has the new name can leave it. */
static void target_prepared(void *arg)
{
        struct rename *r = arg;

        tree_lock(r->m->tree);
        bool published = r->n->published;
        CLEANUP(freep) char *replaced = r->n->replaced_etag ? strdup(r->n->replaced_etag) : NULL;
        snprintf(r->etag, sizeof r->etag, "%s", r->n->etag);
        tree_unlock(r->m->tree);
        int err = 0;
        if (published)
                rename_object(r);
        else if (replaced)
                err = store_delete_if(r->m->store, r->from_key, replaced, replaced_deleted, r);
        else
                rename_unpublished(r);
        if (err)
                rename_end(r, err);
}

/* --- a file of which there is nothing at the store --- */

/* What had the old name before the file is not to have it again, unless another host has put
 * something else there. */
static void replaced_deleted(void *arg, int err, const struct store_object *obj)
{
        struct rename *r = arg;
        (void)obj;
        if (err && err != -ENOENT && err != -ESTALE)
                rename_end(r, err);
        else
                rename_unpublished(r);
}

static void rename_unpublished(struct rename *r)
{
        const struct node *target = r->target;

        tree_lock(r->m->tree);
        writers_follow_locked(r, r->to_key);
        if (r->no_replace && r->n->file)
                wfile_claim(r->n->file);
        const char *was = !target             ? NULL
                          : r->leaving.aside  ? r->leaving.etag
                          : target->published ? target->etag
                                              : target->replaced_etag;
        free(r->n->replaced_etag);
        /* Without memory the replaced version stays until this one is published. */
        r->n->replaced_etag = was ? strdup(was) : NULL;
        tree_unlock(r->m->tree);
        take_new_name(r);
        rename_end(r, 0);
}

/* --- a file's object --- */

static void rename_object(struct rename *r)
{
        struct store *s = r->m->store;
        const struct store_cond cond = {.if_absent = r->no_replace};
        int err;

        if (!*r->etag)
                err = store_head(s, r->from_key, version_found, r);
        else if (store_caps(s) & STORE_CAP_RENAME)
                err = store_rename(s, r->from_key, r->etag, r->to_key, &cond, object_has_new_name,
                                   r);
        else
                err = store_copy(s, r->from_key, r->etag, r->to_key, NULL, &cond,
                                 object_has_new_name, r);
        if (err)
                rename_end(r, err);
}

/* The version of the old name now; it is not the one that the tree knows. */
static void version_found(void *arg, int err, const struct store_object *obj)
{
        struct rename *r = arg;
        if (err) {
                rename_end(r, err);
                return;
        }
        r->replaced = true;
        snprintf(r->etag, sizeof r->etag, "%s", obj->etag);
        rename_object(r);
}

static void object_has_new_name(void *arg, int err, const struct store_object *obj)
{
        struct rename *r = arg;

        if (err == -ESTALE && ++r->tries < TRIES) {
                err = store_head(r->m->store, r->from_key, version_found, r);
                if (err)
                        rename_end(r, err);
                return;
        }
        if (err) {
                rename_end(r, err);
                return;
        }
        snprintf(r->new_etag, sizeof r->new_etag, "%s", obj->etag);
        tree_lock(r->m->tree);
        version_follows_locked(r->n, r->to_key, r->etag, r->new_etag);
        r->n->attr.metageneration = obj->meta.metageneration;
        writers_follow_locked(r, r->to_key);
        tree_unlock(r->m->tree);
        if (store_caps(r->m->store) & STORE_CAP_RENAME) {
                take_new_name(r);
                rename_end(r, 0);
                return;
        }
        err = store_delete_if(r->m->store, r->from_key, r->etag, old_name_deleted, r);
        if (err)
                object_has_old_name(r, err);
}

static void old_name_deleted(void *arg, int err, const struct store_object *obj)
{
        struct rename *r = arg;
        (void)obj;
        if (err == -ENOENT) {
                old_name_was_taken(r);
        } else if (err && err != -ESTALE) {
                object_has_old_name(r, err);
        } else { /* what another host has put there since it was copied stays */
                take_new_name(r);
                rename_end(r, 0);
        }
}

/* What had the new name is gone, and the kernel, which is told that the rename failed, goes on to
 * take the name for it. */
static void oust_locked(const struct rename *r) REQUIRES(tree_mutex)
{
        struct node *was = tree_find_locked(r->m->tree, r->to_dir, r->to);

        if (was && was != r->n)
                was->ousted = true;
        tree_drop_name_locked(r->m->tree, r->to_dir, r->to, r->n);
}

/* The old name could not be removed: both are there. */
static void object_has_old_name(struct rename *r, int err)
{
        tree_lock(r->m->tree);
        version_follows_locked(r->n, r->from_key, r->new_etag, r->etag);
        writers_follow_locked(r, r->from_key);
        oust_locked(r);
        tree_unlock(r->m->tree);
        leave_commit(&r->leaving);
        log_warn_of(LOG_ABOUT(.operation = "rename", .file = r->from_key,
                              .remedy = "delete one of them"),
                    "rename %s to %s: the file has both names now, since the old one cannot be "
                    "deleted: %s",
                    r->from_key, r->to_key, strerror(-err));
        rename_end(r, err);
}

/* Another host has renamed or deleted the file since it was copied, and this rename failed. Where
 * nothing can have been replaced by the copy it goes again. */
static void old_name_was_taken(struct rename *r)
{
        int err = -EOPNOTSUPP;

        if (r->no_replace && store_caps(r->m->store) & STORE_CAP_COPY_IF)
                err = store_delete_if(r->m->store, r->to_key, r->new_etag, copy_deleted, r);
        if (err) {
                log_warn_of(LOG_ABOUT(.operation = "rename", .file = r->from_key,
                                      .remedy = "delete the new name if it is not wanted"),
                            "rename %s to %s: somebody else took the old name away: what it led to "
                            "stays by the new one",
                            r->from_key, r->to_key);
                take_new_name(r);
                rename_end(r, -ENOENT);
        }
}

static void copy_deleted(void *arg, int err, const struct store_object *obj)
{
        struct rename *r = arg;
        (void)obj;

        if (err && err != -ENOENT && err != -ESTALE)
                log_warn_of(LOG_ABOUT(.operation = "rename", .file = r->from_key,
                                      .remedy = "delete the new name"),
                            "rename %s to %s: somebody else took the old name away, and the copy "
                            "cannot be deleted: %s",
                            r->from_key, r->to_key, strerror(-err));
        tree_lock(r->m->tree);
        tree_remove_locked(r->m->tree, r->n);
        tree_unlock(r->m->tree);
        rename_end(r, -ENOENT);
}

/* The object has its new name, and that is known here. What had it has none any more. */
static void take_new_name(struct rename *r)
{
        struct tree *t = r->m->tree;

        tree_lock(t);
        if (r->replaced && r->n->nreaders)
                tree_remove_locked(t, r->n); /* what is open is not what was renamed */
        else if (r->replaced)
                r->n->fresh_until = 0;
        tree_move_locked(t, r->n, r->to_dir, r->to);
        tree_unlock(t);
        leave_commit(&r->leaving);
}

/* --- a directory --- */

struct dir_rename {
        struct rename *r;
        char *from, *to; /* keys with their '/' */
        struct copied_file *copies;
        struct store_meta *target; /* of an empty directory that has the new name; or NULL */
        bool moved;                /* the tree has the new names */
        int err;                   /* why that is made again */
};

/* A node whose object has been copied: what it has to know when the names change. */
struct copied_file {
        struct copied_file *next;
        struct node *n; /* pinned */
        char *key;      /* that will be */
        char was[STORE_ETAG_MAX], etag[STORE_ETAG_MAX];
};

static void rename_dir(struct rename *r)
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
                struct store_list list = {.prefix = d->to, .max = 2, .least = 2};
                err = store_list(r->m->store, &list, target_listed, d);
        }
        if (err)
                rename_dir_end(d, err);
}

/* What is at the store below the new name: at most the marker of an empty directory. */
static void target_listed(void *arg, int err, const struct store_page *page)
{
        struct dir_rename *d = arg;
        const struct rename *r = d->r;

        if (!err && page->n && r->no_replace)
                err = -EEXIST;
        for (size_t i = 0; !err && i < page->n; i++)
                if (page->v[i].size || strcmp(page->v[i].key, d->to))
                        err = -ENOTEMPTY;
        if (!err)
                err = page->n ? store_head(r->m->store, d->to, target_known, d) : rename_below(d);
        if (err)
                rename_dir_end(d, err);
}

/* The empty directory gives way to the one that is renamed, and is made again should that fail.
 * What only copies hand on is not known here, and is not made again. */
static void target_known(void *arg, int err, const struct store_object *obj)
{
        struct dir_rename *d = arg;

        if (!err && !(d->target = malloc(sizeof *d->target)))
                err = -ENOMEM;
        if (!err) {
                *d->target = obj->meta;
                d->target->missing = false;
        }
        if (!err || err == -ENOENT)
                err = rename_below(d);
        if (err)
                rename_dir_end(d, err);
}

static int rename_below(struct dir_rename *d)
{
        return store_caps(d->r->m->store) & STORE_CAP_FOLDERS ? rename_folder(d)
                                                              : rename_objects(d);
}

/* Where the store has folders: in one step, if there is nothing by the new name. An empty directory
 * goes first. */
static int rename_folder(struct dir_rename *d)
{
        struct store *s = d->r->m->store;
        return d->target ? store_delete(s, d->to, target_deleted, d)
                         : store_folder_rename(s, d->from, d->to, folder_renamed, d);
}

static void target_deleted(void *arg, int err, const struct store_object *obj)
{
        struct dir_rename *d = arg;
        (void)obj;

        if (!err)
                err = store_folder_rename(d->r->m->store, d->from, d->to, folder_renamed, d);
        if (err)
                rename_dir_end(d, err);
}

static void folder_renamed(void *arg, int err, const struct store_object *obj)
{
        struct dir_rename *d = arg;
        const struct rename *r = d->r;
        (void)obj;

        if (err) {
                rename_dir_end(d, err);
                return;
        }
        take_new_names(d);
        tree_lock(r->m->tree);
        for (struct node *n = tree_open_list_locked(r->m->tree); n; n = n->open_next) {
                bool moved = n->hashed && n->etag && tree_is_below(n, r->n);
                CLEANUP(freep) char *key = moved ? tree_key_locked(n) : NULL;
                if (key)
                        version_follows_locked(n, key, n->etag, n->etag);
        }
        tree_unlock(r->m->tree);
        rename_dir_end(d, 0);
}

/* Where it has none. */
static int rename_objects(struct dir_rename *d)
{
        const struct rename *r = d->r;

        tree_lock(r->m->tree);
        bool local = tree_has_unpublished_locked(r->m->tree, r->n);
        tree_unlock(r->m->tree);
        const struct move_job job = {
                .store = r->m->store,
                .from = d->from,
                .to = d->to,
                .may_be_empty = local,
                .copied = note_copy,
                .all_copied = take_new_names,
                .done = rename_dir_end,
                .arg = d,
        };
        return move_start(&job);
}

static void note_copy(void *arg, const char *name, const char *was, const char *etag)
{
        struct dir_rename *d = arg;
        struct tree *t = d->r->m->tree;

        tree_lock(t);
        struct node *n = tree_find_path_locked(t, d->r->n, name);
        struct copied_file *f = n && !n->dir && *was ? calloc(1, sizeof *f) : NULL;
        if (f && asprintf(&f->key, "%s%s", d->to, name) < 0) {
                free(f);
                f = NULL; /* no memory: its readers will get ESTALE */
        }
        if (f) {
                tree_pin_locked(n);
                f->n = n;
                snprintf(f->was, sizeof f->was, "%s", was);
                snprintf(f->etag, sizeof f->etag, "%s", etag);
                f->next = d->copies;
                d->copies = f;
        }
        tree_unlock(t);
}

static void take_new_names(void *arg)
{
        struct dir_rename *d = arg;
        struct rename *r = d->r;

        tree_lock(r->m->tree);
        for (struct copied_file *f = d->copies; f; f = f->next)
                version_follows_locked(f->n, f->key, f->was, f->etag);
        tree_move_locked(r->m->tree, r->n, r->to_dir, r->to);
        writers_follow_locked(r, NULL);
        tree_unlock(r->m->tree);
        d->moved = true;
        name_lock_resume(&r->lock);
}

static void rename_dir_end(void *arg, int err)
{
        struct dir_rename *d = arg;
        struct rename *r = d->r;

        if (err && d->target && !d->moved) {
                d->err = err;
                dir_marker_restore(r->m, d->to, d->target, target_restored, d);
                return;
        }
        while (d->copies) {
                struct copied_file *f = d->copies;
                d->copies = f->next;
                tree_lock(r->m->tree);
                tree_unref_locked(r->m->tree, f->n, 1);
                tree_unlock(r->m->tree);
                free(f->key);
                free(f);
        }
        free(d->from);
        free(d->to);
        free(d->target);
        free(d);
        rename_end(r, err);
}

static void target_restored(void *arg)
{
        struct dir_rename *d = arg;

        free(TAKE_PTR(d->target));
        rename_dir_end(d, d->err);
}

/* --- the open files --- */

/* One that waits, should it find its version gone, for what becomes of it. */
struct rename_reader {
        struct rename_reader *next;
        struct reader *reader;
};

static void readers_wait_locked(struct rename *r) REQUIRES(tree_mutex)
{
        for (struct node *n = tree_open_list_locked(r->m->tree); n; n = n->open_next) {
                bool below = n->hashed && n->reader && tree_is_below(n, r->n);
                struct rename_reader *x = below ? malloc(sizeof *x) : NULL;
                if (!x)
                        continue; /* no memory: it may get ESTALE */
                *x = (struct rename_reader){r->readers, reader_moving(n->reader)};
                r->readers = x;
        }
}

static void readers_go_on(struct rename *r)
{
        while (r->readers) {
                struct rename_reader *x = r->readers;
                r->readers = x->next;
                reader_moved(x->reader);
                free(x);
        }
}

/* What is written below what is renamed is published at `key` from now on, or, NULL, at the keys
 * that the tree tells, where the versions that it began with are, too. */
static void writers_follow_locked(struct rename *r, const char *key) REQUIRES(tree_mutex)
{
        for (struct node *n = tree_open_list_locked(r->m->tree); n; n = n->open_next) {
                if (!n->file || n->unlinked || !tree_is_below(n, r->n))
                        continue;
                CLEANUP(freep) char *own = key ? NULL : tree_key_locked(n);
                const char *to = key ? key : own;
                if (!to || wfile_rename(n->file, to, n->published ? n->etag : ""))
                        log_error_of(LOG_ABOUT(.operation = "rename", .file = n->name,
                                               .remedy = "end another program"),
                                     "%s: no memory to rename it while it is written", n->name);
        }
}

/* The readers of version `was` of the node, and what is known of it, are at `key` now. */
static void version_follows_locked(struct node *n, const char *key, const char *was,
                                   const char *etag) REQUIRES(tree_mutex)
{
        if (n->replaced_etag && !strcmp(n->replaced_etag, was)) {
                free(n->replaced_etag);
                n->replaced_etag = strdup(etag); /* no memory: it stays until n is published */
        }
        if (!*was || strcmp(n->etag, was))
                return; /* another version was renamed: those who read this one get ESTALE */
        if (n->reader && !strcmp(reader_etag(n->reader), was) &&
            reader_rename(n->reader, key, etag))
                log_warn_of(LOG_ABOUT(.operation = "rename", .file = key,
                                      .remedy = "end another program"),
                            "%s: no memory: its readers lose it", key);
        if (tree_set_etag_locked(n, etag))
                n->fresh_until = 0;
}

/* --- the end --- */

static void rename_end(struct rename *r, int err)
{
        tree_lock(r->m->tree);
        tree_note_unknown_locked(r->to_dir, r->to); /* it may be there though this failed */
        tree_unlock(r->m->tree);
        leave_undo(&r->leaving);
        readers_go_on(r);
        name_lock_drop(&r->lock);
        mutex_check_none();
        r->done(r, err);
}

void rename_release(struct rename *r)
{
        free(r->from);
        free(r->to);
        free(r->from_key);
        free(r->to_key);
}

/* --- what others left unfinished --- */

static void left_listed(void *arg, int err, const struct store_page *page)
{
        const struct mount *m = arg;
        char remedy[256];

        snprintf(remedy, sizeof remedy, "ckptctl recover %s", m->url);
        for (size_t i = 0; !err && i < page->n; i++) {
                const char *key = page->v[i].key;
                if (!strcmp(key, RENAME_JOURNAL_PREFIX)) /* the folder that they are in */
                        continue;
                log_warn_of(LOG_ABOUT(.operation = "rename", .file = key, .remedy = remedy),
                            "%s: a directory's rename was not finished, if none is under way on "
                            "another host",
                            key);
        }
}

void rename_find_left(struct mount *m)
{
        struct store_list list = {.prefix = RENAME_JOURNAL_PREFIX, .max = 5};
        int err = store_list(m->store, &list, left_listed, m);
        if (err)
                log_info("unfinished renames are not looked for: %s", strerror(-err));
}
