/* SPDX-License-Identifier: Apache-2.0 */
/* op_link.c: symbolic links, whose target is the object's bytes, special files, which are empty
 * objects, where their mode says what they are, and copies in place of hard links. */
#include "mount/ops/op.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/container_of.h"
#include "base/log.h"
#include "mount/caller/fd_owners.h"
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
                err = op_enter_made(k->m, k->dir, k->name, &info, &e);
        }
        if (err)
                op_note_unmade(k->m, k->dir, k->name);
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

/* --- a second name --- */

/* An object has one name. Programs that link a file to a name that must be free, and then remove
 * the first name, are served by a copy all the same (option hard_links). */
struct second {
        struct name_lock lock; /* shared, on the directory and on the file */
        struct waiter commit, idle, for_key;
        struct key_lock *keys;
        fuse_req_t req;
        struct request *request;
        struct mount *m;
        struct node *dir, *n;
        struct wfile *file; /* that has bytes to be published first, or NULL */
        char *name, *key;
        char etag[STORE_ETAG_MAX]; /* of what is copied, */
        uint64_t size;             /* and its bytes */
        struct store_object copy;  /* once it is there */
        unsigned tries;
        int64_t asked_ns;
};

enum { COPY_TRIES = 3 }; /* against others who replace the file meanwhile */

static void second_end(struct second *l, int err, const struct fuse_entry_param *e)
{
        if (err && l->keys)
                op_note_unmade(l->m, l->dir, l->name);
        name_lock_published(l->m, l->keys);
        name_lock_drop(&l->lock);
        if (err)
                fuse_reply_err(l->req, -err);
        else
                op_reply_entry(l->req, l->m, e);
        wfile_unref(l->file);
        free(l->name);
        free(l->key);
        free(l);
}

/* The link is made, whether or not the store tells what the copy is like. */
static void second_found(void *arg, int head_err, const struct store_object *obj)
{
        struct second *l = arg;
        struct attr attr = {0};
        struct fuse_entry_param e;
        int err = head_err ? 0 : attr_from_object(obj, false, &attr);

        if (!err) {
                struct node_info info = mount_info(head_err ? &l->copy : obj);
                info.attr = head_err ? NULL : &attr;
                info.complete = !head_err;
                info.asked_ns = l->asked_ns;
                err = op_enter_made(l->m, l->dir, l->name, &info, &e);
        }
        attr_release(&attr);
        second_end(l, err, &e);
}

static void second_copy(struct second *l);

static void original_found(void *arg, int err, const struct store_object *obj)
{
        struct second *l = arg;

        if (err) {
                second_end(l, err, NULL);
                return;
        }
        snprintf(l->etag, sizeof l->etag, "%s", obj->etag);
        l->size = obj->size;
        second_copy(l);
}

/* Asks for the first name's version, or for what the second one has. */
static void second_head(struct second *l, const char *key, store_done_fn *done)
{
        l->asked_ns = tree_now_ns();
        int err = key ? store_head(l->m->store, key, done, l) : -ENOMEM;
        if (err)
                done(l, err, NULL);
}

static char *original_key(const struct second *l)
{
        tree_lock(l->m->tree);
        char *key = tree_key_locked(l->n);
        tree_unlock(l->m->tree);
        return key;
}

static void second_copied(void *arg, int err, const struct store_object *obj)
{
        struct second *l = arg;

        if (err == -ESTALE && ++l->tries < COPY_TRIES) {
                CLEANUP(freep) char *key = original_key(l);
                second_head(l, key, original_found);
        } else if (err) {
                second_end(l, err, NULL);
        } else {
                l->copy = (struct store_object){.size = l->size,
                                                .mtime_ns = obj->mtime_ns ? obj->mtime_ns
                                                                          : mount_now_ns()};
                snprintf(l->copy.etag, sizeof l->copy.etag, "%s", obj->etag);
                second_head(l, l->key, second_found);
        }
}

static void second_copy(struct second *l)
{
        const struct store_cond cond = {.if_absent = true};
        CLEANUP(freep) char *key = original_key(l);
        int err = !key                        ? -ENOMEM
                  : request_ended(l->request) ? -EINTR
                                              : store_copy(l->m->store, key, l->etag, l->key, NULL,
                                                           &cond, second_copied, l);
        if (err)
                second_end(l, err, NULL);
}

