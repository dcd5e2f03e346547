/* SPDX-License-Identifier: Apache-2.0 */
/* op_open.c: how a file becomes open and ceases to be.
 *
 * All handles of a node that may write share its file (wfile.h); while it has one, those that read
 * do so through it. Else they share a reader of the version that is published. */
#include "mount/ops/op.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/container_of.h"
#include "base/log.h"
#include "base/metrics.h"
#include "mount/ops/heir.h"
#include "mount/caller/fd_owners.h"
#include "mount/caller/exit_signal.h"
#include "mount/ops/node_writer.h"

#include "base/banned.h"

enum {
        OPENER_LOOKS = 10, /* at one that seems to live, 1 ms apart */
        /* The first bytes, asked for together with the version: what the kernel reads first. Of a
         * small file all: one request, whose checksum is checked before any byte is given, and
         * which is made again when it is wrong. Of files up to a size: reading a larger one takes
         * far longer than the round trip that this saves, and who opens one may copy it at the
         * store, or begin at its end. */
        AHEAD = 128 << 10,
        PREFETCH_WHOLE = 512 << 10,
        PREFETCH_OF = 16 << 20
};

/* An open or a create under way; what becomes of it is the handle. */
struct opening {
        struct op_resize resize;
        struct name_lock lock; /* until the handle is attached: what is renamed finds it then */
        struct op_ask ask;
        fuse_req_t req;
        struct request *request;
        struct mount *m;
        struct node *n;
        struct node *dir; /* of what is created, with */
        char *name;
        mode_t mode;
        char *key;
        struct fuse_file_info fi;
        struct handle *h;
        bool creates;
        bool unlinked;        /* the name had gone before, as what /proc/PID/fd leads to may have */
        bool due;             /* the caller was sent back before, see heir.h */
        bool rested;          /* the name was being changed when the open began */
        uint64_t place;       /* of the node, when the open began */
        struct reader *ahead; /* of the version known here, while the store is asked for it */
        struct node *shown;   /* what the kernel opens; `n` may be another, */
        struct node *heir;    /* pinned then, else NULL */
        struct fuse_entry_param e;
};

static bool writes(const struct opening *o)
{
        return (o->fi.flags & O_ACCMODE) != O_RDONLY || o->fi.flags & O_TRUNC;
}

static struct opening *opening_new(fuse_req_t req, struct mount *m, struct node *n,
                                   const struct fuse_file_info *fi)
{
        struct opening *o = calloc(1, sizeof *o);
        if (!o)
                return NULL;
        *o = (struct opening){
                .req = req, .request = request_now(), .m = m, .n = n, .shown = n, .fi = *fi};
        o->h = calloc(1, sizeof *o->h);
        if (o->h) {
                atomic_init(&o->h->refs, 1);
                o->h->reads = (fi->flags & O_ACCMODE) != O_WRONLY;
                if (writes(o) || !n) /* it is made */
                        o->h->opener = process_of(fuse_req_ctx(req)->pid);
                read_cache_opener(m, o->h, fuse_req_ctx(req)->pid);
                return o;
        }
        free(o);
        return NULL;
}

static void unpin(struct mount *m, struct node *n)
{
        if (!n)
                return;
        tree_lock(m->tree);
        tree_unref_locked(m->tree, n, 1);
        tree_unlock(m->tree);
}

static void opening_free(struct opening *o)
{
        reader_end(o->ahead);
        unpin(o->m, o->heir);
        handle_unref(o->m, o->h);
        free(o->name);
        free(o->key);
        free(o);
}

static void opening_fail(struct opening *o, int err)
{
        if (err == -ESTALE || o->due) { /* the kernel comes back once, whatever the reason was */
                tree_lock(o->m->tree);
                if (o->due)
                        heir_over_locked(o->m, fuse_req_ctx(o->req)->pid);
                else if (o->n)
                        heir_send_back_locked(o->m, fuse_req_ctx(o->req)->pid, o->n);
                tree_unlock(o->m->tree);
        }
        fuse_reply_err(o->req, -err);
        opening_free(o);
}

static void handle_end(struct mount *m, struct handle *h);

/* Who opened it was ended before it got a descriptor: what the open itself has changed is that of a
 * writer who was killed. */
static void opener_gone(struct mount *m, struct handle *h)
{
        tree_lock(m->tree);
        if (h->item.listed && h->file && wfile_owes_end(h->file, &h->user))
                fd_owners_gone(h->fd_owners);
        tree_unlock(m->tree);
}

