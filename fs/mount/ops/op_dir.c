/* SPDX-License-Identifier: Apache-2.0 */
/* op_dir.c: listing a directory.
 *
 * Offsets: 0 is ".", 1 is "..", then the entries of the store in its order, then, from LOCAL_FIRST
 * on, the files that were begun here and are not published yet. */
#include "base/mutex.h"
#include "mount/ops/op.h"

#include <errno.h>
#include <limits.h>
#include <linux/fuse.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/container_of.h"
#include "base/grow.h"
#include "mount/ops/stat_prefetch.h"
#include "mount/tree/listing.h"

#include "base/banned.h"

#define LOCAL_FIRST (1ULL << 48)
enum { DOTS = 2 };

struct dir_handle {
        atomic_uint refs;      /* one while it is open, and of each request that waits */
        struct list_item item; /* of those that are open; tree's lock */
        struct node *node;
        struct listing *listing;
        struct mutex mtx;
        unsigned asks GUARDED_BY(&mtx); /* attributes in the next reply with plus, at most */
        char **local GUARDED_BY(&mtx);  /* files unpublished when the listing began or ended */
        size_t nlocal GUARDED_BY(&mtx), room GUARDED_BY(&mtx);
        int64_t begun_ns GUARDED_BY(&mtx); /* the listing */
};

/* Most listings do not tell the attributes of their entries, so with plus they are asked for, many
 * at once, before the reply. The kernel asks with plus when a directory is begun and then only
 * while the program looks at entries: the first reply holds few, later ones more. */
enum { ASK_FIRST = 32, ASK_MOST = 512 };

/* Where the listing tells attributes, those of so many entries are handed on with it: the kernel
 * keeps a node of each, and so do we, until it needs the memory; 0.4 KiB of ours. Of the rest who
 * looks asks. */
enum { TOLD_MOST = 128 << 10 };

/* One readdir under way. */
struct filling {
        struct list_wait wait;
        fuse_req_t req;
        struct request *request;
        struct mount *m;
        struct dir_handle *d; /* a reference */
        bool plus;
        uint64_t off; /* of the next entry to add */
        size_t size, used;
        char *buf;
        bool full;
        struct asking *asks; /* for the attributes of this many: */
        unsigned nasks, most;
        atomic_uint left;
        uint64_t limit;       /* no entry from here on was looked at */
        char *passes;         /* a key, of which more is to be known, see name_lock.h; or NULL */
        struct waiter passed; /* told then */
        size_t guess;         /* bytes that the entries before it take */
};

struct asking {
        struct op_ask ask; /* stays the first field; its node is pinned */
        struct filling *f;
};

static struct dir_handle *dir_handle(const struct fuse_file_info *fi)
{
        return (struct dir_handle *)(uintptr_t)fi->fh;
}

static void free_local_locked(struct dir_handle *d) REQUIRES(&d->mtx)
{
        while (d->nlocal)
                free(d->local[--d->nlocal]);
        free(TAKE_PTR(d->local));
        d->room = 0;
}

static void dir_handle_unref(struct dir_handle *d)
{
        if (atomic_fetch_sub_explicit(&d->refs, 1, memory_order_acq_rel) > 1)
                return;
        listing_unref(d->listing);
        mutex_unshared(&d->mtx);
        free_local_locked(d);
        mutex_destroy(&d->mtx);
        free(d);
}

static void list_open(struct mount *m, struct dir_handle *d)
{
        tree_lock(m->tree);
        list_add(&m->dirs, &d->item);
        tree_unlock(m->tree);
}

static void end_open(struct mount *m, struct dir_handle *d)
{
        tree_lock(m->tree);
        list_remove(&m->dirs, &d->item);
        tree_unlock(m->tree);
        dir_handle_unref(d);
}

void op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
        struct mount *m = op_mount(req);
        struct node *n = op_node(m, ino);
        struct dir_handle *d = calloc(1, sizeof *d);

        if (d)
                d->listing = listing_new(m->store, m->tree, n, CKPTFS_DIR);
        if (!d || !d->listing) {
                free(d);
                fuse_reply_err(req, ENOMEM);
                return;
        }
        atomic_init(&d->refs, 1);
        d->node = n;
        mutex_init(&d->mtx, LOCK_DIR_HANDLE);
        fi->fh = (uintptr_t)d;
        list_open(m, d);
        if (fuse_reply_open(req, fi))
                end_open(m, d);
}

