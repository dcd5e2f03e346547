/* SPDX-License-Identifier: Apache-2.0 */
/* base_conflict.c: a commit that needs bytes of a version which another host replaced meanwhile.
 * They are taken from the version that stands, so that what was written is whole and can be kept
 * for ckptctl; the commit ends with ESTALE all the same. See wfile_int.h. */
#include "mount/write/wfile_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

enum {
        TRIES_MOST = 3,        /* when the one that stands is replaced, too */
        MORE_MOST = 64U << 20U /* bytes that are sent on top of what was to be sent */
};

struct rebase {
        char gone[STORE_ETAG_MAX]; /* the version that was changed */
        bool known;                /* the one that stands, */
        struct store_object obj;   /* which is this; size 0: none */
        uint64_t len;              /* bytes of it that are used */
        uint64_t moved_most;
        unsigned tries;
};

/* Whether the request needed bytes of the base. */
static bool needed_base(const struct task *t)
{
        return t->kind == TASK_COPY ||
               ((t->kind == TASK_STEP || t->kind == TASK_PUT) && t->fill_to);
}

bool rebase_begin_locked(struct file *f, const struct task *t, int err)
{
        struct rebase *r = f->locked.rebase;

        if (err != -ESTALE || t->keeps || !needed_base(t) || f->locked.err ||
            !f->locked.committing || f->locked.unlinked || f->locked.origin_key ||
            (r && r->tries == TRIES_MOST))
                return false;
        if (!r) {
                f->locked.rebase = r = calloc(1, sizeof *r);
                if (!r)
                        return false;
                memcpy(r->gone, f->locked.base.etag, sizeof r->gone);
                r->moved_most = f->locked.steps.moved + MORE_MOST;
                r->known = true;
        }
        r->tries += r->known; /* others of the same plan fail for the same reason */
        r->known = false;
        return true;
}

bool rebase_waits_locked(struct file *f, struct outcome *out)
{
        if (!f->locked.rebase || f->locked.rebase->known)
                return false;
        if (!f->locked.inflight)
                (void)task_new_locked(f, out, TASK_LOOK); /* without memory the error is set */
        return true;
}

/* Parts of the plan so far may hold bytes of different versions; those that were sent as they
 * filled hold what was written alone. */
static void drop_steps_locked(struct file *f)
{
        size_t at = 0;
        for (size_t i = 0; f->locked.upload && i < f->locked.steps.n; i++) {
                unsigned no = f->locked.steps.v[i].no;
                for (at = 0; at < f->locked.nslots && f->locked.slots[at].no != no;)
                        at++;
                if (at == f->locked.nslots)
                        store_upload_drop(f->locked.upload, no);
        }
        plan_release(&f->locked.steps);
        f->locked.planned = false;
}

void rebase_looked_locked(struct file *f, int err, const struct store_object *obj)
{
        struct rebase *r = f->locked.rebase;

        if (err && err != -ENOENT) {
                file_set_error_locked(f, err);
                return;
        }
        r->known = true;
        r->obj = err ? (struct store_object){0} : *obj;
        r->len = r->obj.size < f->locked.base_len ? r->obj.size : f->locked.base_len;
        drop_steps_locked(f);
}

const struct store_object *rebase_base_locked(const struct file *f, uint64_t *len)
{
        *len = f->locked.rebase ? f->locked.rebase->len : f->locked.base_len;
        return f->locked.rebase ? &f->locked.rebase->obj : file_base_locked(f);
}

int rebase_check_locked(const struct file *f)
{
        const struct rebase *r = f->locked.rebase;
        return r && f->locked.steps.moved > r->moved_most ? -ESTALE : 0;
}

const char *rebase_gone_locked(const struct file *f)
{
        return f->locked.rebase ? f->locked.rebase->gone : NULL;
}

void rebase_end_locked(struct file *f)
{
        free(f->locked.rebase);
        f->locked.rebase = NULL;
}
