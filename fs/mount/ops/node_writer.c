/* SPDX-License-Identifier: Apache-2.0 */
/* node_writer.c: see node_writer.h. */
#include "mount/ops/node_writer.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/metrics.h"
#include "mount/rename/attr_sync.h"
#include "mount/caller/fd_owners.h"
#include "mount/ops/op.h"

#include "base/banned.h"

struct file *op_file_locked(struct mount *m, struct node *n, const char *key)
{
        if (!n->file) {
                struct store_object base = {
                        .size = n->size, .has_crc = n->has_crc, .crc32c = n->crc32c};
                snprintf(base.etag, sizeof base.etag, "%s", n->etag);
                n->file = file_new(&m->file_env, n, key, n->published ? &base : NULL);
                if (!n->file)
                        return NULL;
                if (n->nreaders)
                        file_read_too(n->file);
                n->turn++;
                tree_note_open_locked(m->tree, n);
        }
        n->nwriters++;
        return file_ref(n->file);
}

/* What no close has published when its open ends: it was written through a mapping, or the close
 * left it to a process that let go of the file without one. */
struct late {
        struct file_commit commit;
        struct mount *m;
        struct node *n;
        struct file *f;
};

static void late_done(struct file_commit *c, int err, const struct store_object *obj)
{
        struct late *l = (struct late *)c;
        (void)err, (void)obj; /* the log has said it, and nobody is left to be told */

        op_file_put(l->m, l->n, l->f, NULL);
        tree_lock(l->m->tree);
        tree_unref_locked(l->m->tree, l->n, 1);
        tree_unlock(l->m->tree);
        free(l);
}

void op_file_put(struct mount *m, struct node *n, struct file *f, const struct file_user *u)
{
        struct file *shown = NULL;
        struct late *l = NULL;

        tree_lock(m->tree);
        bool last = n->nwriters == 1;
        bool owes = last ? file_dirty(f) : u && file_owes_end(f, u);
        bool killed = owes && m->params.on_kill == ON_KILL_ABORT && n->holders &&
                      holders_killed(n->holders);
        if (owes && !killed && (l = malloc(sizeof *l))) {
                *l = (struct late){.commit.done = late_done, .m = m, .n = n, .f = f};
                tree_pin_locked(n);
                tree_unlock(m->tree);
                file_commit(f, NULL, &l->commit);
                return;
        }
        n->nwriters--;
        /* Those who read what was never published, and has no name any more, read it on. */
        bool read = n->unlinked && n->nreaders;
        if (last && n->file == f && !read) {
                shown = TAKE_PTR(n->file);
                tree_note_open_locked(m->tree, n);
                if (!n->published)
                        tree_remove_locked(m->tree, n);
        }
        tree_unlock(m->tree);
        if (last && owes)
                file_abort(f, killed ? -ECANCELED : -ENOMEM);
        if (last && killed)
                METRIC_ADD(kills_aborted, 1);
        file_unref(shown);
        file_unref(f);
}

bool op_file_is_last(struct mount *m, const struct node *n)
{
        tree_lock(m->tree);
        bool last = n->nwriters == 1;
        tree_unlock(m->tree);
        return last;
}

static void resize_again(struct file_deferred *d)
{
        op_resize((struct op_resize *)(void *)((char *)d - offsetof(struct op_resize, deferred)));
}

void op_resize(struct op_resize *r)
{
        int err;
        do {
                err = file_truncate(r->file, r->user, r->size);
                r->deferred.retry = resize_again;
                if (err == -EAGAIN && file_defer(r->file, &r->deferred))
                        return;
        } while (err == -EAGAIN);
        r->done(r, err);
}

int op_file_meta(void *mount, void *node, bool early, struct store_meta *meta)
{
        return amend_meta(mount, node, early, meta);
}

/* Attributes that changed while the version was on its way are sent after it. Nobody has a lock for
 * that: what is being renamed or unlinked would get another object by its old name. */
struct rest {
        struct amend_wait wait;
        struct name_lock lock;
        struct mount *m;
        struct node *n;      /* pinned */
        struct attr carried; /* by the version */
};

static void rest_sent(struct amend_wait *w, int err)
{
        struct rest *r = (struct rest *)(void *)((char *)w - offsetof(struct rest, wait));
        (void)err; /* the log has said it */

        name_lock_drop(r->m, &r->lock);
        tree_lock(r->m->tree);
        tree_unref_locked(r->m->tree, r->n, 1);
        tree_wake_if_locked(r->m->tree, !--r->m->amends);
        tree_unlock(r->m->tree);
        attr_release(&r->carried);
        free(r);
}

static void rest_granted(struct name_lock *l)
{
        struct rest *r = (struct rest *)(void *)((char *)l - offsetof(struct rest, lock));
        amend(r->m, r->n, &r->carried, &r->wait);
}

static void send_rest(struct mount *m, struct node *n, struct attr *carried)
{
        struct rest *r = malloc(sizeof *r);
        if (!r) {
                log_warn("%s: no memory to send the attributes that changed while it was "
                         "published: they go with its next change",
                         n->name);
                return;
        }
        *r = (struct rest){.wait.done = rest_sent,
                           .lock = {.shared = {n}, .granted = rest_granted},
                           .m = m,
                           .n = n};
        attr_move(&r->carried, carried);
        tree_lock(m->tree);
        tree_pin_locked(n);
        m->amends++;
        tree_unlock(m->tree);
        name_lock_take(m, &r->lock);
}

void op_file_published(void *mount, void *node, const struct store_object *obj)
{
        struct mount *m = mount;
        struct node *n = node;
        struct reader *old = NULL;
        CLEANUP(attr_release) struct attr carried = {0};

        tree_lock(m->tree);
        if (n->reader && strcmp(reader_etag(n->reader), obj->etag)) {
                old = TAKE_PTR(n->reader);
                tree_note_open_locked(m->tree, n);
        }
        free(TAKE_PTR(n->shadow));
        if (n->holders)
                holders_published(n->holders);
        carried = attr_copy(&n->attr);
        bool more = amend_published_locked(m, n, obj);
        tree_unlock(m->tree);
        if (old)
                reader_close(old);
        reader_unref(old);
        if (more)
                send_rest(m, n, &carried);
}

/* What is open goes on with what it has; the name leads to what the store has. */
void op_file_gone(void *mount, void *node)
{
        struct mount *m = mount;
        struct node *n = node;

        tree_lock(m->tree);
        if (!n->unlinked)
                tree_remove_locked(m->tree, n);
        tree_unlock(m->tree);
}
