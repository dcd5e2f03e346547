/* SPDX-License-Identifier: Apache-2.0 */
/* node_writer.c: see node_writer.h. */
#include "mount/ops/node_writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/container_of.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/mutex.h"
#include "mount/rename/attr_sync.h"
#include "mount/caller/fd_owners.h"
#include "mount/ops/op.h"

#include "base/banned.h"

struct wfile *node_writer_locked(struct mount *m, struct node *n, const char *key)
        REQUIRES(tree_mutex)
{
        if (!n->file) {
                struct store_object base = {
                        .size = n->size, .has_crc = n->has_crc, .crc32c = n->crc32c};
                snprintf(base.etag, sizeof base.etag, "%s", n->etag);
                n->file = wfile_new(&m->wfile_env, n, n->orphan_key ? n->orphan_key : key,
                                    n->published ? &base : NULL);
                if (!n->file)
                        return NULL;
                if (n->unlinked)
                        wfile_unname(n->file);
                if (n->nreaders)
                        wfile_read_too(n->file);
                n->turn++;
                if (n->published && n->attr_known)
                        tree_note_attr_locked(n);
                tree_note_open_locked(m->tree, n);
        }
        n->nwriters++;
        return wfile_ref(n->file);
}

static void send_rest(struct mount *m, struct node *n, struct attr *carried);

/* What no close has published when its open ends: it was written through a mapping, the close left
 * it to a process that let go of the file without one, or who waited for a commit was killed. */
struct late {
        struct waiter commit;
        struct mount *m;
        struct node *n;
        struct wfile *f;
};

/* The log has told of an error; nobody else is left to be told. */
static void late_done(struct waiter *w)
{
        struct late *l = CONTAINER_OF(w, struct late, commit);

        node_writer_put(l->m, l->n, l->f, NULL);
        tree_lock(l->m->tree);
        tree_unref_locked(l->m->tree, l->n, 1);
        tree_unlock(l->m->tree);
        free(l);
}

void node_writer_put(struct mount *m, struct node *n, struct wfile *f, const struct wfile_user *u)
{
        struct wfile *shown = NULL;
        struct late *l = NULL;

        tree_lock(m->tree);
        bool last = n->nwriters == 1;
        bool owes = last ? wfile_dirty(f) : u && wfile_owes_end(f, u);
        bool killed = owes && m->params.on_kill == ON_KILL_ABORT && n->fd_owners &&
                      fd_owners_killed(n->fd_owners);
        if (last && killed)
                METRIC_ADD(kills_aborted, 1);
        if (owes && (last || !killed) && (l = malloc(sizeof *l))) {
                *l = (struct late){.commit.ready = late_done, .m = m, .n = n, .f = f};
                tree_pin_locked(n);
                tree_unlock(m->tree);
                if (killed) /* of a commit that it waited for the last request may be on its way */
                        wfile_abort(f, -ECANCELED);
                wfile_commit(f, NULL, &l->commit);
                return;
        }
        n->nwriters--;
        /* Those who read what was never published, and has no name any more, read it on. */
        bool read = n->unlinked && n->nreaders;
        bool more = last && !owes && attr_sync_left_locked(n);
        CLEANUP(attr_release) struct attr carried = {0};
        if (more)
                carried = attr_copy(&n->attr);
        if (last && n->file == f && !read) {
                shown = TAKE_PTR(n->file);
                tree_drop_attr_base(n);
                tree_note_open_locked(m->tree, n);
                if (!n->published)
                        tree_remove_locked(m->tree, n);
        }
        tree_unlock(m->tree);
        if (last && owes)
                wfile_abort(f, killed ? -ECANCELED : -ENOMEM);
        if (more)
                send_rest(m, n, &carried);
        wfile_unref(shown);
        wfile_unref(f);
}

bool node_writer_is_last(struct mount *m, const struct node *n)
{
        tree_lock(m->tree);
        bool last = n->nwriters == 1;
        tree_unlock(m->tree);
        return last;
}

static void resize_again(struct waiter *w)
{
        op_resize(CONTAINER_OF(w, struct op_resize, deferred));
}

