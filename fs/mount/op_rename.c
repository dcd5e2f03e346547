/* SPDX-License-Identifier: Apache-2.0 */
/* op_rename.c: the kernel's request to rename; rename.c does it. */
#include "mount/op.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mount/rename.h"

#include "base/banned.h"

struct op_renaming {
        struct rename r; /* stays the first field */
        fuse_req_t req;
};

static void renaming_done(struct rename *r, int err)
{
        struct op_renaming *o = (struct op_renaming *)r;
        fuse_reply_err(o->req, -err);
        rename_release(r);
        free(o);
}

void op_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t newparent,
               const char *newname, unsigned flags)
{
        struct mount *m = op_mount(req);
        struct op_renaming *o = calloc(1, sizeof *o);
        int err = 0;

        if (flags & ~(unsigned)RENAME_NOREPLACE)
                err = -EINVAL; /* no store exchanges two objects */
        else if (!o)
                err = -ENOMEM;
        if (!err) {
                o->req = req;
                o->r = (struct rename){
                        .m = m,
                        .from_dir = op_node(m, parent),
                        .to_dir = op_node(m, newparent),
                        .from = strdup(name),
                        .to = strdup(newname),
                        .no_replace = flags & RENAME_NOREPLACE,
                        .done = renaming_done,
                };
                err = o->r.from && o->r.to ? 0 : -ENOMEM;
        }
        if (!err)
                err = mount_key(m, o->r.from_dir, name, &o->r.from_key);
        if (!err)
                err = mount_key(m, o->r.to_dir, newname, &o->r.to_key);
        if (!err) {
                rename_start(&o->r);
                return;
        }
        if (o)
                rename_release(&o->r);
        free(o);
        fuse_reply_err(req, -err);
}
