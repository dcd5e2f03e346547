/* SPDX-License-Identifier: Apache-2.0 */
/* op_link.c: symbolic links, whose target is the object's bytes, and special files, which are empty
 * objects; their mode says what they are. */
#include "mount/ops/op.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/container_of.h"
#include "mount/rename/name_lock.h"

#include "base/banned.h"

/* --- making --- */

struct make {
        struct name_lock lock;
        struct waiter for_key;
        struct key_lock *keys; /* an upload may be on its way through the name */
        fuse_req_t req;
        struct request *request;
        struct mount *m;
        struct node *dir;
        char *name, *key;
        char *target; /* of a link, else NULL */
        mode_t mode;
        dev_t rdev;
        struct attr attr;
        int64_t asked_ns; /* when the store was asked to */
};

/* With `e`, or an error. */
static void make_end(struct make *k, int err, const struct fuse_entry_param *e)
{
        name_lock_published(k->m, k->keys);
        name_lock_drop(&k->lock);
        if (err)
                fuse_reply_err(k->req, -err);
        else
                op_reply_entry(k->req, k->m, e);
        attr_release(&k->attr);
        free(k->name);
        free(k->key);
        free(k->target);
        free(k);
}

static void made(void *arg, int err, const struct store_object *obj)
{
        struct make *k = arg;
        struct fuse_entry_param e;

        if (!err) {
                struct node_info info = mount_info(obj);
                info.complete = false;
                info.attr = &k->attr;
                info.done_ns = k->asked_ns;
                tree_lock(k->m->tree);
                struct node *n = tree_enter_locked(k->m->tree, k->dir, k->name, &info);
                tree_entries_changed_locked(k->dir);
                if (n)
                        op_entry_locked(k->m, n, &e);
                else
                        err = -ENOMEM;
                tree_unlock(k->m->tree);
        }
        if (err) {
                tree_lock(k->m->tree);
                tree_note_unknown_locked(k->dir, k->name); /* it may be there though this failed */
                tree_unlock(k->m->tree);
        }
        make_end(k, err, &e);
}

static int make_put(struct make *k)
{
        struct store_cond cond = {.if_absent = store_caps(k->m->store) & STORE_CAP_IF_ABSENT};
        struct store_body body = store_body_mem(k->target, k->target ? strlen(k->target) : 0);
        const struct fuse_ctx *who = fuse_req_ctx(k->req);
        struct store_meta meta;

        tree_lock(k->m->tree);
        k->attr =
                attr_sync_fresh_locked(k->m, k->dir, k->name, k->mode, who->uid, who->gid, k->rdev);
        tree_unlock(k->m->tree);
        int err = attr_to_meta(&k->attr, &meta);
        k->asked_ns = tree_now_ns();
        return err ? err : store_put(k->m->store, k->key, &body, &meta, &cond, made, k);
}

static void make_begin(struct make *k)
{
        int err = request_ended(k->request) ? -EINTR : make_put(k);
        if (err)
                make_end(k, err, NULL);
}

static void make_key_granted(struct waiter *w)
{
        make_begin(CONTAINER_OF(w, struct make, for_key));
}

static void make_granted(struct waiter *w)
{
        struct make *k = CONTAINER_OF(w, struct make, lock.waiter);
        int err = mount_key(k->m, k->dir, k->name, &k->key);
        const char *const keys[2] = {k->key, NULL};

        if (!err)
                err = name_lock_publish(k->m, keys, false, &k->for_key, &k->keys);
        if (!err)
                make_begin(k);
        else if (err != -EAGAIN)
                make_end(k, err, NULL);
}

static void make(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t rdev,
                 const char *target)
{
        struct mount *m = op_mount(req);
        struct node *dir = op_node(m, parent);
        struct make *k = calloc(1, sizeof *k);
        char *own = strdup(name), *to = target ? strdup(target) : NULL;

        if (!k || !own || (target && !to)) {
                free(k);
                free(own);
                free(to);
                fuse_reply_err(req, ENOMEM);
                return;
        }
        *k = (struct make){.lock = {.shared = {dir}, .waiter.ready = make_granted},
                           .for_key.ready = make_key_granted,
                           .req = req,
                           .request = request_now(),
                           .m = m,
                           .dir = dir,
                           .name = own,
                           .target = to,
                           .mode = mode,
                           .rdev = rdev};
        name_lock_take(m, &k->lock);
}

void op_symlink(fuse_req_t req, const char *link, fuse_ino_t parent, const char *name)
{
        make(req, parent, name, S_IFLNK | 0777, 0, link);
}

void op_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t rdev)
{
        make(req, parent, name, mode & S_IFMT ? mode : S_IFREG | mode, rdev, NULL);
}

void op_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t newparent, const char *newname)
{
        (void)ino, (void)newparent, (void)newname;
        fuse_reply_err(req, EPERM); /* an object has one name */
}

/* --- reading --- */

struct follow {
        struct name_lock lock;
        struct waiter idle;
        fuse_req_t req;
        struct mount *m;
        struct node *n;
        bool again; /* its name or version was about to change: it was waited for */
        size_t len;
        char target[PATH_MAX];
};

static void follow_end(struct follow *f, int err)
{
        if (f->again)
                name_lock_drop(&f->lock);
        f->target[f->len] = 0;
        if (err)
                fuse_reply_err(f->req, err == -ENOENT ? ESTALE : -err);
        else
                fuse_reply_readlink(f->req, f->target);
        free(f);
}

static int follow_data(void *arg, uint64_t at, const void *p, size_t n)
{
        struct follow *f = arg;
        if (at + n >= sizeof f->target)
                return -ENAMETOOLONG;
        memcpy(f->target + at, p, n);
        f->len = (size_t)at + n;
        return 0;
}

static void follow_ask(struct follow *f);

static void follow_idle(struct waiter *w)
{
        follow_ask(CONTAINER_OF(w, struct follow, idle));
}

static void follow_granted(struct waiter *w)
{
        struct follow *f = CONTAINER_OF(w, struct follow, lock.waiter);
        f->idle.ready = follow_idle;
        attr_sync_wait(f->m, f->n, &f->idle);
}

static void followed(void *arg, int err, const struct store_got *got)
{
        struct follow *f = arg;
        (void)got;
        if ((err != -ENOENT && err != -ESTALE) || f->again) {
                follow_end(f, err);
                return;
        }
        f->again = true;
        f->lock = (struct name_lock){.shared = {f->n}, .waiter.ready = follow_granted};
        name_lock_take(f->m, &f->lock);
}

static void follow_ask(struct follow *f)
{
        char etag[STORE_ETAG_MAX];

        tree_lock(f->m->tree);
        CLEANUP(freep) char *key = tree_key_locked(f->n);
        snprintf(etag, sizeof etag, "%s", f->n->etag ? f->n->etag : "");
        tree_unlock(f->m->tree);
        f->len = 0;
        struct store_get get = {
                .key = key,
                .len = sizeof f->target,
                .if_match = *etag ? etag : NULL,
                .data = follow_data,
                .done = followed,
                .arg = f,
        };
        int err = key ? store_get(f->m->store, &get) : -ENOMEM;
        if (err)
                follow_end(f, err);
}

void op_readlink(fuse_req_t req, fuse_ino_t ino)
{
        struct follow *f = malloc(sizeof *f);

        if (!f) {
                fuse_reply_err(req, ENOMEM);
                return;
        }
        *f = (struct follow){.req = req, .m = op_mount(req)};
        f->n = op_node(f->m, ino);
        follow_ask(f);
}
