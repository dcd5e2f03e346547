/* SPDX-License-Identifier: Apache-2.0 */
/* op_setattr.c: changes of mode, owner and times; and how any change of attributes goes. */
#include "mount/ops/op.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/container_of.h"

#include "base/banned.h"

enum { TRIES = 3 }; /* at an object that is replaced elsewhere again and again */

/* --- any change --- */

static void edit_go(struct op_edit *e);

static void edit_end(struct op_edit *e, int err)
{
        name_lock_drop(&e->lock);
        e->reply(e, err);
}

static void edit_asked(struct op_ask *ask, int err)
{
        struct op_edit *e = CONTAINER_OF(ask, struct op_edit, ask);
        if (err)
                edit_end(e, err);
        else
                edit_go(e);
}

static void edit_ask(struct op_edit *e)
{
        e->ask = (struct op_ask){.m = e->m, .n = e->n, .done = edit_asked};
        op_ask(&e->ask);
}

static void edit_sent(struct waiter *w)
{
        struct op_edit *e = CONTAINER_OF(w, struct op_edit, wait);
        int err = w->err;

        attr_release(&e->before);
        tree_lock(e->m->tree);
        bool named = e->n->hashed || e->n == tree_root(e->m->tree);
        tree_unlock(e->m->tree);
        if (err == -ESTALE && named && ++e->tries < TRIES)
                edit_ask(e);
        else
                edit_end(e, err);
}

static void edit_go(struct op_edit *e)
{
        struct node *n = e->n;

        tree_lock(e->m->tree);
        if (op_is_replaced_locked(n)) {
                tree_unlock(e->m->tree);
                edit_end(e, -ESTALE);
                return;
        }
        bool nowhere = n->unlinked && !n->orphan_key; /* nothing is left that could be asked */
        if (!n->attr_known && n->published && !nowhere) {
                tree_unlock(e->m->tree);
                if (e->tries++ < TRIES)
                        edit_ask(e);
                else
                        edit_end(e, -ESTALE);
                return;
        }
        struct attr changed = attr_copy(&n->attr);
        int err = e->apply(e, &changed);
        if (err >= 0) {
                changed.ctime_ns = tree_wall_ns();
                changed.set |= ATTR_CTIME;
                e->before = attr_copy(&n->attr);
                attr_move(&n->attr, &changed);
                n->attr_known = true;
                n->attr_now += !err;
        }
        attr_release(&changed);
        tree_unlock(e->m->tree);
        if (err) {
                attr_release(&e->before);
                edit_end(e, err < 0 ? err : 0);
                return;
        }
        e->wait.ready = edit_sent;
        attr_sync(e->m, n, &e->before, &e->wait);
}

static void edit_granted(struct waiter *w)
{
        struct op_edit *e = CONTAINER_OF(w, struct op_edit, lock.waiter);
        if (request_ended(e->request))
                edit_end(e, -EINTR);
        else
                edit_go(e);
}

void op_edit(struct op_edit *e)
{
        e->request = request_now();
        e->lock = (struct name_lock){.shared = {e->n}, .waiter.ready = edit_granted};
        name_lock_take(e->m, &e->lock);
}

/* --- mode, owner, times --- */

struct setattr {
        struct op_edit edit; /* stays the first field */
        struct stat st;
        int which;
        bool sized; /* a size is to be set after it */
        bool has_fi;
        struct fuse_file_info fi; /* its handle: a reference */
};

static int64_t ns_of(const struct timespec *ts)
{
        if (ts->tv_sec >= INT64_MAX / 1000000000)
                return INT64_MAX / 1000000000 * 1000000000;
        if (ts->tv_sec <= INT64_MIN / 1000000000)
                return INT64_MIN / 1000000000 * 1000000000;
        return ts->tv_sec * 1000000000 + ts->tv_nsec;
}

static bool set_if(int64_t *to, unsigned *set, unsigned bit, int64_t value)
{
        bool differs = !(*set & bit) || *to != value;
        *to = value;
        *set |= bit;
        return differs;
}

