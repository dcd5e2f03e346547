/* SPDX-License-Identifier: Apache-2.0 */
/* op_open.c: how a file becomes open and ceases to be.
 *
 * A file that is written has a writer, which its handle and, so that names and sizes show at once,
 * its node hold. A file that is read has a reader of one version, which all handles of the node
 * share. */
#include "mount/op.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/metrics.h"
#include "mount/holders.h"
#include "mount/killed.h"

#include "base/banned.h"

static struct handle *handle_new(struct node *n)
{
        struct handle *h = calloc(1, sizeof *h);
        if (!h)
                return NULL;
        h->node = n;
        pthread_mutex_init(&h->mtx, NULL);
        return h;
}

/* It is whole: from here on the end of the mount may end it. `writer` is the process that opened it
 * for writing, or 0. 0 or -ENOMEM. */
static int handle_list_locked(struct mount *m, struct handle *h, pid_t writer)
{
        if (writer && !(h->holders = holders_open(&h->node->holders, writer)))
                return -ENOMEM;
        h->next = m->handles;
        h->link = &m->handles;
        if (h->next)
                h->next->link = &h->next;
        m->handles = h;
        return 0;
}

static void handle_free(struct mount *m, struct handle *h)
{
        if (!h)
                return;
        tree_lock(m->tree);
        if (h->link) {
                *h->link = h->next;
                if (h->next)
                        h->next->link = h->link;
        }
        tree_unlock(m->tree);
        writer_unref(h->writer);
        pthread_mutex_destroy(&h->mtx);
        free(h);
}

/* Whether a version of the file is being written. Then it can neither be read nor written by
 * another. */
static bool busy_locked(const struct node *n)
{
        return n->writer && writer_dirty(n->writer);
}

/* Writes bypass the page cache: a request is then as large as the program's write. */
static void opened_for_write(struct fuse_file_info *fi, struct handle *h)
{
        fi->fh = (uintptr_t)h;
        fi->direct_io = 1;
        fi->keep_cache = 0;
}

struct replaced op_adopt_writer_locked(struct mount *m, struct node *n, struct writer *w)
{
        struct replaced r = {.writer = n->writer, .reader = TAKE_PTR(n->reader)};
        n->writer = writer_ref(w);
        free(TAKE_PTR(n->cached_etag));
        if (n->unlinked)
                writer_abort(w, 0);
        tree_note_open_locked(m->tree, n);
        return r;
}

void op_replaced(struct replaced *r)
{
        reader_fail(r->reader, -ESTALE);
        reader_unref(r->reader);
        writer_unref(r->writer);
}

/* --- create
 * -------------------------------------------------------------------------------------------- */

/* The node for a new file, with one more reference and `h` writing it. 0 or a negative errno. */
static int create_locked(struct mount *m, struct node *dir, const char *name, int flags,
                         struct handle *h, pid_t opener, struct attr *attr,
                         struct fuse_entry_param *e, struct replaced *old)
{
        struct node *n = tree_find_locked(m->tree, dir, name);
        if (n && busy_locked(n))
                return flags & O_EXCL ? -EEXIST : -EOPNOTSUPP;
        if (n && (flags & O_EXCL) && n->published && tree_fresh_locked(n))
                return -EEXIST;
        if (n && n->dir)
                return -EISDIR;
        if (!n) {
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
                amend_entries_changed_locked(dir);
        } else {
                tree_pin_locked(n);
        }
        h->node = n;
        if (handle_list_locked(m, h, opener)) {
                tree_unref_locked(m->tree, n, 1);
                return -ENOMEM;
        }
        tree_pin_locked(n); /* the handle's; the other is the kernel's */
        *old = op_adopt_writer_locked(m, n, h->writer);
        op_entry_locked(m, n, e);
        return 0;
}

void op_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
               struct fuse_file_info *fi)
{
        struct mount *m = op_mount(req);
        struct node *dir = op_node(m, parent);
        const struct fuse_ctx *who = fuse_req_ctx(req);
        CLEANUP(attr_release) struct attr attr;
        struct store_meta meta;
        CLEANUP(freep) char *key = NULL;
        struct fuse_entry_param e;
        struct replaced old = {0};
        int err = mount_key(m, dir, name, &key);
        struct handle *h = err ? NULL : handle_new(NULL);
        pid_t opener = process_of(fuse_req_ctx(req)->pid);

        tree_lock(m->tree);
        attr = amend_fresh_locked(m, dir, S_IFREG | (mode & 07777), who->uid, who->gid, 0);
        tree_unlock(m->tree);
        if (!err)
                err = attr_to_meta_early(&attr, &meta);
        if (h && !err)
                h->writer = writer_new(&m->writer_env, key, &meta, fi->flags & O_EXCL);
        if (!err && (!h || !h->writer))
                err = -ENOMEM;
        if (!err) {
                tree_lock(m->tree);
                err = create_locked(m, dir, name, fi->flags, h, opener, &attr, &e, &old);
                tree_unlock(m->tree);
        }
        if (err) {
                handle_free(m, h);
                fuse_reply_err(req, -err);
                return;
        }
        op_replaced(&old);
        opened_for_write(fi, h);
        fuse_reply_create(req, &e, fi);
}

/* --- open
 * --------------------------------------------------------------------------------------------------
 */

/* Gives the handle the version that is published now; makes the node's reader when it is of
 * another. */
