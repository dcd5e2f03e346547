/* SPDX-License-Identifier: Apache-2.0 */
/* op_name.c: changes of names. A directory is a marker, an empty object whose key ends in '/'. */
#include "mount/ops/op.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/container_of.h"
#include "mount/rename/dir_marker.h"
#include "mount/rename/orphan.h"
#include "mount/rename/name_lock.h"

#include "base/banned.h"

/* One change under way. */
struct change {
        struct name_lock lock;
        fuse_req_t req;
        struct request *request;
        struct mount *m;
        struct node *dir; /* where the name is */
        char *name;
        const char *tail;               /* behind its key */
        void (*begin)(struct change *); /* once it may; `key` is made */
        char *key;
        struct leaving leaving; /* of a file */
        mode_t mode;            /* of a directory that is made, */
        int64_t asked_ns;       /* and when the store was asked to */
        struct attr attr;
};

static void change_free(struct change *c)
{
        attr_release(&c->attr);
        free(c->name);
        free(c->key);
        free(c);
}

static void change_end(struct change *c, int err)
{
        name_lock_drop(&c->lock);
        fuse_reply_err(c->req, -err);
        change_free(c);
}

static void change_granted(struct waiter *w)
{
        struct change *c = CONTAINER_OF(w, struct change, lock.waiter);
        CLEANUP(freep) char *key = NULL;
        int err = w->err;

        if (!err)
                err = request_ended(c->request) ? -EINTR : mount_key(c->m, c->dir, c->name, &key);
        if (!err && asprintf(&c->key, "%s%s", key, c->tail) < 0) {
                c->key = NULL;
                err = -ENOMEM;
        }
        if (err)
                change_end(c, err);
        else
                c->begin(c);
}

/* Begins a change of `name` in `parent`, or replies an error. `tail` is added to the key.
 * `removes`: nobody opens or changes what has the name meanwhile. */
static void change(fuse_req_t req, fuse_ino_t parent, const char *name, const char *tail,
                   void (*begin)(struct change *c), mode_t mode, bool removes)
{
        struct mount *m = op_mount(req);
        struct node *dir = op_node(m, parent);
        struct change *c = calloc(1, sizeof *c);

        if (!c || !(c->name = strdup(name))) {
                free(c);
                fuse_reply_err(req, ENOMEM);
                return;
        }
        c->lock = (struct name_lock){.shared = {dir},
                                     .names = {removes ? c->name : NULL},
                                     .waiter.ready = change_granted};
        c->req = req;
        c->request = request_now();
        c->m = m;
        c->dir = dir;
        c->tail = tail;
        c->begin = begin;
        c->mode = mode;
        name_lock_take(m, &c->lock);
}

static void deleted(void *arg, int err, const struct store_object *obj)
{
        struct change *c = arg;
        (void)obj;
        if (!err) {
                tree_lock(c->m->tree);
                if (c->lock.exclusive[0])
                        c->lock.exclusive[0]->removed = true;
                tree_drop_name_locked(c->m->tree, c->dir, c->name, NULL);
                tree_unlock(c->m->tree);
        }
        (err ? leave_undo : leave_commit)(&c->leaving);
        change_end(c, err);
}

static void dir_stays(void *arg)
{
        struct change *c = arg;
        int err = store_delete(c->m->store, c->key, deleted, c);
        if (err)
                deleted(c, err, NULL);
}

static void delete_key(struct change *c)
{
        dir_marker_ensure(c->m, c->dir, dir_stays, c);
}

/* --- directories --- */

static void marker_made(void *arg, int err, const struct store_object *obj)
{
        struct change *c = arg;
        struct node_info info = {
                .dir = true, .etag = "", .marker = true, .attr = &c->attr, .done_ns = c->asked_ns};
        struct fuse_entry_param e;

        if (!err) {
                c->attr.metageneration = obj->meta.metageneration;
                err = op_enter_made(c->m, c->dir, c->name, &info, &e);
        }
        if (err) {
                op_note_unmade(c->m, c->dir, c->name);
                change_end(c, err);
                return;
        }
        name_lock_drop(&c->lock);
        op_reply_entry(c->req, c->m, &e);
        change_free(c);
}

static void mkdir_begin(struct change *c)
{
        struct store_body empty = store_body_mem(NULL, 0);
        const struct fuse_ctx *who = fuse_req_ctx(c->req);
        /* Another host may have made it since the kernel looked. */
        const struct store_cond cond = {.if_absent = store_caps(c->m->store) & STORE_CAP_IF_ABSENT};
        struct store_meta meta;

        tree_lock(c->m->tree);
        c->attr = attr_sync_fresh_locked(c->m, c->dir, c->name, S_IFDIR | (c->mode & 07777),
                                         who->uid, who->gid, 0);
        tree_unlock(c->m->tree);
        int err = attr_to_meta(&c->attr, &meta);
        c->asked_ns = tree_now_ns();
        if (!err)
                err = store_put(c->m->store, c->key, &empty, &meta, &cond, marker_made, c);
        if (err)
                change_end(c, err);
}

void op_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
        change(req, parent, name, "/", mkdir_begin, mode, false);
}

/* An object that is called like the marker and has bytes is not ours to delete. */
static void rmdir_listed(void *arg, int err, const struct store_page *page)
{
        struct change *c = arg;
        for (size_t i = 0; !err && i < page->n; i++)
                if (page->v[i].size || strcmp(page->v[i].key, c->key))
                        err = -ENOTEMPTY;
        if (err)
                change_end(c, err);
        else
                delete_key(c);
}

static void rmdir_begin(struct change *c)
{
        tree_lock(c->m->tree);
        struct node *n = tree_find_locked(c->m->tree, c->dir, c->name);
        bool used = n && tree_has_unpublished_locked(c->m->tree, n);
        tree_unlock(c->m->tree);
        struct store_list list = {.prefix = c->key, .max = 2, .least = 2};
        int err = used ? -ENOTEMPTY : store_list(c->m->store, &list, rmdir_listed, c);
        if (err)
                change_end(c, err);
}

void op_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
        change(req, parent, name, "/", rmdir_begin, 0, true);
}

/* --- files --- */

static void unlink_prepared(void *arg)
{
        delete_key(arg);
}

static void unlink_begin(struct change *c)
{
        struct node *n = c->lock.exclusive[0];

        if (n) {
                c->leaving =
                        (struct leaving){.m = c->m, .n = n, .ready = unlink_prepared, .arg = c};
                leave_prepare(&c->leaving);
        } else {
                delete_key(c);
        }
}

void op_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
        change(req, parent, name, "", unlink_begin, 0, true);
}