void op_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
        (void)ino;
        end_open(op_mount(req), dir_handle(fi));
        fuse_reply_err(req, 0);
}

void op_release_dirs(struct mount *m)
{
        struct dir_handle *d;

        while ((d = LIST_FIRST(&m->dirs, struct dir_handle, item)))
                end_open(m, d);
}

void op_fsyncdir(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi)
{
        (void)ino, (void)datasync,
                (void)fi; /* names are at the store when the call that made them returned */
        fuse_reply_err(req, 0);
}

/* --- adding entries --- */

/* Adds one entry if it fits; `e` has the attributes. */
static bool add(struct filling *f, const char *name, const struct fuse_entry_param *e,
                uint64_t next)
{
        size_t room = f->size - f->used;
        size_t n = f->plus ? fuse_add_direntry_plus(f->req, f->buf + f->used, room, name, e,
                                                    (off_t)next)
                           : fuse_add_direntry(f->req, f->buf + f->used, room, name, &e->attr,
                                               (off_t)next);
        if (n > room) {
                f->full = true;
                return false;
        }
        f->used += n;
        return true;
}

static bool has_local_locked(const struct dir_handle *d, const char *name) REQUIRES(&d->mtx)
{
        for (size_t i = 0; i < d->nlocal; i++)
                if (!strcmp(d->local[i], name))
                        return true;
        return false;
}

/* Whether the file was begun here and is not published yet. */
static bool is_local_locked(const struct node *n) REQUIRES(tree_mutex)
{
        return n->file && !n->published;
}

/* Adds those files. What took the place of another one while the directory was listed is not among
 * them: the store lists its name. */
static void take_local_names_locked(struct mount *m, struct dir_handle *d, bool begins)
        REQUIRES(&d->mtx)
{
        tree_lock(m->tree);
        for (struct node *n = tree_open_list_locked(m->tree); n; n = n->open_next) {
                if (n->parent != d->node || !n->hashed || !is_local_locked(n) ||
                    (!begins && n->replaced_etag) || has_local_locked(d, n->name))
                        continue;
                if (GROW(d->local, d->nlocal, d->room, 16))
                        break;
                if ((d->local[d->nlocal] = strdup(n->name)))
                        d->nlocal++;
        }
        tree_unlock(m->tree);
}

/* A file that was begun when the listing began comes at its end, though it be published meanwhile:
 * the store may have listed it or not. */
static bool comes_later(struct filling *f, const struct list_entry *le)
{
        mutex_lock(&f->d->mtx);
        bool later = has_local_locked(f->d, le->name);
        mutex_unlock(&f->d->mtx);
        if (!later) {
                tree_lock(f->m->tree);
                const struct node *n = tree_find_locked(f->m->tree, f->d->node, le->name);
                later = n && is_local_locked(n) && !n->replaced_etag;
                tree_unlock(f->m->tree);
        }
        return later;
}

/* Whether the node's attributes are those of the listed entry. */
static bool is_of_locked(const struct node *n, const struct list_entry *le) REQUIRES(tree_mutex)
{
        if (!n->attr_known || n->dir != le->dir)
                return false;
        if (n->file || n->attr_sync)
                return true;
        if (le->dir)
                return tree_fresh_locked(n);
        return n->etag && !strcmp(n->etag, le->etag) &&
               n->mtime_ns / 1000000000 == le->mtime_ns / 1000000000;
}

/* The attributes that the listing told, to be released; false when it told none. */
static bool read_told(const struct list_entry *le, struct attr *a)
{
        const struct store_entry e = {.meta = le->meta,
                                      .nmeta = le->nmeta,
                                      .partial = le->partial,
                                      .metageneration = le->metageneration};
        struct store_object obj = {.size = le->size};

        *a = (struct attr){0};
        if (!le->meta)
                return false;
        store_entry_meta(&e, &obj.meta);
        return !attr_from_object(&obj, le->dir, a);
}

/* The type without asking, 0 where only the object can tell: a link has a target that is shorter
 * than PATH_MAX, and what is special has no bytes. `told` is what the listing said, or NULL. */