/* Nobody gets the handle, nor the node of what was made. */
static void give_back(struct opening *o, bool gone)
{
        struct handle *h = o->h;

        if (gone)
                opener_gone(o->m, h);
        handle_end(o->m, h);
        if (o->creates)
                unpin(o->m, o->n);
}

/* The handle is there, cut if that was asked for. */
static void opened(struct op_resize *r, int err)
{
        struct opening *o = CONTAINER_OF(r, struct opening, resize);

        if (err) {
                give_back(o, request_ended(o->request));
                opening_fail(o, err);
                return;
        }
        if (o->fi.flags & O_TRUNC && !o->creates)
                attr_sync_touch(o->m, o->n, fuse_req_ctx(o->req)->uid);
        o->fi.fh = (uintptr_t)o->h;
        o->h->direct = o->fi.direct_io;
        if (o->creates ? fuse_reply_create(o->req, &o->e, &o->fi) : fuse_reply_open(o->req, &o->fi))
                give_back(o, true);
        opening_free(o);
}

static void cut_and_open(struct opening *o)
{
        o->resize.file = o->h->file;
        o->resize.user = &o->h->user;
        o->resize.m = o->m;
        o->resize.request = o->request;
        o->resize.done = opened;
        op_resize(&o->resize);
}

/* The handle writes too. Writes alone bypass the page cache: a request is then as large as the
 * program's write. But behind the page cache a write of O_SYNC is published once, not in pieces. */
static int attach_file_locked(struct opening *o) REQUIRES(tree_mutex)
{
        o->h->fd_owners = fd_owners_open(&o->n->fd_owners, o->h->opener, fuse_req_ctx(o->req)->uid);
        if (!o->h->fd_owners)
                return -ENOMEM;
        o->h->file = node_writer_locked(o->m, o->n, o->key);
        if (!o->h->file) {
                fd_owners_release(&o->n->fd_owners);
                return -ENOMEM;
        }
        o->h->unseen = (o->fi.flags & O_ACCMODE) == O_RDONLY;
        if (o->h->unseen)
                fd_owners_unseen(o->h->fd_owners, true);
        wfile_user_init(o->h->file, &o->h->user, o->h->reads);
        o->fi.direct_io = (!o->h->reads && !(o->fi.flags & O_DSYNC)) || o->fi.flags & O_DIRECT;
        o->fi.keep_cache = 0;
        return 0;
}

static void detach_file(struct mount *m, struct node *n, struct handle *h)
{
        node_writer_put(m, n, h->file, &h->user);
        tree_lock(m->tree);
        if (h->unseen)
                fd_owners_unseen(h->fd_owners, false);
        fd_owners_release(&n->fd_owners);
        tree_unlock(m->tree);
}

/* --- create --- */

/* Whether the file is not to be made anew, if there is one. */
static bool keeps_what_is_there(const struct opening *o)
{
        return !(o->fi.flags & (O_EXCL | O_TRUNC));
}

/* The node for a new file, with one more reference, and `o->h` writing it. 0 or a negative errno.
 */
static int create_locked(struct opening *o, struct attr *attr) REQUIRES(tree_mutex)
{
        struct mount *m = o->m;
        struct node *dir = o->dir;
        const char *name = o->name;
        struct node *n = tree_find_locked(m->tree, dir, name);
        bool excl = o->fi.flags & O_EXCL;

        if (n && excl && (n->file || (n->published && tree_fresh_locked(n))))
                return -EEXIST;
        if (n && n->dir)
                return -EISDIR;
        if (n && keeps_what_is_there(o))
                return -ESTALE; /* the kernel did not know: it is to look the name up */
        if (n) {
                tree_pin_locked(n);
        } else {
                struct node_info none = {.etag = ""};
                n = tree_enter_locked(m->tree, dir, name, &none);
                if (!n)
                        return -ENOMEM;
                n->published = false;
                n->fresh_until = 0;
                attr_move(&n->attr, attr);
                n->attr_known = true;
                n->attr_now = n->attr_sent = 1;
                n->attr_early = true;
                tree_entries_changed_locked(dir);
        }
        o->n = n;
        if (attach_file_locked(o)) {
                tree_unref_locked(m->tree, n, 1);
                return -ENOMEM;
        }
        wfile_create(o->h->file, &o->h->user, excl);
        if (o->h->reads) {
                n->nreaders++;
                wfile_read_too(o->h->file);
                o->fi.direct_io |= read_cache_bypass_locked(m, n, o->h, o->fi.flags, true);
        }
        tree_pin_locked(n); /* the handle's; the other is the kernel's */
        o->h->node = n;
        handle_list_locked(m, o->h);
        op_entry_locked(m, n, &o->e);
        o->e.attr_timeout = mount_absent_ttl(m, tree_now_ns()); /* else it asks before it opens */
        return 0;
}

