/* SPDX-License-Identifier: Apache-2.0 */
/* attr_sync.c: see attr_sync.h. */
#include "mount/rename/attr_sync.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/container_of.h"
#include "base/log.h"
#include "mount/rename/name_lock.h"
#include "mount/tree/content_type.h"

#include "base/banned.h"

/* The changes of one node on their way. Guarded by the tree's lock. */
struct attr_sync {
        struct mount *m;
        struct node *n;      /* pinned */
        struct attr carried; /* what the object has */
        struct attr sent;
        unsigned turn;      /* the changes that are on their way, as n->attr_now counts */
        struct wfile *file; /* paused, so that no commit meets the change; or NULL */
        struct waiter paused;
        struct key_lock *key; /* of the object, or NULL */
        struct waiter for_key;
        bool flying;            /* the request is on its way */
        struct reader *reader;  /* of the version whose metadata are replaced, or NULL */
        struct waiters sending; /* for the request under way, */
        struct waiters queued;  /* for the one after it, */
        struct waiters idle;    /* for there being none: opens and copies, which want the object */
        struct waiter over;     /* this: told behind all others, it is freed */
};

struct attr attr_sync_fresh_locked(const struct mount *m, const struct node *dir, const char *name,
                                   mode_t mode, uid_t uid, gid_t gid, dev_t rdev)
        REQUIRES(tree_mutex)
{
        const char *type = S_ISREG(mode) ? content_type_of(m->params.content_type, name) : NULL;
        int64_t now = tree_wall_ns();
        struct attr a = {
                .set = ATTR_MODE | ATTR_UID | ATTR_GID | ATTR_MTIME | ATTR_CTIME,
                .mode = mode,
                .uid = uid,
                .gid = gid,
                .mtime_ns = now,
                .ctime_ns = now,
                .written = S_ISREG(mode),
        };
        if (S_ISCHR(mode) || S_ISBLK(mode))
                a.rdev = rdev;
        if (type) /* without memory it has the usual one */
                attr_more_put(&a, ":content-type", type, strlen(type), true);
        if (mount_mode_locked(m, dir) & S_ISGID) {
                a.gid = dir->attr.set & ATTR_GID ? dir->attr.gid : m->gid;
                if (S_ISDIR(mode))
                        a.mode |= S_ISGID;
        }
        return a;
}

bool attr_sync_waits_for_commit_locked(const struct node *n) REQUIRES(tree_mutex)
{
        return n->unlinked || !n->published || (n->file && wfile_dirty(n->file));
}

/* --- on the way --- */

static void attr_sync_sent(void *arg, int err, const struct store_object *obj);

struct reader *attr_sync_follow_locked(struct node *n) REQUIRES(tree_mutex)
{
        struct attr_sync *a = n->attr_sync;
        if (!a || !a->flying || !n->reader || a->reader == n->reader)
                return NULL;
        struct reader *before = a->reader;
        a->reader = reader_moving(n->reader);
        return before;
}

/* The root of a store has no object of its own. */
char *attr_sync_key(struct mount *m, const struct node *n)
{
        return n == tree_root(m->tree) ? strdup(".ckptfs/root") : tree_key(m->tree, n, NULL);
}

static int attr_sync_send(struct attr_sync *a, bool *nothing)
{
        struct node *n = a->n;
        char etag[STORE_ETAG_MAX];
        struct store_meta meta;
        CLEANUP(freep) char *key = attr_sync_key(a->m, a->n);

        tree_lock(a->m->tree);
        *nothing = n->attr_now == n->attr_saved || attr_sync_waits_for_commit_locked(n);
        if (*nothing) { /* by now: a commit took them along, or will */
                tree_unlock(a->m->tree);
                return 0;
        }
        int err = attr_to_meta(&n->attr, &meta);
        attr_release(&a->sent);
        a->sent = attr_copy(&n->attr);
        a->turn = n->attr_now;
        snprintf(etag, sizeof etag, "%s", n->etag ? n->etag : "");
        /* A marker is made anew, where there was none, too; unless that would lose its tags, or
         * what another host has changed. */
        bool anew = n->dir && !n->size && !n->attr.tagged && !n->attr.metageneration;
        const struct store_cond cond = {.if_absent = !n->marker &&
                                                     store_caps(a->m->store) & STORE_CAP_IF_ABSENT};
        a->flying = true;
        attr_sync_follow_locked(n); /* the first: it takes no other's place */
        tree_unlock(a->m->tree);
        if (err || !key)
                return err ? err : -ENOMEM;
        if (!anew)
                return store_set_meta(a->m->store, key, *etag ? etag : NULL, &meta, attr_sync_sent,
                                      a);
        struct store_body empty = store_body_mem(NULL, 0);
        return store_put(a->m->store, key, &empty, &meta, &cond, attr_sync_sent, a);
}