static mode_t listed_type_locked(const struct mount *m, struct node *dir,
                                 const struct list_entry *le, const struct attr *told)
        REQUIRES(tree_mutex)
{
        const struct node *n = tree_find_locked(m->tree, dir, le->name);
        if (n && is_of_locked(n, le))
                return mount_mode_locked(m, n) & S_IFMT;
        if (le->dir)
                return S_IFDIR;
        if (told)
                return told->set & ATTR_MODE ? told->mode & S_IFMT : S_IFREG;
        return le->size >= PATH_MAX || m->params.listed_attrs == LISTED_ASSUME ? S_IFREG : 0;
}

/* Whether what was listed is on its way to another name, see name_lock.h. */
static enum passing passing_locked(struct filling *f, const struct list_entry *le)
        REQUIRES(tree_mutex)
{
        bool any = !le->dir && name_lock_any_passes_locked(f->m);
        CLEANUP(freep) char *dir = any ? tree_key_locked(f->d->node) : NULL, *key = NULL;

        if (!dir)
                return PASSES_NOT;
        if (asprintf(&key, "%s%s", dir, le->name) < 0) {
                key = NULL;
                return PASSES_NOT;
        }
        enum passing passing = name_lock_passing_locked(f->m, key, le->etag, NULL);
        if (passing == PASSES_MAYBE && !f->passes)
                f->passes = TAKE_PTR(key);
        return passing;
}

/* A name of the store; with plus the kernel gets a reference to its node. */
static bool add_stored(void *arg, const struct list_entry *le)
{
        struct filling *f = arg;
        struct fuse_entry_param e = {0};
        CLEANUP(attr_release) struct attr attr;
        bool told = read_told(le, &attr);
        const struct node_info info = {
                .dir = le->dir,
                .size = le->size,
                .mtime_ns = le->mtime_ns,
                .etag = le->etag,
                .marker = told && le->dir && *le->etag,
                .attr = told ? &attr : NULL,
                .asked_ns = le->asked_ns,
        };
        bool added = true;

        if (comes_later(f, le)) {
                f->off++;
                return true;
        }
        if (f->plus && f->off - DOTS >= f->limit) {
                f->full = true;
                return false;
        }
        tree_lock(f->m->tree);
        struct node *n = tree_find_locked(f->m->tree, f->d->node, le->name);
        enum removed removed =
                tree_removed_since_locked(f->m->tree, f->d->node, le->name, le->asked_ns);
        enum passing passing = passing_locked(f, le);
        if (passing == PASSES_MAYBE) { /* the reply ends before it, or waits */
                tree_unlock(f->m->tree);
                f->full = true;
                return false;
        }
        if (removed == REMOVED || passing == PASSES) { /* gone since the store was asked */
                tree_unlock(f->m->tree);
                f->off++;
                return true;
        }
        bool known =
                told || (n && is_of_locked(n, le)) || f->m->params.listed_attrs == LISTED_ASSUME;
        n = NULL; /* what has changed since the store was asked is shown by its name alone */
        if (f->plus && known && removed != CHANGED && f->off < TOLD_MOST &&
            (n = tree_enter_locked(f->m->tree, f->d->node, le->name, &info))) {
                op_entry_locked(f->m, n, &e);
                if (removed == MAYBE_REMOVED)
                        e.entry_timeout = 0;
        } else {
                e.attr.st_mode = listed_type_locked(f->m, f->d->node, le, told ? &attr : NULL);
                e.attr.st_ino = tree_ino_locked(f->m->tree, f->d->node, le->name);
        }
        added = add(f, le->name, &e, f->off + 1);
        if (added)
                prefetch_tell_locked(f->d->node, f->d, f->off + 1, le->name, e.attr.st_ino,
                                     le->dir);
        else if (n)
                tree_unref_locked(f->m->tree, n, 1);
        tree_unlock(f->m->tree);
        f->off += added;
        return added;
}

/* The kernel may have forgotten a file that was published since the listing began: of that only the
 * name is known. */
