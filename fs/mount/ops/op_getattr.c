/* SPDX-License-Identifier: Apache-2.0 */
/* op_getattr.c: what the kernel knows, and attributes. */
#include "mount/ops/op.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/container_of.h"
#include "base/log.h"

#include "base/banned.h"

struct node *op_node(struct mount *m, fuse_ino_t ino)
{
        return ino == FUSE_ROOT_ID ? tree_root(m->tree) : (struct node *)(uintptr_t)ino;
}

fuse_ino_t op_ino(struct mount *m, const struct node *n)
{
        return n == tree_root(m->tree) ? FUSE_ROOT_ID : (fuse_ino_t)(uintptr_t)n;
}

void op_entry_locked(struct mount *m, struct node *n, struct fuse_entry_param *e)
        REQUIRES(tree_mutex)
{
        memset(e, 0, sizeof *e);
        e->ino = op_ino(m, n);
        e->generation = n->born; /* a handle of a file that is gone opens no other */
        e->attr_timeout = e->entry_timeout = mount_ttl_locked(m, n);
        mount_stat_locked(m, n, &e->attr);
}

int op_enter_made(struct mount *m, struct node *dir, const char *name, const struct node_info *info,
                  struct fuse_entry_param *e)
{
        tree_lock(m->tree);
        struct node *n = tree_enter_locked(m->tree, dir, name, info);
        tree_entries_changed_locked(dir);
        if (n)
                op_entry_locked(m, n, e);
        tree_unlock(m->tree);
        return n ? 0 : -ENOMEM;
}

void op_note_unmade(struct mount *m, struct node *dir, const char *name)
{
        tree_lock(m->tree);
        tree_note_unknown_locked(dir, name);
        tree_unlock(m->tree);
}

void op_reply_entry(fuse_req_t req, struct mount *m, const struct fuse_entry_param *e)
{
        if (!fuse_reply_entry(req, e) || !e->ino)
                return;
        tree_lock(m->tree);
        tree_unref_locked(m->tree, op_node(m, e->ino), 1);
        tree_unlock(m->tree);
}

bool op_known_locked(const struct mount *m, const struct node *n) REQUIRES(tree_mutex)
{
        if (tree_writes_locked(m->tree, n))
                return true;
        return m->params.consistency != STRICT && n->attr_known && tree_fresh_locked(n);
}

void op_forget(fuse_req_t req, fuse_ino_t ino, uint64_t n)
{
        struct mount *m = op_mount(req);
        tree_lock(m->tree);
        tree_unref_locked(m->tree, op_node(m, ino), n);
        tree_unlock(m->tree);
        fuse_reply_none(req);
}

void op_forget_multi(fuse_req_t req, size_t count, struct fuse_forget_data *v)
{
        struct mount *m = op_mount(req);
        tree_lock(m->tree);
        for (size_t i = 0; i < count; i++)
                tree_unref_locked(m->tree, op_node(m, v[i].ino), v[i].nlookup);
        tree_unlock(m->tree);
        fuse_reply_none(req);
}

/* --- attributes --- */

void op_reply_attr(fuse_req_t req, struct mount *m, struct node *n)
{
        struct stat st;
        tree_lock(m->tree);
        mount_stat_locked(m, n, &st);
        double ttl = mount_ttl_locked(m, n);
        tree_unlock(m->tree);
        fuse_reply_attr(req, &st, ttl);
}

/* Whether the node was deleted or replaced: the store does not know it by its name any more. */
static bool op_has_lost_name_locked(const struct node *n) REQUIRES(tree_mutex)
{
        return n->parent && !n->hashed;
}

bool op_is_replaced_locked(const struct node *n) REQUIRES(tree_mutex)
{
        return n->ousted || (op_has_lost_name_locked(n) && !attr_sync_waits_for_commit_locked(n));
}

/* Another version, or none, has the name now: the kernel is to look it up anew. Who only looks is
 * told of the other one where nobody has this one open. */
static int take_other_locked(struct op_ask *a, bool none) REQUIRES(tree_mutex)
{
        struct node *n = a->n;

        tree_replaced_locked(a->m->tree, n);
        n->fresh_until = 0;
        return !none && a->looks && !n->file && !n->nreaders ? 0 : -ESTALE;
}

/* Whether who asks cannot tell another host's change, which the reply shows, from a change of
 * attributes here that is under way: it asks once more, when that has ended. */
static bool is_in_doubt_locked(const struct op_ask *a) REQUIRES(tree_mutex)
{
        unsigned most = a->looks ? OP_LOOK_MOST : OP_ASK_MOST;
        return a->version && a->n->attr_sync && a->asked < most;
}

static int take_reply_locked(struct op_ask *a, const struct node_info *info) REQUIRES(tree_mutex)
{
        struct node *n = a->n;

        a->again = tree_other_locked(n, info) && is_in_doubt_locked(a);
        if (a->again)
                return 0;
        if (tree_ahead_locked(a->m->tree, n, info->asked_ns) || name_lock_rests_locked(a->m, n)) {
                tree_learn_attr_locked(n, info); /* the rest is newer here */
                return 0;
        }
        int err = tree_other_locked(n, info) ? take_other_locked(a, false) : 0;
        if (!err && tree_set_info_locked(a->m->tree, n, info))
                err = -ENOMEM;
        if (op_has_lost_name_locked(n))
                n->fresh_until = 0;
        return err;
}

/* What was removed here while the store was asked is no other host's matter. */
static int take_none(struct op_ask *a)
{
        tree_lock(a->m->tree);
        a->again = is_in_doubt_locked(a);
        bool ahead = a->again || a->n->removed || tree_ahead_locked(a->m->tree, a->n, a->begun) ||
                     name_lock_rests_locked(a->m, a->n);
        int err = ahead ? 0 : take_other_locked(a, true);
        tree_unlock(a->m->tree);
        return err;
}