static int attach_reader_locked(struct mount *m, struct node *n, struct handle *h, const char *key,
                                struct fuse_file_info *fi)
{
        if (n->reader && strcmp(reader_etag(n->reader), n->etag)) {
                reader_unref(n->reader);
                n->reader = NULL;
        }
        if (!n->reader) {
                struct store_object obj = {
                        .size = n->size, .has_crc = n->has_crc, .crc32c = n->crc32c};
                snprintf(obj.etag, sizeof obj.etag, "%s", n->etag);
                n->reader = reader_new(&m->reader_env, key, &obj);
                if (!n->reader)
                        return -ENOMEM;
        }
        h->reader = reader_ref(n->reader);
        reader_open(h->reader);
        n->nreaders++;
        tree_note_open_locked(m->tree, n);
        fi->keep_cache = n->cached_etag && n->etag[0] && !strcmp(n->cached_etag, n->etag);
        if (!fi->keep_cache) {
                free(n->cached_etag);
                n->cached_etag = strdup(n->etag);
        }
        return 0;
}

static void open_now(fuse_req_t req, struct mount *m, struct node *n, const char *key,
                     struct fuse_file_info *fi)
{
        struct store_meta meta;
        bool write = (fi->flags & O_ACCMODE) != O_RDONLY || (fi->flags & O_TRUNC);
        bool read = (fi->flags & O_ACCMODE) != O_WRONLY && !(fi->flags & O_TRUNC);
        struct handle *h = handle_new(n);
        pid_t opener = write ? process_of(fuse_req_ctx(req)->pid) : 0;
        struct replaced old = {0};
        int err = h ? 0 : -ENOMEM;

        if (h && write && (fi->flags & O_TRUNC)) {
                err = amend_meta(m, n, true, &meta);
                if (!err && !(h->writer = writer_new(&m->writer_env, key, &meta, false)))
                        err = -ENOMEM;
        }
        tree_lock(m->tree);
        if (!err && busy_locked(n))
                err = -EOPNOTSUPP;
        if (!err && h->writer)
                old = op_adopt_writer_locked(m, n, h->writer);
        if (!err && read)
                err = attach_reader_locked(m, n, h, key, fi);
        if (!err && !(err = handle_list_locked(m, h, opener)))
                tree_pin_locked(n);
        tree_unlock(m->tree);
        op_replaced(&old);
        if (err) {
                handle_free(m, h);
                fuse_reply_err(req, -err);
                return;
        }
        if (write)
                opened_for_write(fi, h); /* also to read: pages could be written behind its back */
        else
                fi->fh = (uintptr_t)h;
        fuse_reply_open(req, fi);
}

struct opening {
        struct op_ask ask; /* stays the first field */
        fuse_req_t req;
        char *key;
        struct fuse_file_info fi;
};

static void open_asked(struct op_ask *ask, int err)
{
        struct opening *o = (struct opening *)ask;
        if (err)
                fuse_reply_err(o->req, -err);
        else
                open_now(o->req, ask->m, ask->n, o->key, &o->fi);
        free(o->key);
        free(o);
}

void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
        struct mount *m = op_mount(req);
        struct node *n = op_node(m, ino);
        struct opening *o = calloc(1, sizeof *o);
        CLEANUP(freep) char *key = tree_key(m->tree, n, NULL);

        if (!key || !o) {
                free(o);
                fuse_reply_err(req, ENOMEM);
                return;
        }
        tree_lock(m->tree);
        bool known = op_open_known_locked(n, fi->flags);
        tree_unlock(m->tree);
        *o = (struct opening){.req = req, .key = TAKE_PTR(key), .fi = *fi};
        o->ask = (struct op_ask){.m = m, .n = n, .done = open_asked};
        if (known)
                open_asked(&o->ask, 0);
        else
                op_ask_version(&o->ask);
}

/* --- release
 * ---------------------------------------------------------------------------------------------- */

/* The last reference to the handle is gone: what no close published will never be. */
static void end_writer(struct mount *m, struct node *n, struct writer *w)
{
        bool lost = writer_dirty(w);
        if (lost) {
                METRIC_ADD(kills_aborted, 1);
                writer_abort(w, -ECANCELED);
        }
        tree_lock(m->tree);
        struct writer *shown = NULL;
        if (n->writer == w) {
                shown = TAKE_PTR(n->writer);
                tree_note_open_locked(m->tree, n);
                n->fresh_until = lost ? 0 : n->fresh_until;
                if (lost && !n->published)
                        tree_remove_locked(m->tree, n);
        }
        tree_unlock(m->tree);
        writer_unref(shown);
}

static void end_reader(struct mount *m, struct node *n, struct reader *r)
{
        struct reader *shown = NULL;
        reader_close(r);
        tree_lock(m->tree);
        if (!--n->nreaders) {
                shown = TAKE_PTR(n->reader);
                tree_note_open_locked(m->tree, n);
        }
        tree_unlock(m->tree);
        reader_unref(shown);
        reader_unref(r);
}

static void handle_end(struct mount *m, struct handle *h)
{
        if (h->writer)
                end_writer(m, h->node, h->writer);
        if (h->reader)
                end_reader(m, h->node, h->reader);
        tree_lock(m->tree);
        if (h->holders)
                holders_release(&h->node->holders);
        tree_unref_locked(m->tree, h->node, 1);
        tree_unlock(m->tree);
        handle_free(m, h);
}

void op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
        (void)ino;
        handle_end(op_mount(req), (struct handle *)(uintptr_t)fi->fh);
        fuse_reply_err(req, 0);
}

void op_release_all(struct mount *m)
{
        struct handle *h;
        do {
                tree_lock(m->tree);
                h = m->handles;
                tree_unlock(m->tree);
                if (h)
                        handle_end(m, h);
        } while (h);
}
