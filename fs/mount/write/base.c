/* SPDX-License-Identifier: Apache-2.0 */
/* base.c: what the bytes of a file are of where nothing was written: the version that it began
 * with; the object that it is a copy of, until it is published; or, when another host replaced the
 * first during a commit, the version that stands: bytes that the commit needs are taken from that,
 * so that what was written is whole and can be recorded for ckptctl; the commit ends with ESTALE
 * all the same. See wfile.h and wfile_int.h. */
#include "mount/write/wfile_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#include "base/banned.h"

/* --- the file's
 * ------------------------------------------------------------------------------------------------
 */

const struct base *wfile_base_locked(const struct wfile *f) REQUIRES(&f->mtx)
{
        return f->locked.origin.key ? &f->locked.origin : &f->locked.base;
}

const char *wfile_base_key_locked(const struct wfile *f) REQUIRES(&f->mtx)
{
        return f->locked.origin.key ? f->locked.origin.key : f->locked.key;
}

void wfile_cut_base_locked(struct wfile *f, uint64_t size) REQUIRES(&f->mtx)
{
        struct base *b = f->locked.origin.key ? &f->locked.origin : &f->locked.base;
        if (size < b->len)
                b->len = size;
}

static void drop_reader_locked(struct wfile *f, struct outcome *out) REQUIRES(&f->mtx)
{
        if (f->locked.reader)
                out->reader = TAKE_PTR(f->locked.reader);
}

void wfile_forget_origin_locked(struct wfile *f, struct outcome *out) REQUIRES(&f->mtx)
{
        if (!f->locked.origin.key)
                return;
        free(TAKE_PTR(f->locked.origin.key));
        drop_reader_locked(f, out);
}

static bool is_bare_locked(const struct wfile *f) REQUIRES(&f->mtx)
{
        uint64_t from, to;
        return !f->locked.parts.n && f->locked.upload.state == UPLOAD_NONE &&
               !extent_map_run(&f->locked.data, 0, &from, &to);
}

bool wfile_is_clone_locked(const struct wfile *f) REQUIRES(&f->mtx)
{
        const struct base *origin = &f->locked.origin;
        return origin->key && is_bare_locked(f) && f->locked.size == origin->len &&
               f->locked.size == origin->object.size;
}

static bool is_origin_locked(const struct wfile *f, const char *key, const struct store_object *src)
        REQUIRES(&f->mtx)
{
        const struct base *origin = &f->locked.origin;
        return origin->key && !strcmp(origin->key, key) && !strcmp(origin->object.etag, src->etag);
}

/* Whether the file holds bytes [0, off) of that version of `key`, and nothing else. */
static bool follows_locked(const struct wfile *f, const char *key, const struct store_object *src,
                           uint64_t off) REQUIRES(&f->mtx)
{
        if (!is_bare_locked(f) || f->locked.size != off || wfile_base_locked(f)->len != off)
                return false;
        return !off || is_origin_locked(f, key, src);
}

static int clone_locked(struct wfile *f, struct outcome *out, const char *key,
                        const struct store_object *src, uint64_t end) REQUIRES(&f->mtx)
{
        if (!is_origin_locked(f, key, src)) {
                char *copy = strdup(key);
                if (!copy)
                        return -ENOMEM;
                wfile_forget_origin_locked(f, out);
                drop_reader_locked(f, out); /* of the base */
                f->locked.origin = (struct base){.key = copy, .object = *src};
        }
        f->locked.size = f->locked.origin.len = end;
        return 0;
}

int wfile_clone(struct wfile *f, struct wfile_user *u, const char *key,
                const struct store_object *src, uint64_t off, uint64_t len)
{
        struct outcome out;

        wfile_enter(f, &out);
        int err = wfile_refusal_locked(f, u);
        if (!err && (f->locked.unlinked || !follows_locked(f, key, src, off)))
                err = -EOPNOTSUPP;
        if (!err)
                err = clone_locked(f, &out, key, src, off + len);
        if (!err)
                wfile_note_change_locked(f, u);
        wfile_leave(f, &out);
        return err;
}

/* --- the commit's
 * ------------------------------------------------------------------------------------------------
 */

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
        REQUIRES(&f->mtx)
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

void base_conflict_look_locked(struct wfile *f, struct outcome *out) REQUIRES(&f->mtx)
{
        (void)upload_request_new_locked(f, out, REQUEST_LOOK); /* without memory the error is set */
}

/* Parts of the plan so far may hold bytes of different versions; those that were sent as they
 * filled hold what was written alone. */
static void drop_steps_locked(struct wfile *f) REQUIRES(&f->mtx)
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
        REQUIRES(&f->mtx)
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

const struct base *commit_base_locked(const struct wfile *f) REQUIRES(&f->mtx)
{
        return f->locked.commit.conflict ? &f->locked.commit.conflict->stands
                                         : wfile_base_locked(f);
}

int base_conflict_check_locked(const struct wfile *f) REQUIRES(&f->mtx)
{
        const struct base_conflict *r = f->locked.commit.conflict;
        return r && f->locked.commit.sending.plan.moved > r->moved_most ? -ESTALE : 0;
}

const char *base_conflict_gone_locked(const struct wfile *f) REQUIRES(&f->mtx)
{
        return f->locked.commit.conflict ? f->locked.commit.conflict->gone : NULL;
}

void base_conflict_end_locked(struct wfile *f) REQUIRES(&f->mtx)
{
        free(f->locked.commit.conflict);
        f->locked.commit.conflict = NULL;
}