/* The object is of another version now, with the same bytes. */
static void take_version_locked(struct attr_sync *a, const struct store_object *obj)
        REQUIRES(tree_mutex)
{
        struct node *n = a->n;
        n->mtime_ns = tree_time(obj->mtime_ns ? obj->mtime_ns : mount_now_ns());
        if (n->dir || !n->etag || !obj->etag[0] || !strcmp(n->etag, obj->etag))
                return;
        CLEANUP(freep) char *key = NULL;
        if (a->reader && (!(key = tree_key_locked(n)) || reader_rename(a->reader, key, obj->etag)))
                n->fresh_until = 0;
        if (a->file &&
            ((!key && !(key = tree_key_locked(n))) || wfile_rename(a->file, key, obj->etag)))
                log_warn_of(LOG_ABOUT(.operation = "publish", .file = n->name,
                                      .remedy = "end another program"),
                            "%s: no memory: what is written to it may be refused", n->name);
        if (tree_set_etag_locked(n, obj->etag))
                n->fresh_until = 0; /* asked for before it is used */
}

/* The request ended: whether another is to follow. Those to be told are taken out of `a`. */
static bool end_request_locked(struct attr_sync *a, int err, const struct store_object *obj)
        REQUIRES(tree_mutex)
{
        struct node *n = a->n;

        a->flying = false;
        if (err) {
                struct attr back = attr_copy(&a->carried);
                attr_move(&n->attr, &back);
                n->attr_saved = n->attr_now;
                n->fresh_until = 0;
                n->attr_known &= err != -ESTALE && err != -ENOENT;
                waiters_move(&a->sending, &a->queued);
        } else if (obj) {
                attr_move(&a->carried, &a->sent);
                a->carried.metageneration = n->attr.metageneration = obj->meta.metageneration;
                n->attr_saved = a->turn;
                n->published = true;
                n->marker = n->dir;
                if (n->file && n->attr_saved == n->attr_now)
                        tree_note_attr_locked(n);
                n->known_ns = tree_now_ns(); /* heads asked before tell of the past */
                take_version_locked(a, obj);
        }
        return waiters_any(&a->queued) && !attr_sync_waits_for_commit_locked(n);
}

/* Nobody is left to be told. */
static void attr_sync_over(struct waiter *w)
{
        struct attr_sync *a = CONTAINER_OF(w, struct attr_sync, over);

        tree_lock(a->m->tree);
        tree_wake_if_locked(a->m->tree, !--a->m->attr_syncs);
        tree_unlock(a->m->tree);
        attr_release(&a->carried);
        attr_release(&a->sent);
        free(a);
}

static void attr_sync_ended(struct attr_sync *a, int err, const struct store_object *obj);

/* The key is locked, or an error is in the way. */
static void attr_sync_begin(struct attr_sync *a, int err)
{
        bool nothing = false;

        if (!err)
                err = attr_sync_send(a, &nothing);
        if (err || nothing)
                attr_sync_ended(a, err, NULL);
}

static void attr_sync_key_granted(struct waiter *w)
{
        attr_sync_begin(CONTAINER_OF(w, struct attr_sync, for_key), 0);
}

/* What another file's commit has at this key, on its way to another, is not to be replaced. */
static void attr_sync_lock_key(struct attr_sync *a)
{
        CLEANUP(freep) char *key = attr_sync_key(a->m, a->n);
        const char *const keys[] = {key, NULL};

        a->for_key.ready = attr_sync_key_granted;
        int err = key ? name_lock_publish(a->m, keys, false, &a->for_key, &a->key) : -ENOMEM;
        if (err != -EAGAIN) /* else attr_sync_key_granted() goes on, maybe already */
                attr_sync_begin(a, err);
}

static void attr_sync_paused(struct waiter *w)
{
        attr_sync_lock_key(CONTAINER_OF(w, struct attr_sync, paused));
}

static void attr_sync_go(struct attr_sync *a)
{
        tree_lock(a->m->tree);
        if (a->n->file && !a->n->unlinked)
                a->file = wfile_ref(a->n->file);
        tree_unlock(a->m->tree);
        a->paused.ready = attr_sync_paused;
        if (a->file)
                wfile_pause(a->file, &a->paused);
        else
                attr_sync_paused(&a->paused);
}

static void attr_sync_ended(struct attr_sync *a, int err, const struct store_object *obj)
{
        struct tree *t = a->m->tree;
        struct waiters told = {0}, others = {0};

        tree_lock(t);
        bool more = end_request_locked(a, err, obj);
        struct reader *reader = TAKE_PTR(a->reader);
        waiters_move(&told, &a->sending);
        if (more) {
                waiters_move(&a->sending, &a->queued);
        } else {
                waiters_move(&others,
                             &a->queued); /* what they change, the commit to come carries */
                waiters_move(&others, &a->idle);
                a->n->attr_sync = NULL;
                tree_unref_locked(t, a->n, 1);
        }
        tree_unlock(t);
        if (a->file)
                wfile_resume(a->file);
        wfile_unref(TAKE_PTR(a->file));
        name_lock_published(a->m, TAKE_PTR(a->key));
        reader_moved(reader);
        if (!more) {
                a->over.ready = attr_sync_over;
                waiters_add(&others, &a->over); /* the last */
        }
        waiters_run(&told, err);
        waiters_run(&others, 0);
        if (more)
                attr_sync_go(a);
}