void op_resize(struct op_resize *r)
{
        int err;
        do {
                err = -EINTR;
                if (!request_hold(r->m, r->request))
                        break;
                err = wfile_truncate(r->file, r->user, r->size);
                request_let(r->m, r->request);
                r->deferred.ready = resize_again;
                if (err == -EAGAIN && wfile_defer(r->file, &r->deferred))
                        return;
        } while (err == -EAGAIN);
        mutex_check_none();
        r->done(r, err);
}

int node_writer_lock(void *mount, const char *key, bool alone, struct waiter *w,
                     struct key_lock **l)
{
        const char *const keys[] = {key, NULL};
        return name_lock_publish(mount, keys, alone, w, l);
}

void node_writer_unlock(void *mount, struct key_lock *l)
{
        name_lock_published(mount, l);
}

void node_writer_passes(void *mount, const char *key, const char *etag)
{
        name_lock_passes(mount, key, etag);
}

int node_writer_meta(void *mount, void *node, bool early, struct store_meta *meta)
{
        return attr_sync_meta(mount, node, early, meta);
}

int node_writer_merge(void *mount, void *node, const struct store_object *obj)
{
        return attr_sync_merge(mount, node, obj);
}

/* Attributes that changed while the version was on its way are sent after it, and those that it was
 * to carry when it failed. Nobody has a lock for that: what is being renamed or unlinked would get
 * another object by its old name. */
struct rest {
        struct waiter wait;
        struct name_lock lock;
        struct mount *m;
        struct node *n;      /* pinned */
        struct attr carried; /* by the version */
};

static void rest_sent(struct waiter *w)
{
        struct rest *r = CONTAINER_OF(w, struct rest, wait); /* the log has said an error */

        name_lock_drop(&r->lock);
        tree_lock(r->m->tree);
        tree_unref_locked(r->m->tree, r->n, 1);
        tree_wake_if_locked(r->m->tree, !--r->m->attr_syncs);
        tree_unlock(r->m->tree);
        attr_release(&r->carried);
        free(r);
}

static void rest_granted(struct waiter *w)
{
        struct rest *r = CONTAINER_OF(w, struct rest, lock.waiter);
        attr_sync(r->m, r->n, &r->carried, &r->wait);
}

static void send_rest(struct mount *m, struct node *n, struct attr *carried)
{
        struct rest *r = malloc(sizeof *r);
        if (!r) {
                log_warn_of(LOG_ABOUT(.operation = "publish", .file = n->name,
                                      .remedy = "change them again"),
                            "%s: no memory to send the attributes that changed while it was "
                            "written: they go with its next change",
                            n->name);
                return;
        }
        *r = (struct rest){.wait.ready = rest_sent,
                           .lock = {.shared = {n}, .waiter.ready = rest_granted},
                           .m = m,
                           .n = n};
        attr_move(&r->carried, carried);
        tree_lock(m->tree);
        tree_pin_locked(n);
        m->attr_syncs++;
        tree_unlock(m->tree);
        name_lock_take(m, &r->lock);
}

void node_writer_published(void *mount, void *node, const struct store_object *obj,
                           int64_t asked_ns)
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
        free(TAKE_PTR(n->replaced_etag));
        if (n->fd_owners)
                fd_owners_published(n->fd_owners);
        carried = attr_copy(&n->attr);
        bool more = attr_sync_published_locked(m, n, obj, asked_ns);
        tree_unlock(m->tree);
        if (old)
                reader_close(old);
        reader_unref(old);
        if (more)
                send_rest(m, n, &carried);
        left_uploads_try(&m->left_uploads);
}

/* What is open goes on with what it has; the name leads to what the store has. That is so, too,
 * where the first version of a file failed that had replaced another one by a rename. */
void node_writer_gone(void *mount, void *node, int err)
{
        struct mount *m = mount;
        struct node *n = node;
        bool others = err == -ESTALE || err == -EEXIST;

        tree_lock(m->tree);
        if (!n->unlinked && (others || n->replaced_etag))
                tree_replaced_locked(m->tree, n);
        tree_unlock(m->tree);
}