static void add_local_name(struct filling *f, const char *name, int64_t begun_ns)
{
        struct tree *t = f->m->tree;
        struct node *dir = f->d->node;
        struct fuse_entry_param e = {0};

        tree_lock(t);
        struct node *n = tree_find_locked(t, dir, name);
        if (n) {
                tree_pin_locked(n);
                op_entry_locked(f->m, n, &e);
        } else {
                e.attr.st_ino = tree_ino_locked(t, dir, name);
        }
        bool there = n || tree_removed_since_locked(t, dir, name, begun_ns) != REMOVED;
        bool added = there && add(f, name, &e, f->off + 1);
        if (n && (!added || !f->plus))
                tree_unref_locked(t, n, 1);
        tree_unlock(t);
}

static void add_local(struct filling *f)
{
        struct dir_handle *d = f->d;

        mutex_lock(&d->mtx);
        if (f->off < LOCAL_FIRST) {
                take_local_names_locked(f->m, d, false);
                f->off = LOCAL_FIRST;
        }
        while (f->off - LOCAL_FIRST < d->nlocal && !f->full) {
                add_local_name(f, d->local[f->off - LOCAL_FIRST], d->begun_ns);
                f->off += !f->full;
        }
        mutex_unlock(&d->mtx);
}

static void add_dots(struct filling *f)
{
        static const char *const dots[DOTS] = {".", ".."};
        struct fuse_entry_param e = {.attr.st_mode = S_IFDIR}; /* ino 0: no reference is taken */

        while (f->off < DOTS) {
                tree_lock(f->m->tree);
                const struct node *n = f->d->node, *up = n->parent ? n->parent : n;
                e.attr.st_ino = f->off ? up->ino : n->ino;
                tree_unlock(f->m->tree);
                if (!add(f, dots[f->off], &e, f->off + 1))
                        return;
                f->off++;
        }
}

static void forget_asked(struct filling *f)
{
        tree_lock(f->m->tree);
        while (f->nasks)
                tree_unref_locked(f->m->tree, f->asks[--f->nasks].ask.n, 1);
        tree_unlock(f->m->tree);
}

/* Nobody got the entries, nor the references to their nodes. */
static void forget_filled(struct filling *f)
{
        const struct fuse_direntplus *e;

        tree_lock(f->m->tree);
        for (size_t at = 0; f->plus && at < f->used; at += FUSE_DIRENTPLUS_SIZE(e)) {
                e = (const struct fuse_direntplus *)(const void *)(f->buf + at);
                if (e->entry_out.nodeid)
                        tree_unref_locked(f->m->tree, op_node(f->m, e->entry_out.nodeid), 1);
        }
        tree_unlock(f->m->tree);
}

static void filling_end(struct filling *f, int err)
{
        forget_asked(f);
        free(f->asks);
        free(f->passes);
        if (err && !f->used)
                fuse_reply_err(f->req, -err);
        else if (fuse_reply_buf(f->req, f->buf, f->used))
                forget_filled(f);
        dir_handle_unref(f->d);
        free(f->buf);
        free(f);
}

/* --- attributes of what is listed --- */

/* Notes an entry that must be asked for, until the reply would be full. */
static bool note_unknown(void *arg, const struct list_entry *le)
{
        struct filling *f = arg;
        const struct node_info info = {.dir = le->dir,
                                       .size = le->size,
                                       .mtime_ns = le->mtime_ns,
                                       .etag = le->etag,
                                       .asked_ns = le->asked_ns};

        size_t n = fuse_add_direntry_plus(f->req, NULL, 0, le->name, NULL, 0);
        if (f->nasks == f->most || f->guess + n > f->size - f->used)
                return false;
        f->guess += n;
        if (le->meta)
                return true;
        tree_lock(f->m->tree);
        const struct node *known = tree_find_locked(f->m->tree, f->d->node, le->name);
        bool past = tree_removed_since_locked(f->m->tree, f->d->node, le->name, le->asked_ns) >
                            MAYBE_REMOVED ||
                    passing_locked(f, le) != PASSES_NOT;
        if (!past && (!known || (!is_of_locked(known, le) && !known->file))) {
                struct node *node = tree_enter_locked(f->m->tree, f->d->node, le->name, &info);
                if (node)
                        f->asks[f->nasks++] =
                                (struct asking){.ask = {.m = f->m, .n = node}, .f = f};
        }
        tree_unlock(f->m->tree);
        return true;
}