static void ask_granted(struct waiter *w)
{
        struct op_ask *a = CONTAINER_OF(w, struct op_ask, lock.waiter);

        name_lock_drop(&a->lock);
        op_ask(a);
}

/* Nothing was found: that may be by the old name of what is being renamed, which a store that
 * renames objects has by the new one already. Once more then, when it has ended. */
static bool ask_waits(struct op_ask *a)
{
        tree_lock(a->m->tree);
        bool barred = name_lock_bars_locked(a->m, a->n);
        bool moved = tree_place_locked(a->n) != a->place;
        tree_unlock(a->m->tree);
        if (barred) {
                a->lock = (struct name_lock){.shared = {a->n}, .waiter.ready = ask_granted};
                name_lock_take(a->m, &a->lock);
                return true;
        }
        if (moved)
                op_ask(a);
        return moved;
}

static void ask_passed(struct waiter *w)
{
        op_ask(CONTAINER_OF(w, struct op_ask, passed));
}

/* Whether what was found is on its way to another name, see name_lock.h. */
static enum passing ask_passing(struct op_ask *a, const struct store_object *obj)
{
        enum passing passing = PASSES_NOT;

        a->passed.ready = ask_passed;
        tree_lock(a->m->tree);
        bool any = name_lock_any_passes_locked(a->m) && a->n->hashed;
        CLEANUP(freep) char *key = any ? tree_key_locked(a->n) : NULL;
        if (key)
                passing = name_lock_passing_locked(a->m, key, obj->etag, &a->passed);
        tree_unlock(a->m->tree);
        return passing;
}

static void head_done(void *arg, int err, const struct store_object *obj)
{
        static const struct store_object nothing;
        struct op_ask *a = arg;
        struct attr attr = {0};

        enum passing passing = err ? PASSES_NOT : ask_passing(a, obj);
        if (passing == PASSES_MAYBE)
                return;
        if (passing == PASSES)
                err = -ENOENT;
        if (err == -ENOENT && a->waits && ask_waits(a))
                return;
        bool implicit = err == -ENOENT && a->n->dir, none = err == -ENOENT && !a->n->dir;

        if (none)
                err = take_none(a);
        else if (!err || implicit)
                err = attr_from_object(implicit ? &nothing : obj, a->n->dir, &attr);
        if (!err && !none) {
                struct node_info info = op_info(implicit ? &nothing : obj);
                info.attr = &attr;
                info.marker = a->n->dir && !implicit;
                info.asked_ns = a->begun;
                tree_lock(a->m->tree);
                err = take_reply_locked(a, &info);
                tree_unlock(a->m->tree);
        }
        attr_release(&attr);
        mutex_check_none();
        if (a->again)
                op_ask_version(a);
        else
                a->done(a, err);
}

void op_ask(struct op_ask *a)
{
        a->place = tree_place(a->m->tree, a->n); /* before the key: rather asked again */
        a->begun = tree_now_ns();
        CLEANUP(freep) char *key = attr_sync_key(a->m, a->n);
        int err = key ? store_head(a->m->store, key, head_done, a) : -ENOMEM;
        mutex_check_none();
        if (err)
                a->done(a, err);
}

static void version_idle(struct waiter *w)
{
        op_ask(CONTAINER_OF(w, struct op_ask, idle));
}

void op_ask_version(struct op_ask *a)
{
        a->version = true;
        a->again = false;
        a->asked++;
        a->idle.ready = version_idle;
        attr_sync_wait(a->m, a->n, !a->looks, &a->idle);
}

bool op_open_known_locked(const struct mount *m, const struct node *n, int flags)
        REQUIRES(tree_mutex)
{
        return (n->file && tree_changes_locked(m->tree, n)) || n->unlinked ||
               (flags & O_TRUNC && n->attr_known && !n->attr_sync);
}

struct getattr {
        struct op_ask ask; /* stays the first field */
        fuse_req_t req;
};

static void getattr_done(struct op_ask *ask, int err)
{
        CLEANUP(freep) struct getattr *g = (struct getattr *)ask;
        if (err)
                fuse_reply_err(g->req, -err);
        else
                op_reply_attr(g->req, ask->m, ask->n);
}

void op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
        struct mount *m = op_mount(req);
        struct node *n = op_node(m, ino);
        (void)fi;

        tree_lock(m->tree);
        bool known = n->nreaders || n->file || op_has_lost_name_locked(n) ||
                     op_known_locked(m, n) || (n->attr_known && n == tree_root(m->tree));
        tree_unlock(m->tree);
        struct getattr *g = known ? NULL : malloc(sizeof *g);
        if (known) {
                op_reply_attr(req, m, n);
        } else if (!g) {
                fuse_reply_err(req, ENOMEM);
        } else {
                *g = (struct getattr){
                        .ask = {.m = m, .n = n, .done = getattr_done, .waits = true, .looks = true},
                        .req = req};
                op_ask_version(&g->ask);
        }
}

void op_statfs(fuse_req_t req, fuse_ino_t ino)
{
        (void)ino;
        /* A bucket has no size: 8 EiB less a block, in blocks of 1 MiB, and as many names. */
        enum { BLOCK = 1 << 20 };
        fsblkcnt_t blocks = INT64_MAX / BLOCK;
        struct statvfs st = {
                .f_bsize = BLOCK,
                .f_frsize = BLOCK,
                .f_blocks = blocks,
                .f_bfree = blocks,
                .f_bavail = blocks,
                .f_files = INT32_MAX,
                .f_ffree = INT32_MAX,
                .f_favail = INT32_MAX,
                .f_namemax = 255,
        };
        fuse_reply_statfs(req, &st);
}
