/* SPDX-License-Identifier: Apache-2.0 */
/* rename_file.c: see rename.h; what is common, and files. */
#include "mount/rename/rename.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/container_of.h"
#include "base/log.h"
#include "mount/rename/attr_sync.h"
#include "mount/rename/dir_marker.h"

#include "base/banned.h"

enum { TRIES = 3 }; /* against others who replace the file meanwhile */

void rename_release(struct rename *r)
{
        free(r->from);
        free(r->to);
        free(r->from_key);
        free(r->to_key);
}

/* One that waits, should it find its version gone, for what becomes of it. */
struct rename_reader {
        struct rename_reader *next;
        struct reader *reader;
};

static void reader_waits(void *arg, struct node *n)
{
        struct rename *r = arg;
        struct rename_reader *x = n->reader ? malloc(sizeof *x) : NULL;

        if (!x)
                return; /* no memory: it may get ESTALE */
        *x = (struct rename_reader){r->readers, reader_ref(n->reader)};
        reader_moving(x->reader);
        r->readers = x;
}

static void readers_go_on(struct rename *r)
{
        while (r->readers) {
                struct rename_reader *x = r->readers;
                r->readers = x->next;
                reader_moved(x->reader);
                reader_unref(x->reader);
                free(x);
        }
}

static void rename_writer_locked(struct node *n, const char *key) REQUIRES(tree_mutex)
{
        CLEANUP(freep) char *own = key ? NULL : tree_key_locked(n);
        const char *to = key ? key : own;

        if (!to || wfile_rename(n->file, to, n->published ? n->etag : ""))
                log_error("%s: no memory to rename it while it is written", n->name);
}

void rename_files_locked(struct rename *r, const char *key) REQUIRES(tree_mutex)
{
        for (struct node *n = tree_open_list_locked(r->m->tree); n; n = n->open_next)
                if (n->file && !n->unlinked && tree_is_below(n, r->n))
                        rename_writer_locked(n, key);
}

void rename_end(struct rename *r, int err)
{
        tree_lock(r->m->tree);
        tree_note_unknown_locked(r->to_dir, r->to); /* it may be there though this failed */
        tree_unlock(r->m->tree);
        leave_undo(&r->leaving);
        readers_go_on(r);
        name_lock_drop(&r->lock);
        r->done(r, err);
}

/* What the file replaced has another version where it was copied. */
static void follow_replaced_locked(struct node *n, const char *was, const char *etag)
        REQUIRES(tree_mutex)
{
        if (!n->replaced_etag || strcmp(n->replaced_etag, was))
                return;
        free(n->replaced_etag);
        n->replaced_etag = strdup(etag); /* no memory: it stays until the file is published */
}

void rename_follow_locked(struct node *n, const char *key, const char *was, const char *etag)
        REQUIRES(tree_mutex)
{
        follow_replaced_locked(n, was, etag);
        if (!*was || strcmp(n->etag, was))
                return; /* another version was renamed: those who read this one get ESTALE */
        if (n->reader && !strcmp(reader_etag(n->reader), was) &&
            reader_rename(n->reader, key, etag))
                log_warn("%s: no memory: its readers lose it", key);
        if (tree_set_etag_locked(n, etag))
                n->fresh_until = 0;
}

/* What had the new name has none any more. */
static void target_gone(struct rename *r)
{
        orphan_gone(r->m, r->to_dir, r->to, r->n);
        leave_commit(&r->leaving);
}

/* The object has its new name, and that is known here. */
static void renamed(struct rename *r)
{
        struct tree *t = r->m->tree;

        target_gone(r);
        tree_lock(t);
        attr_sync_entries_changed_locked(r->from_dir);
        if (r->replaced && r->n->nreaders) {
                tree_remove_locked(t, r->n); /* what is open is not what was renamed */
        } else {
                if (tree_move_locked(t, r->n, r->to_dir, r->to)) /* found again by asking */
                        tree_remove_locked(t, r->n);
                if (r->replaced)
                        r->n->fresh_until = 0;
        }
        tree_unlock(t);
}

static void rename_succeeded(struct rename *r)
{
        renamed(r);
        rename_end(r, 0);
}

/* The old name could not be removed: both are there. */
static void undone(struct rename *r, int err)
{
        tree_lock(r->m->tree);
        rename_follow_locked(r->n, r->from_key, r->new_etag, r->etag);
        rename_files_locked(r, r->from_key);
        tree_unlock(r->m->tree);
        target_gone(r);
        log_warn("rename %s to %s: the file has both names now, since the old one cannot be "
                 "deleted: %s",
                 r->from_key, r->to_key, strerror(-err));
        rename_end(r, err);
}

static void copy_deleted(void *arg, int err, const struct store_object *obj)
{
        struct rename *r = arg;
        (void)obj;

        if (err && err != -ENOENT && err != -ESTALE)
                log_warn("rename %s to %s: somebody else took the old name away, and the copy "
                         "cannot be deleted: %s",
                         r->from_key, r->to_key, strerror(-err));
        tree_lock(r->m->tree);
        tree_remove_locked(r->m->tree, r->n);
        tree_unlock(r->m->tree);
        rename_end(r, -ENOENT);
}

/* Another host has renamed or deleted the file since it was copied, and this rename failed. Where
 * nothing can have been replaced by the copy it goes again. */
