/* SPDX-License-Identifier: Apache-2.0 */
/* op_rename.c: the kernel's request to rename; rename.c does it. */
#include "mount/ops/op.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "mount/rename/rename.h"

#include "base/banned.h"

struct op_renaming {
        struct rename r; /* stays the first field */
        fuse_req_t req;
        struct request *request;
        struct node *looked_up; /* what the store had by the old name; ours until the end */
        bool asked;
        int64_t asked_ns;
};

static bool renaming_wanted(struct rename *r)
{
        return !request_ended(((struct op_renaming *)r)->request);
}

static void renaming_end(struct op_renaming *o, int err)
{
        struct tree *t = o->r.m->tree;

        fuse_reply_err(o->req, -err);
        tree_lock(t);
        if (o->looked_up)
                tree_unref_locked(t, o->looked_up, 1);
        tree_unlock(t);
        rename_release(&o->r);
        free(o);
}

static void renaming_looked_up(void *arg, int err, const struct store_object *obj)
{
        struct op_renaming *o = arg;
        struct rename *r = &o->r;
        struct attr attr = {0};

        if (!err)
                err = attr_from_object(obj, false, &attr);
        if (!err) {
                struct node_info info = op_info(obj);
                info.attr = &attr;
                info.asked_ns = o->asked_ns;
                tree_lock(r->m->tree);
                o->looked_up = tree_enter_locked(r->m->tree, r->from_dir, r->from, &info);
                tree_unlock(r->m->tree);
                err = o->looked_up ? 0 : -ENOMEM;
        }
        attr_release(&attr);
        if (err) {
                renaming_end(o, err);
                return;
        }
        free(TAKE_PTR(r->from_key));
        free(TAKE_PTR(r->to_key));
        rename_start(r);
}

/* An open that finds another host's version takes the old one out of the tree, and the kernel,
 * which looks that name up for the open alone, may rename it before: then the store says what it
 * is. */
static void renaming_done(struct rename *r, int err)
{
        struct op_renaming *o = (struct op_renaming *)r;
        bool asks = r->unknown && !o->asked;

        if (asks) {
                o->asked = true;
                o->asked_ns = tree_now_ns();
                err = store_head(r->m->store, r->from_key, renaming_looked_up, o);
        }
        if (!asks || err)
                renaming_end(o, err);
}

void op_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t newparent,
               const char *newname, unsigned flags)
{
        struct mount *m = op_mount(req);
        bool known = !(flags & ~(unsigned)RENAME_NOREPLACE); /* no store exchanges two objects */
        struct op_renaming *o = known ? calloc(1, sizeof *o) : NULL;

        if (!o) {
                fuse_reply_err(req, known ? ENOMEM : EINVAL);
                return;
        }
        o->req = req;
        o->request = request_now();
        o->r = (struct rename){
                .m = m,
                .from_dir = op_node(m, parent),
                .to_dir = op_node(m, newparent),
                .from = strdup(name),
                .to = strdup(newname),
                .no_replace = flags & RENAME_NOREPLACE,
                .wanted = renaming_wanted,
                .done = renaming_done,
        };
        if (o->r.from && o->r.to)
                rename_start(&o->r);
        else
                renaming_end(o, -ENOMEM);
}