static void create_end(struct opening *o, int err)
{
        const struct fuse_ctx *who = fuse_req_ctx(o->req);
        struct mount *m = o->m;

        tree_lock(m->tree);
        struct attr attr = attr_sync_fresh_locked(m, o->dir, o->name, S_IFREG | (o->mode & 07777),
                                                  who->uid, who->gid, 0);
        if (!err)
                err = mount_drains(m) ? -EROFS : create_locked(o, &attr);
        if (!err)
                heir_over_locked(m, who->pid);
        tree_unlock(m->tree);
        attr_release(&attr);
        name_lock_drop(&o->lock);
        if (err)
                opening_fail(o, err);
        else
                cut_and_open(o);
}

static void create_asked(void *arg, int err, const struct store_object *obj)
{
        (void)obj;
        create_end(arg, !err ? -ESTALE : err == -ENOENT ? 0 : err);
}

/* Where the kernel remembers that there was no such file, another host may have made it since, and
 * who would go on writing it is sent to look it up. */
static void create_granted(struct waiter *w)
{
        struct opening *o = CONTAINER_OF(w, struct opening, lock.waiter);
        struct mount *m = o->m;
        int err = request_ended(o->request) ? -EINTR : mount_key(m, o->dir, o->name, &o->key);

        tree_lock(m->tree);
        bool asks = !err && keeps_what_is_there(o) && m->params.consistency != STRICT &&
                    !op_absent_told_locked(m, fuse_req_ctx(o->req)->pid, o->dir, o->name);
        tree_unlock(m->tree);
        if (asks)
                err = store_head(m->store, o->key, create_asked, o);
        if (!asks || err)
                create_end(o, err);
}

void op_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
               struct fuse_file_info *fi)
{
        struct mount *m = op_mount(req);
        struct opening *o = opening_new(req, m, NULL, fi);

        if (!o || !(o->name = strdup(name))) {
                if (o)
                        opening_free(o);
                fuse_reply_err(req, ENOMEM);
                return;
        }
        o->creates = true;
        o->dir = op_node(m, parent);
        o->mode = mode;
        o->lock = (struct name_lock){.shared = {o->dir}, .waiter.ready = create_granted};
        name_lock_take(m, &o->lock);
}

/* --- open --- */

/* What gives way to a node's new reader: the one before it, and one that followed a change of
 * metadata in its place. */
struct replaced {
        struct reader *reader, *follower;
};

/* A reader, open, of the version that the node has. NULL: no memory. */
static struct reader *reader_of_locked(struct mount *m, const struct node *n, const char *key)
        REQUIRES(tree_mutex)
{
        struct store_object obj = {.size = n->size, .has_crc = n->has_crc, .crc32c = n->crc32c};

        snprintf(obj.etag, sizeof obj.etag, "%s", n->etag);
        struct reader *r = *n->etag ? reader_from_cache(&m->reader_env, key, &obj) : NULL;
        if (!r && (r = reader_new(&m->reader_env, key, &obj)))
                reader_open(r);
        return r;
}

/* Has the next open drop the kernel's pages if what was read turned out to be wrong: they are part
 * of that, and whoever reads on would get them without a word. Whether it did. */
static bool drop_if_wrong_locked(struct node *n) REQUIRES(tree_mutex)
{
        bool wrong = n->reader && reader_is_wrong(n->reader);
        n->turn += wrong;
        return wrong;
}

/* Makes the node's reader when it is of another version than what is published now, or was wrong;
 * of `ahead` if that is of this one. */
static int renew_reader_locked(struct mount *m, struct node *n, const char *key,
                               struct reader **ahead, struct replaced *old) REQUIRES(tree_mutex)
{
        if (drop_if_wrong_locked(n) || (n->reader && strcmp(reader_etag(n->reader), n->etag)))
                old->reader = TAKE_PTR(n->reader);
        if (!n->reader) {
                bool same = *ahead && !strcmp(reader_etag(*ahead), n->etag) &&
                            reader_size(*ahead) == n->size;
                n->reader = same ? TAKE_PTR(*ahead) : reader_of_locked(m, n, key);
                if (same && n->has_crc) /* a listing had not told it */
                        reader_expect(n->reader, n->crc32c);
                old->follower = attr_sync_follow_locked(n);
        }
        tree_note_open_locked(m->tree, n);
        return n->reader ? 0 : -ENOMEM;
}

