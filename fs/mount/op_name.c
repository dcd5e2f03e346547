/* SPDX-License-Identifier: Apache-2.0 */
/* op_name.c: changes of names. A directory is a marker, an empty object whose key ends in '/'. */
#include "mount/op.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "mount/marker.h"
#include "mount/park.h"

#include "base/banned.h"

/* One change under way. */
struct change {
        fuse_req_t req;
        struct mount *m;
        struct node *dir; /* where the name is */
        char *name;
        char *key;
        struct node *n;   /* of a file that is unlinked, pinned; else NULL */
        struct attr attr; /* of a directory that is made */
};

static void change_free(struct change *c)
{
        if (!c)
                return;
        if (c->n) {
                tree_lock(c->m->tree);
                tree_unref_locked(c->m->tree, c->n, 1);
                tree_unlock(c->m->tree);
        }
        attr_release(&c->attr);
        free(c->name);
        free(c->key);
        free(c);
}

static void change_end(struct change *c, int err)
{
        fuse_reply_err(c->req, -err);
        change_free(c);
}

/* A change of `name` in `parent`, or NULL after an error reply. `tail` is added to the key. */
static struct change *change_new(fuse_req_t req, fuse_ino_t parent, const char *name,
                                 const char *tail)
{
        struct mount *m = op_mount(req);
        CLEANUP(freep) char *key = NULL;
        struct node *dir = op_node(m, parent);
        int err = mount_key(m, dir, name, &key);
        struct change *c = err ? NULL : calloc(1, sizeof *c);

        if (c) {
                *c = (struct change){.req = req, .m = m, .dir = dir, .name = strdup(name)};
                if (c->name && asprintf(&c->key, "%s%s", key, tail) >= 0)
                        return c;
                c->key = NULL;
                change_free(c);
        }
        fuse_reply_err(req, err ? -err : ENOMEM);
        return NULL;
}

static void deleted(void *arg, int err, const struct store_object *obj)
{
        struct change *c = arg;
        (void)obj;
        if (!err)
                park_gone(c->m, c->dir, c->name, NULL);
        change_end(c, err);
}

static void dir_stays(void *arg)
{
        struct change *c = arg;
        int err = store_delete(c->m->store, c->key, deleted, c);
        if (err)
                change_end(c, err);
}

static void delete_key(struct change *c)
{
        marker_ensure(c->m, c->dir, dir_stays, c);
}

/* --- directories
 * -------------------------------------------------------------------------------------- */

static void marker_made(void *arg, int err, const struct store_object *obj)
{
        struct change *c = arg;
        struct node_info info = {.dir = true, .etag = "", .marker = true, .attr = &c->attr};
        struct fuse_entry_param e;
        struct node *n = NULL;
        (void)obj;

        if (!err) {
                tree_lock(c->m->tree);
                n = tree_enter_locked(c->m->tree, c->dir, c->name, &info);
                amend_entries_changed_locked(c->dir);
                if (n)
                        op_entry_locked(c->m, n, &e);
                else
                        err = -ENOMEM;
                tree_unlock(c->m->tree);
        }
        if (err)
                fuse_reply_err(c->req, -err);
        else
                fuse_reply_entry(c->req, &e);
        change_free(c);
}

void op_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
        struct store_body empty = store_body_mem(NULL, 0);
        struct change *c = change_new(req, parent, name, "/");
        const struct fuse_ctx *who = fuse_req_ctx(req);
        struct store_meta meta;
        if (!c)
                return;
        /* Another host may have made it since the kernel looked. */
        const struct store_cond cond = {.if_absent = store_caps(c->m->store) & STORE_CAP_IF_ABSENT};
        tree_lock(c->m->tree);
        c->attr = amend_fresh_locked(c->m, c->dir, S_IFDIR | (mode & 07777), who->uid, who->gid, 0);
        tree_unlock(c->m->tree);
        int err = attr_to_meta(&c->attr, &meta);
        if (!err)
                err = store_put(c->m->store, c->key, &empty, &meta, &cond, marker_made, c);
        if (err)
                change_end(c, err);
}

static void rmdir_listed(void *arg, int err, const struct store_page *page)
{
        struct change *c = arg;
        for (size_t i = 0; !err && i < page->n; i++)
                if (strcmp(page->v[i].key, c->key))
                        err = -ENOTEMPTY;
        if (err)
                change_end(c, err);
        else
                delete_key(c);
}

void op_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
        struct change *c = change_new(req, parent, name, "/");
        if (!c)
                return;
        tree_lock(c->m->tree);
        struct node *n = tree_find_locked(c->m->tree, c->dir, name);
        bool used = n && tree_has_unpublished_locked(c->m->tree, n);
        tree_unlock(c->m->tree);
        struct store_list list = {.prefix = c->key, .max = 2};
        int err = used ? -ENOTEMPTY : store_list(c->m->store, &list, rmdir_listed, c);
        if (err)
                change_end(c, err);
}

/* --- files
 * ------------------------------------------------------------------------------------------------
 */

static void unlinked_left(void *arg)
{
        delete_key(arg);
}

void op_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
        struct change *c = change_new(req, parent, name, "");
        if (!c)
                return;
        tree_lock(c->m->tree);
        c->n = tree_find_locked(c->m->tree, c->dir, name);
        if (c->n)
                tree_pin_locked(c->n);
        tree_unlock(c->m->tree);
        if (c->n)
                park_leave(c->m, c->n, unlinked_left, c);
        else
                delete_key(c);
}
