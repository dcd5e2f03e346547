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

struct base_conflict {
        char gone[STORE_ETAG_MAX]; /* the version that was changed */
        struct base stands;        /* the one that does; size 0: none */
        uint64_t moved_most;
        unsigned tries;
};

/* Whether the request needed bytes of the base. */
static bool needed_base(const struct upload_request *t)
{
        return t->kind == REQUEST_COPY ||
               ((t->kind == REQUEST_STEP || t->kind == REQUEST_PUT) && t->fill_to);
}

bool base_conflict_begin_locked(struct wfile *f, const struct upload_request *t, int err)
{
        struct commit *c = &f->locked.commit;
        struct base_conflict *r = c->conflict;

        if (err != -ESTALE || c->phase == COMMIT_RECORDING || !needed_base(t) || f->locked.err ||
            c->phase == COMMIT_IDLE || f->locked.unlinked || f->locked.origin.key ||
            (r && c->phase != COMMIT_LOOKING && r->tries == TRIES_MOST))
                return false;
        if (!r) {
                c->conflict = r = calloc(1, sizeof *r);
                if (!r)
                        return false;
                memcpy(r->gone, f->locked.base.object.etag, sizeof r->gone);
                r->moved_most = c->sending.plan.moved + MORE_MOST;
        }
        if (c->phase == COMMIT_LOOKING)
                return true; /* others of the same plan fail for the same reason */
        r->tries++;
        return commit_enter_locked(f, COMMIT_LOOKING);
}

void base_conflict_look_locked(struct wfile *f, struct outcome *out)
{
        (void)upload_request_new_locked(f, out, REQUEST_LOOK); /* without memory the error is set */
}

/* Parts of the plan so far may hold bytes of different versions; those that were sent as they
 * filled hold what was written alone. */
static void drop_steps_locked(struct wfile *f)
{
        size_t at = 0;
        for (size_t i = 0; f->locked.upload.handle && i < f->locked.commit.sending.plan.n; i++) {
                unsigned no = f->locked.commit.sending.plan.v[i].no;
                for (at = 0; at < f->locked.parts.n && f->locked.parts.v[at].no != no;)
                        at++;
                if (at == f->locked.parts.n)
                        store_upload_drop(f->locked.upload.handle, no);
        }
        plan_release(&f->locked.commit.sending.plan);
        (void)commit_enter_locked(f, COMMIT_PLANNING);
}

void base_conflict_looked_locked(struct wfile *f, int err, const struct store_object *obj)
{
        struct base_conflict *r = f->locked.commit.conflict;

        if (err && err != -ENOENT) {
                wfile_set_error_locked(f, err);
                return;
        }
        uint64_t len = f->locked.base.len, size = err ? 0 : obj->size;
        r->stands = (struct base){.len = size < len ? size : len};
        if (!err)
                r->stands.object = *obj;
        drop_steps_locked(f);
}

const struct base *base_conflict_base_locked(const struct wfile *f)
{
        return f->locked.commit.conflict ? &f->locked.commit.conflict->stands : NULL;
}

int base_conflict_check_locked(const struct wfile *f)
{
        const struct base_conflict *r = f->locked.commit.conflict;
        return r && f->locked.commit.sending.plan.moved > r->moved_most ? -ESTALE : 0;
}

const char *base_conflict_gone_locked(const struct wfile *f)
{
        return f->locked.commit.conflict ? f->locked.commit.conflict->gone : NULL;
}

void base_conflict_end_locked(struct wfile *f)
{
        free(f->locked.commit.conflict);
        f->locked.commit.conflict = NULL;
}