static void end_replaced(struct replaced *old)
{
        reader_end(old->reader);
        reader_moved(old->follower);
}

/* The kernel has ended the open before it sends anything else of the handle: pages from before the
 * open are gone, unless one that was written meanwhile has brought others. */
static void note_paged_locked(const struct handle *h) REQUIRES(tree_mutex)
{
        struct node *n = h->node;
        if (h->turn == n->turn && !n->file)
                n->paged = n->turn;
}

int op_source(struct mount *m, const struct handle *h, struct wfile **f, struct reader **r)
{
        struct node *n = h->node;
        CLEANUP(freep) char *key = NULL;
        struct reader *none = NULL;
        struct replaced old = {0};
        int err = 0;

        tree_lock(m->tree);
        note_paged_locked(h);
        bool stale = !n->file && (!n->reader || strcmp(reader_etag(n->reader), n->etag));
        if (stale && !n->nreaders) {
                err = -EINTR; /* who asked was killed, and the handle is released */
        } else if (stale && name_lock_rests_locked(m, n)) {
                err = -EAGAIN; /* key and version are of different moments */
        } else if (stale) {    /* a file that was written while it was open to be read is no more */
                key = n->orphan_key ? strdup(n->orphan_key) : tree_key_locked(n);
                err = key ? renew_reader_locked(m, n, key, &none, &old) : -ENOMEM;
        }
        if (n->file)
                *f = wfile_ref(n->file);
        else if (!err)
                *r = reader_ref(n->reader);
        tree_unlock(m->tree);
        end_replaced(&old);
        return err;
}

static int attach_reader_locked(struct opening *o, struct replaced *old) REQUIRES(tree_mutex)
{
        struct node *n = o->n;
        bool cut = o->fi.flags & O_TRUNC;

        if (n->file)
                wfile_read_too(n->file);
        int err = n->file ? 0 : renew_reader_locked(o->m, n, o->key, &o->ahead, old);
        if (err)
                return err;
        n->nreaders++;
        o->h->runs = o->fi.flags & OPENED_TO_EXECUTE;
        o->shown->nrunning += o->h->runs;
        o->fi.noflush = !o->h->file; /* its closes mean nothing */
        o->fi.direct_io |= read_cache_bypass_locked(o->m, n, o->h, o->fi.flags, cut) ||
                           o->heir != NULL; /* the kernel's pages are those of another */
        if (n->file || o->heir)
                return 0; /* pages are kept from the next open on, of what is published then */
        o->fi.keep_cache = n->paged == n->turn;
        o->h->turn = o->fi.keep_cache ? 0 : n->turn;
        return 0;
}

/* Whether the name went while the open waited, or leads to another version: the kernel looks it up
 * anew then. What was deleted or replaced here and is still open may be opened again; to be
 * written, when the kernel has come back to it, as by /proc/PID/fd. */
static bool is_gone_locked(const struct opening *o) REQUIRES(tree_mutex)
{
        const struct node *n = o->n;
        if (n->unlinked)
                return !n->file && (!n->reader || (writes(o) && (!o->due || n->ousted)));
        return !n->hashed;
}

/* Who comes back (heir.h) finds that the file was removed here: there is none. Else the kernel is
 * to look the name up once more. */
static int gone_locked(const struct opening *o) REQUIRES(tree_mutex)
{
        return o->due && o->n->removed ? -ENOENT : -ESTALE;
}

/* Whether a program that runs would be emptied. The kernel refuses each open that writes before it
 * asks us, but one that only reads and empties after that. By then it has dropped the program's
 * pages, too. */
static bool empties_running_locked(const struct opening *o) REQUIRES(tree_mutex)
{
        return (o->fi.flags & (O_ACCMODE | O_TRUNC)) == (O_RDONLY | O_TRUNC) && o->shown->nrunning;
}

/* What publishes the file has to replace its metadata: whoever is to write it is told before. */
static int check_metadata_locked(const struct opening *o) REQUIRES(tree_mutex)
{
        const struct attr *a = &o->n->attr;

        if (!a->partial && attr_fits_written(a))
                return 0;
        log_warn_of(LOG_ABOUT(.operation = "open", .file = o->key,
                              .remedy = "write a new file instead"),
                    "%s: the object has %s: it can only be read", o->key,
                    a->partial ? "metadata that cannot be kept here and that writing would drop"
                               : "so much metadata that the times of a change find no room");
        return -EPERM;
}

