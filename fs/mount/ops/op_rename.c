/* SPDX-License-Identifier: Apache-2.0 */
/* op_rename.c: the kernel's request to rename; rename_file.c does it. */
#include "mount/ops/op.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "mount/rename/rename.h"

#include "base/banned.h"

struct op_renaming {
        struct rename r; /* stays the first field */
        fuse_req_t req;
        struct request *request;
};

static bool renaming_wanted(struct rename *r)
{
        return !request_ended(((struct op_renaming *)r)->request);
}

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
                renaming_done(&o->r, -ENOMEM);
}