static void entries_known(struct filling *f);

static void entry_passed(struct waiter *w)
{
        entries_known(CONTAINER_OF(w, struct filling, passed));
}

static void entries_known(struct filling *f)
{
        bool end = false;

        free(TAKE_PTR(f->passes));
        f->full = false;
        f->passed.ready = entry_passed;
        listing_each(f->d->listing, f->off - DOTS, add_stored, f, &end);
        if (f->passes && !f->used) {
                if (name_lock_passing(f->m, f->passes, "", &f->passed) != PASSES_MAYBE)
                        waiter_run(&f->passed, 0);
                return;
        }
        if (!end && !f->used && !f->full) { /* nothing would be the end of the directory */
                f->wait.index = f->off - DOTS;
                listing_want(f->d->listing, &f->wait);
                return;
        }
        if (end && !f->full)
                add_local(f);
        filling_end(f, 0);
}

/* An entry that cannot be asked for is shown by its name alone: whoever looks at it gets the error.
 */
static void entry_told(struct op_ask *ask, int err)
{
        struct filling *f = ((struct asking *)ask)->f;
        (void)err;
        if (atomic_fetch_sub(&f->left, 1) == 1)
                entries_known(f);
}

static void ask_entries(struct filling *f)
{
        bool end;

        forget_asked(f);
        f->guess = 0;
        if (!f->asks) {
                mutex_lock(&f->d->mtx);
                f->most = f->d->asks;
                f->d->asks = f->most * 2 < ASK_MOST ? f->most * 2 : ASK_MOST;
                mutex_unlock(&f->d->mtx);
                f->asks = calloc(f->most, sizeof *f->asks);
                if (!f->asks) {
                        filling_end(f, -ENOMEM);
                        return;
                }
        }
        f->limit = listing_each(f->d->listing, f->off - DOTS, note_unknown, f, &end);
        atomic_store(&f->left, f->nasks + 1);
        for (unsigned i = 0, all = f->nasks; i < all; i++) {
                f->asks[i].ask.done = entry_told;
                op_ask(&f->asks[i].ask);
        }
        entry_told(&(struct asking){.f = f}.ask, 0);
}

/* Entry f->off is at hand, or the directory has ended, or the store failed. */
static void entries_ready(struct waiter *w)
{
        struct filling *f = CONTAINER_OF(w, struct filling, wait.waiter);

        if (w->err || request_ended(f->request))
                filling_end(f, w->err ? w->err : -EINTR);
        else if (f->plus && f->m->params.listed_attrs == LISTED_ASK)
                ask_entries(f);
        else
                entries_known(f);
}

static void fill(fuse_req_t req, size_t size, off_t off, struct fuse_file_info *fi, bool plus)
{
        struct filling *f = calloc(1, sizeof *f);
        if (!f || !(f->buf = malloc(size))) {
                free(f);
                fuse_reply_err(req, ENOMEM);
                return;
        }
        f->req = req;
        f->request = request_now();
        f->m = op_mount(req);
        f->d = dir_handle(fi);
        atomic_fetch_add_explicit(&f->d->refs, 1, memory_order_relaxed);
        f->plus = plus;
        f->off = (uint64_t)off;
        f->size = size;
        f->limit = UINT64_MAX;
        if (!off) {
                listing_rewind(f->d->listing);
                mutex_lock(&f->d->mtx);
                f->d->asks = ASK_FIRST;
                free_local_locked(f->d);
                f->d->begun_ns = tree_now_ns();
                take_local_names_locked(f->m, f->d, true);
                mutex_unlock(&f->d->mtx);
                tree_lock(f->m->tree);
                prefetch_list_locked(f->m, f->d->node, f->d);
                tree_unlock(f->m->tree);
        }
        add_dots(f);
        if (f->off >= LOCAL_FIRST) {
                add_local(f);
                filling_end(f, 0);
        } else {
                f->wait.index = f->off - DOTS;
                f->wait.waiter.ready = entries_ready;
                listing_want(f->d->listing, &f->wait);
        }
}

void op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
{
        (void)ino;
        fill(req, size, off, fi, false);
}

void op_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
                    struct fuse_file_info *fi)
{
        (void)ino;
        fill(req, size, off, fi, true);
}
