/* SPDX-License-Identifier: Apache-2.0 */
/* op_rename.c: the kernel's request to rename; rename.c does it. */
#include "mount/op.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "mount/rename.h"

#include "base/banned.h"

struct op_renaming {
        struct rename r; /* stays the first field */
        fuse_req_t req;
        struct node *n; /* pinned; NULL: there is none */
};

static void renaming_done(struct rename *r, int err)
{
        struct op_renaming *o = (struct op_renaming *)r;

        pass_leave(r->m, &r->pass);
        tree_lock(r->m->tree);
        if (o->n)
                tree_unref_locked(r->m->tree, o->n, 1);
        tree_unlock(r->m->tree);
        fuse_reply_err(o->req, -err);
        rename_release(r);
        free(o);
}

/* The directories keep their names from here on. */
static void renaming_passed(struct pass *p)
{
        struct rename *r = (struct rename *)(void *)((char *)p - offsetof(struct rename, pass));
        int err = r->from && r->to ? 0 : -ENOMEM;

        if (!err)
                err = mount_key(r->m, r->from_dir, r->from, &r->from_key);
        if (!err)
                err = mount_key(r->m, r->to_dir, r->to, &r->to_key);
        if (err)
                renaming_done(r, err);
        else
                rename_start(r);
}

void op_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t newparent,
               const char *newname, unsigned flags)
{
        struct mount *m = op_mount(req);
        struct node *from = op_node(m, parent), *to = op_node(m, newparent);
        bool known = !(flags & ~(unsigned)RENAME_NOREPLACE); /* no store exchanges two objects */
        struct op_renaming *o = known ? calloc(1, sizeof *o) : NULL;

        if (!o) {
                fuse_reply_err(req, known ? ENOMEM : EINVAL);
                return;
        }
        o->req = req;
        o->r = (struct rename){
                .m = m,
                .from_dir = from,
                .to_dir = to,
                .from = strdup(name),
                .to = strdup(newname),
                .no_replace = flags & RENAME_NOREPLACE,
                .done = renaming_done,
        };
        tree_lock(m->tree);
        if ((o->n = tree_find_locked(m->tree, from, name)))
                tree_pin_locked(o->n);
        tree_unlock(m->tree);
        o->r.pass = (struct pass){.in = {from, to}, .root = o->n, .go = renaming_passed};
        pass_enter(m, &o->r.pass);
}