static void open_now(struct opening *o)
{
        struct mount *m = o->m;
        struct node *n = o->n;
        bool cut = o->fi.flags & O_TRUNC, write = writes(o);
        struct replaced old = {0};

        tree_lock(m->tree);
        int err = is_gone_locked(o) ? gone_locked(o) : 0;
        if (!err && write && mount_drains(m)) /* since the open began */
                err = -EROFS;
        if (!err && empties_running_locked(o))
                err = -ETXTBSY;
        if (!err && o->heir && !heir_fits_locked(m, n, o->shown, fuse_req_ctx(o->req), o->fi.flags))
                err = -ESTALE;
        if (!err && write && !n->file && n->attr_sync && o->ask.asked < OP_ASK_MOST) {
                /* a file begins with a version that is not about to be replaced */
                tree_unlock(m->tree);
                op_ask_version(&o->ask);
                return;
        }
        if (!err && write)
                err = check_metadata_locked(o);
        if (!err && write)
                err = attach_file_locked(o);
        if (!err && o->h->reads)
                err = attach_reader_locked(o, &old);
        if (!err) {
                o->h->node = n;
                tree_pin_locked(n);
                if (o->heir)
                        heir_take_locked(o->h, o->shown);
                heir_over_locked(m, fuse_req_ctx(o->req)->pid);
                handle_list_locked(m, o->h);
        }
        tree_unlock(m->tree);
        name_lock_drop(&o->lock);
        if (!err && o->heir && m->session)
                (void)fuse_lowlevel_notify_inval_inode(m->session, op_ino(m, o->shown), -1, 0);
        end_replaced(&old);
        if (err) {
                if (o->h->file)
                        detach_file(m, n, o->h);
                opening_fail(o, err);
        } else if (cut) {
                cut_and_open(o);
        } else {
                opened(&o->resize, 0);
        }
}

static void open_asked(struct op_ask *ask, int err)
{
        struct opening *o = CONTAINER_OF(ask, struct opening, ask);

        if (!err && !request_ended(o->request)) {
                open_now(o);
                return;
        }
        name_lock_drop(&o->lock);
        opening_fail(o, err ? err : -EINTR);
}

/* Whoever opens a file waits for the store's word on its version, and then for its first bytes:
 * both are asked for at once, the bytes of the version known here. When it is another, the request
 * finds nothing and the kernel opens again. Nothing is asked for what the page cache holds. */
static void read_ahead(struct opening *o)
{
        const struct node *n = o->n;

        tree_lock(o->m->tree);
        bool useful = !writes(o) && !n->reader && !n->attr_sync && n->size &&
                      n->size <= PREFETCH_OF && *n->etag && n->paged != n->turn;
        if (useful)
                o->ahead = reader_of_locked(o->m, n, o->key);
        tree_unlock(o->m->tree);
        if (o->ahead)
                reader_ahead(o->ahead,
                             reader_size(o->ahead) <= PREFETCH_WHOLE ? PREFETCH_WHOLE : AHEAD);
}

/* Whether what was replaced while the open waited has an heir: then that is opened. */
static bool open_heir(struct opening *o)
{
        struct mount *m = o->m;

        tree_lock(m->tree);
        struct node *heir = writes(o) ? NULL : heir_of_locked(m, o->n);
        if (heir && !o->heir && !o->due && fuse_req_ctx(o->req)->pid)
                heir = NULL; /* the kernel may find it by itself */
        if (heir)
                tree_pin_locked(heir);
        tree_unlock(m->tree);
        if (!heir)
                return false;
        name_lock_drop(&o->lock);
        unpin(m, o->heir);
        o->n = o->heir = heir;
        free(TAKE_PTR(o->key));
        o->lock.shared[0] = heir;
        name_lock_take(m, &o->lock);
        return true;
}

/* Whether the name went while the open waited, and a reader has the file open, which another host
 * may have replaced before; or whether the file got another name, and another host may have made
 * one of this name. The kernel finds anew what has the name, once: some are replaced always. */
static bool is_sent_back_locked(const struct opening *o) REQUIRES(tree_mutex)
{
        bool went = o->n->unlinked && !o->unlinked;
        bool moved = o->rested || tree_place_locked(o->n) != o->place;
        return (went || moved) && !o->heir && !o->due && fuse_req_ctx(o->req)->pid;
}