/* A time that is not set follows another one: the one that is left alone becomes its own. */
static void fill_other_time(const struct setattr *s, struct attr *a, const struct stat *shown)
{
        if (!(s->which & FUSE_SET_ATTR_ATIME))
                set_if(&a->atime_ns, &a->set, ATTR_ATIME, ns_of(&shown->st_atim));
        if (!(s->which & FUSE_SET_ATTR_MTIME))
                set_if(&a->mtime_ns, &a->set, ATTR_MTIME, ns_of(&shown->st_mtim));
}

/* Where nothing is set the defaults count: what is shown is what is kept. */
static int apply_setattr(struct op_edit *e, struct attr *a)
{
        const struct setattr *s = (const struct setattr *)e;
        int64_t now = tree_wall_ns();
        bool differs = false;
        struct stat shown;

        tree_is_locked(e->m->tree);
        mount_stat_locked(e->m, e->n, &shown);
        if (s->which & FUSE_SET_ATTR_MODE) {
                a->mode = (shown.st_mode & S_IFMT) | (s->st.st_mode & 07777);
                a->set |= ATTR_MODE;
                differs |= a->mode != shown.st_mode;
        }
        if (s->which & FUSE_SET_ATTR_UID) {
                a->uid = s->st.st_uid;
                a->set |= ATTR_UID;
                differs |= a->uid != shown.st_uid;
        }
        if (s->which & FUSE_SET_ATTR_GID) {
                a->gid = s->st.st_gid;
                a->set |= ATTR_GID;
                differs |= a->gid != shown.st_gid;
        }
        if (s->which & (FUSE_SET_ATTR_MTIME | FUSE_SET_ATTR_ATIME))
                fill_other_time(s, a, &shown);
        if (s->which & FUSE_SET_ATTR_MTIME) {
                bool to_now = s->which & FUSE_SET_ATTR_MTIME_NOW;
                differs |= set_if(&a->mtime_ns, &a->set, ATTR_MTIME,
                                  to_now ? now : ns_of(&s->st.st_mtim));
                differs |= a->written;
                a->written = false;
                e->n->entries_ns = 0;
        }
        if (s->which & FUSE_SET_ATTR_ATIME)
                differs |= set_if(&a->atime_ns, &a->set, ATTR_ATIME,
                                  s->which & FUSE_SET_ATTR_ATIME_NOW ? now : ns_of(&s->st.st_atim));
        return differs ? 0 : 1;
}

static void setattr_reply(struct op_edit *e, int err)
{
        struct setattr *s = (struct setattr *)e;

        if (err)
                fuse_reply_err(e->req, -err);
        else if (s->which & FUSE_SET_ATTR_SIZE)
                op_set_size(e->req, e->request, e->m, e->n, (uint64_t)s->st.st_size,
                            s->has_fi ? &s->fi : NULL);
        else
                op_reply_attr(e->req, e->m, e->n);
        if (s->has_fi)
                handle_unref(e->m, op_handle(&s->fi));
        free(s);
}

void op_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr, int which,
                struct fuse_file_info *fi)
{
        struct mount *m = op_mount(req);
        struct node *n = op_node(m, ino);
        struct setattr *s;

        if (!(which & ~(FUSE_SET_ATTR_SIZE | FUSE_SET_ATTR_CTIME)) &&
            which & FUSE_SET_ATTR_SIZE) { /* the size alone */
                op_set_size(req, request_now(), m, n, (uint64_t)attr->st_size, fi);
                return;
        }
        if (!(s = malloc(sizeof *s))) {
                fuse_reply_err(req, ENOMEM);
                return;
        }
        *s = (struct setattr){
                .edit = {.req = req,
                         .m = m,
                         .n = n,
                         .apply = apply_setattr,
                         .reply = setattr_reply},
                .st = *attr,
                .which = which,
                .has_fi = fi != NULL,
        };
        if (fi) {
                s->fi = *fi;
                handle_ref(op_handle(fi));
        }
        op_edit(&s->edit);
}