static void was_taken(struct rename *r)
{
        int err = -EOPNOTSUPP;

        if (r->no_replace && store_caps(r->m->store) & STORE_CAP_COPY_IF)
                err = store_delete_if(r->m->store, r->to_key, r->new_etag, copy_deleted, r);
        if (err) {
                log_warn("rename %s to %s: somebody else took the old name away: what it led to "
                         "stays by the new one",
                         r->from_key, r->to_key);
                renamed(r);
                rename_end(r, -ENOENT);
        }
}

static void old_deleted(void *arg, int err, const struct store_object *obj)
{
        struct rename *r = arg;
        (void)obj;
        if (err == -ENOENT)
                was_taken(r);
        else if (err && err != -ESTALE)
                undone(r, err);
        else /* what another host has put there since it was copied stays */
                rename_succeeded(r);
}

static void send(struct rename *r);

/* The version of the old name now; it is not the one that the tree knows. */
static void headed(void *arg, int err, const struct store_object *obj)
{
        struct rename *r = arg;
        if (err) {
                rename_end(r, err);
                return;
        }
        r->replaced = true;
        snprintf(r->etag, sizeof r->etag, "%s", obj->etag);
        send(r);
}

static void object_moved(void *arg, int err, const struct store_object *obj)
{
        struct rename *r = arg;

        if (err == -ESTALE && ++r->tries < TRIES)
                err = store_head(r->m->store, r->from_key, headed, r);
        else if (!err) {
                snprintf(r->new_etag, sizeof r->new_etag, "%s", obj->etag);
                tree_lock(r->m->tree);
                rename_follow_locked(r->n, r->to_key, r->etag, r->new_etag);
                rename_files_locked(r, r->to_key);
                tree_unlock(r->m->tree);
                if (store_caps(r->m->store) & STORE_CAP_RENAME) {
                        rename_succeeded(r);
                        return;
                }
                err = store_delete_if(r->m->store, r->from_key, r->etag, old_deleted, r);
                if (err)
                        undone(r, err);
                return;
        }
        if (err)
                rename_end(r, err);
}

/* Gives the object its new name. */
static void send(struct rename *r)
{
        struct store *s = r->m->store;
        const struct store_cond cond = {.if_absent = r->no_replace};
        int err = !*r->etag ? store_head(s, r->from_key, headed, r)
                  : store_caps(s) & STORE_CAP_RENAME
                          ? store_rename(s, r->from_key, r->etag, r->to_key, &cond, object_moved, r)
                          : store_copy(s, r->from_key, r->etag, r->to_key, NULL, &cond,
                                       object_moved, r);
        if (err)
                rename_end(r, err);
}

/* There is nothing of the file at the store. */
static void move_here(struct rename *r)
{
        const struct node *target = r->target;

        tree_lock(r->m->tree);
        rename_files_locked(r, r->to_key);
        const char *was = !target             ? NULL
                          : r->leaving.aside  ? r->leaving.etag
                          : target->published ? target->etag
                                              : target->replaced_etag;
        free(r->n->replaced_etag);
        r->n->replaced_etag =
                was ? strdup(was) : NULL; /* no memory: it stays until this is published */
        tree_unlock(r->m->tree);
        rename_succeeded(r);
}

/* What had the old name before the file is not to have it again, unless another host has put
 * something else there. */
static void replaced_deleted(void *arg, int err, const struct store_object *obj)
{
        struct rename *r = arg;
        (void)obj;
        if (err && err != -ENOENT && err != -ESTALE)
                rename_end(r, err);
        else
                move_here(r);
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
        if (published) {
                send(r);
                return;
        }
        int err = replaced
                          ? store_delete_if(r->m->store, r->from_key, replaced, replaced_deleted, r)
                          : 0;
        if (err)
                rename_end(r, err);
        else if (!replaced)
                move_here(r);
}

static void replace(struct rename *r)
{
        r->leaving =
                (struct leaving){.m = r->m, .n = r->target, .ready = target_prepared, .arg = r};
        if (r->target)
                leave_prepare(&r->leaving);
        else
                target_prepared(r);
}

static void rename_file(struct rename *r);

static void target_headed(void *arg, int err, const struct store_object *obj)
{
        struct rename *r = arg;
        (void)obj;
        if (err == -ENOENT)
                replace(r);
        else
                rename_end(r, err ? err : -EEXIST);
}

static void rename_file(struct rename *r)
{
        tree_lock(r->m->tree);
        bool published = r->n->published;
        tree_unlock(r->m->tree);
        bool asks = r->no_replace && !published;
        int err = asks ? store_head(r->m->store, r->to_key, target_headed, r) : 0;

        if (err)
                rename_end(r, err);
        else if (!asks)
                replace(r);
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
        return 0;
}

static void dir_stays(void *arg)
{
        struct rename *r = arg;
        struct tree *t = r->m->tree;

        /* Where objects are copied, the old names last until the new ones are known. */
        if (store_caps(r->m->store) & STORE_CAP_RENAME) {
                tree_lock(t);
                tree_each_open_locked(t, r->n, reader_waits, r);
                tree_unlock(t);
        }
        if (r->n->dir)
                rename_dir(r);
        else
                rename_file(r);
}

/* The directories keep their names from here on. Neither a change of attributes is under way, which
 * would be lost or bring the old name back, nor a request that publishes. */
static void rename_granted(struct waiter *w)
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
                dir_marker_ensure(r->m, r->from_dir, dir_stays, r);
}

void rename_start(struct rename *r)
{
        r->lock = (struct name_lock){.shared = {r->from_dir, r->to_dir},
                                     .names = {r->from, r->to},
                                     .waiter.ready = rename_granted};
        name_lock_take(r->m, &r->lock);
}