static void open_granted(struct waiter *w)
{
        struct opening *o = CONTAINER_OF(w, struct opening, lock.waiter);
        struct node *n = o->n;

        tree_lock(o->m->tree);
        o->key = tree_key_locked(n);
        bool gone = is_gone_locked(o), known = gone || op_open_known_locked(o->m, n, o->fi.flags);
        bool again = !gone && is_sent_back_locked(o);
        known = known || (o->due && heir_is_told_locked(o->m, fuse_req_ctx(o->req)->pid, n));
        tree_unlock(o->m->tree);
        if (gone && open_heir(o))
                return;
        o->ask = (struct op_ask){.m = o->m, .n = n, .done = open_asked};
        if (!o->key || again) {
                open_asked(&o->ask, again ? -ESTALE : -ENOMEM);
        } else if (request_ended(o->request)) {
                open_asked(&o->ask, -EINTR);
        } else if (known) {
                open_now(o);
        } else {
                read_ahead(o);
                op_ask_version(&o->ask);
        }
}

void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
        struct mount *m = op_mount(req);
        struct node *n = op_node(m, ino);
        struct opening *o = opening_new(req, m, n, fi);

        if (!o) {
                fuse_reply_err(req, ENOMEM);
                return;
        }
        if (writes(o) && mount_drains(m)) { /* the store need not be asked */
                opening_fail(o, -EROFS);
                return;
        }
        tree_lock(m->tree);
        o->unlinked = n->unlinked && !n->ousted;
        o->due = heir_is_due_locked(m, fuse_req_ctx(req)->pid);
        o->rested = name_lock_rests_locked(m, n);
        o->place = tree_place_locked(n);
        tree_unlock(m->tree);
        o->lock = (struct name_lock){.shared = {n}, .waiter.ready = open_granted};
        name_lock_take(m, &o->lock);
}

/* --- release --- */

static void handle_end(struct mount *m, struct handle *h)
{
        struct node *n = h->node;
        struct reader *shown = NULL;
        struct wfile *read = NULL;

        if (!handle_unlist(m, h))
                return;
        if (h->file)
                detach_file(m, n, h);
        tree_lock(m->tree);
        note_paged_locked(h);
        read_cache_end_locked(m, n, h);
        (h->shown ? h->shown : n)->nrunning -= h->runs;
        if (h->reads && !--n->nreaders) {
                (void)drop_if_wrong_locked(n);
                shown = TAKE_PTR(n->reader);
                if (!n->nwriters) /* it was left for readers alone */
                        read = TAKE_PTR(n->file);
                tree_note_open_locked(m->tree, n);
        }
        if (h->shown)
                heir_drop_locked(m, h->shown);
        tree_unlock(m->tree);
        reader_end(shown);
        wfile_unref(read);
        handle_unref(m, h);
}

/* The mount ends: what no close published never will be. */
static void give_up(struct mount *m, struct handle *h)
{
        if (!h->file || !node_writer_is_last(m, h->node) || !wfile_dirty(h->file))
                return;
        METRIC_ADD(kills_aborted, 1);
        wfile_abort(h->file, -ECANCELED);
}

/* Each descriptor that goes is closed first (FLUSH), also by a kill. One that was never closed was
 * never got, as when the kernel asked for the new file's attributes between its open and the
 * descriptor, and a signal ended that; or it is a direct one of io_uring. Nobody waits for the
 * reply. */
static bool is_never_got(const struct handle *h)
{
        bool got = !h->opener || atomic_load(&h->got), ended = false;

        for (int i = 0; !got && !ended && i < OPENER_LOOKS; i++) {
                if (i)
                        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
                ended = is_ended(h->opener);
        }
        return ended;
}

void op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
        struct mount *m = op_mount(req);
        struct handle *h = (struct handle *)(uintptr_t)fi->fh; /* not op_handle(): nobody asks */
        (void)ino;

        if (is_never_got(h))
                opener_gone(m, h);
        handle_end(m, h);
        fuse_reply_err(req, 0);
}

void op_release_all(struct mount *m)
{
        struct handle *h;
        do {
                tree_lock(m->tree);
                h = LIST_FIRST(&m->handles, struct handle, item);
                tree_unlock(m->tree);
                if (!h)
                        continue;
                give_up(m, h);
                handle_end(m, h);
        } while (h);
}