/* A marker that has come or is gone is another version of the directory. */
static void attr_sync_sent(void *arg, int err, const struct store_object *obj)
{
        struct attr_sync *a = arg;

        bool other = a->n->dir && (err == -ENOENT || err == -EEXIST);
        attr_sync_ended(a, other ? -ESTALE : err, obj);
}

void attr_sync(struct mount *m, struct node *n, const struct attr *before, struct waiter *w)
{
        struct attr_sync *a = NULL;
        int err = 0;

        tree_lock(m->tree);
        if (n->attr_now == n->attr_saved || attr_sync_waits_for_commit_locked(n)) {
                /* nothing to send, or not now */
        } else if (n->attr_sync) {
                waiters_add(&n->attr_sync->queued, TAKE_PTR(w));
        } else if (!(a = calloc(1, sizeof *a))) {
                err = -ENOMEM;
        } else {
                *a = (struct attr_sync){.m = m, .n = n};
                a->carried = attr_copy(before);
                waiters_add(&a->sending, TAKE_PTR(w));
                tree_pin_locked(n);
                n->attr_sync = a;
                m->attr_syncs++;
        }
        tree_unlock(m->tree);
        if (w)
                waiter_run(w, err);
        if (a)
                attr_sync_go(a);
}

void attr_sync_wait(struct mount *m, struct node *n, bool all, struct waiter *w)
{
        tree_lock(m->tree);
        bool busy = n->attr_sync != NULL;
        if (busy)
                waiters_add(all ? &n->attr_sync->idle : &n->attr_sync->sending, w);
        tree_unlock(m->tree);
        if (!busy)
                waiter_run(w, 0);
}

void attr_sync_finish(struct mount *m)
{
        tree_lock(m->tree);
        while (m->attr_syncs)
                tree_sleep_locked(m->tree);
        tree_unlock(m->tree);
}

/* --- commits --- */

int attr_sync_meta(struct mount *m, struct node *n, bool early, struct store_meta *meta)
{
        tree_lock(m->tree);
        n->attr_sent = n->attr_now;
        n->attr_early = early;
        int err = early ? attr_to_meta_early(&n->attr, meta) : attr_to_meta(&n->attr, meta);
        tree_unlock(m->tree);
        return err;
}

int attr_sync_merge(struct mount *m, struct node *n, const struct store_object *obj)
{
        CLEANUP(attr_release) struct attr theirs = {0};
        static const struct attr none;

        int err = attr_from_object(obj, n->dir, &theirs);
        if (err)
                return err;
        tree_lock(m->tree);
        err = attr_merge(&n->attr, n->attr_base ? n->attr_base : &none, &theirs);
        n->attr_now++; /* an upload that began before has them not */
        if (!err && n->attr_base)
                attr_move(n->attr_base, &theirs);
        tree_unlock(m->tree);
        return err;
}

bool attr_sync_published_locked(struct mount *m, struct node *n, const struct store_object *obj,
                                int64_t asked_ns) REQUIRES(tree_mutex)
{
        struct node_info info = mount_info(obj);

        info.complete = false; /* a head may say more of it */
        info.done_ns = asked_ns;
        n->attr_saved = n->attr_sent;
        attr_touch_published(&n->attr);
        bool more = n->attr_now != n->attr_saved;
        n->attr.metageneration =
                more ? 0 : obj->meta.metageneration; /* nobody makes the rest of the changes anew */
        if (n->attr_early && n->attr.written)
                n->attr.set &= ~(unsigned)(ATTR_MTIME | ATTR_CTIME); /* the store tells them */
        if (!more && n->file)
                tree_note_attr_locked(n);
        info.attr = &n->attr;
        if (tree_set_info_locked(m->tree, n, &info) || n->attr_early)
                n->fresh_until = 0;
        return more;
}

bool attr_sync_left_locked(struct node *n) REQUIRES(tree_mutex)
{
        attr_touch_failed(&n->attr);
        bool more = n->attr_now != n->attr_saved;
        if (more)
                n->attr.metageneration = 0; /* as in attr_sync_published_locked() */
        return n->hashed && more && !attr_sync_waits_for_commit_locked(n);
}

void attr_sync_touch(struct mount *m, struct node *n, uid_t uid)
{
        int64_t now = tree_wall_ns();
        tree_lock(m->tree);
        mode_t was = n->attr.mode;
        attr_touch(&n->attr, now, uid);
        n->attr_now += n->attr.mode != was;
        tree_unlock(m->tree);
}

void attr_sync_untouch(struct mount *m, struct node *n)
{
        tree_lock(m->tree);
        attr_touch_failed(&n->attr);
        tree_unlock(m->tree);
}