/* Nobody is about to put an object at one of the names. */
static void second_begin(struct second *l)
{
        tree_lock(l->m->tree);
        int err = l->n->unlinked ? -ENOENT : l->n->published ? 0 : -EBUSY;
        snprintf(l->etag, sizeof l->etag, "%s", l->n->etag ? l->n->etag : "");
        l->size = l->n->size;
        tree_unlock(l->m->tree);
        if (err) {
                second_end(l, err, NULL);
        } else if (*l->etag) {
                second_copy(l);
        } else {
                CLEANUP(freep) char *key = original_key(l);
                second_head(l, key, original_found);
        }
}

static void second_key_granted(struct waiter *w)
{
        second_begin(CONTAINER_OF(w, struct second, for_key));
}

/* No change of the first name's attributes is on its way. What another file's commit has at either
 * name, on its way to another, is not this file. */
static void second_idle(struct waiter *w)
{
        struct second *l = CONTAINER_OF(w, struct second, idle);
        CLEANUP(freep) char *original = original_key(l);
        const char *const keys[2] = {l->key, original};
        int err = original ? name_lock_publish(l->m, keys, false, &l->for_key, &l->keys) : -ENOMEM;

        if (!err)
                second_begin(l);
        else if (err != -EAGAIN)
                second_end(l, err, NULL);
}

static void original_published(struct waiter *w)
{
        struct second *l = CONTAINER_OF(w, struct second, commit);

        if (w->err)
                second_end(l, w->err, NULL);
        else
                attr_sync_wait(l->m, l->n, true, &l->idle);
}

/* What is written to the file is published first, as by fsync, but for what a killed writer left.
 */
static void second_granted(struct waiter *w)
{
        struct second *l = CONTAINER_OF(w, struct second, lock.waiter);
        int err = request_ended(l->request) ? -EINTR : mount_key(l->m, l->dir, l->name, &l->key);

        tree_lock(l->m->tree);
        const struct node *n = l->n;
        bool dirty = n->file && wfile_dirty(n->file);
        bool killed = dirty && l->m->params.on_kill == ON_KILL_ABORT && n->fd_owners &&
                      fd_owners_killed(n->fd_owners);
        if (!err && n->unlinked)
                err = -ENOENT;
        if (!err && op_is_replaced_locked(n))
                err = -ESTALE;
        if (!err && killed)
                err = -EIO;
        if (!err && dirty)
                l->file = wfile_ref(n->file);
        tree_unlock(l->m->tree);
        if (err)
                second_end(l, err, NULL);
        else if (l->file)
                wfile_commit(l->file, NULL, &l->commit);
        else
                attr_sync_wait(l->m, l->n, true, &l->idle);
}

static void second_start(fuse_req_t req, struct node *n, struct node *dir, const char *name)
{
        struct mount *m = op_mount(req);
        struct second *l = calloc(1, sizeof *l);
        char *own = strdup(name);

        if (!l || !own) {
                free(l);
                free(own);
                fuse_reply_err(req, ENOMEM);
                return;
        }
        *l = (struct second){.lock = {.shared = {dir, n}, .waiter.ready = second_granted},
                             .commit.ready = original_published,
                             .idle.ready = second_idle,
                             .for_key.ready = second_key_granted,
                             .req = req,
                             .request = request_now(),
                             .m = m,
                             .dir = dir,
                             .n = n,
                             .name = own};
        name_lock_take(m, &l->lock);
}

void op_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t newparent, const char *newname)
{
        static atomic_flag told = ATOMIC_FLAG_INIT;
        struct mount *m = op_mount(req);
        struct node *n = op_node(m, ino);

        tree_lock(m->tree);
        bool file = S_ISREG(mount_mode_locked(m, n));
        tree_unlock(m->tree);
        if (file && m->params.hard_links == HARD_LINKS_COPY) {
                second_start(req, n, op_node(m, newparent), newname);
                return;
        }
        if (file && !atomic_flag_test_and_set(&told))
                log_info("%s: hard links are refused: a program that cannot do without is served "
                         "by hard_links=copy",
                         newname);
        fuse_reply_err(req, EPERM);
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
        attr_sync_wait(f->m, f->n, true, &f->idle);
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
