/* SPDX-License-Identifier: Apache-2.0 */
/* copy_source.c: a file whose first bytes are those of another object, until it is published. See
 * wfile.h.
 */
#include "mount/write/wfile_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#include "base/banned.h"

const struct base *wfile_base_locked(const struct wfile *f)
{
        return f->locked.origin.key ? &f->locked.origin : &f->locked.base;
}

const char *wfile_base_key_locked(const struct wfile *f)
{
        return f->locked.origin.key ? f->locked.origin.key : f->locked.key;
}

void wfile_cut_base_locked(struct wfile *f, uint64_t size)
{
        struct base *b = f->locked.origin.key ? &f->locked.origin : &f->locked.base;
        if (size < b->len)
                b->len = size;
}

static void drop_reader_locked(struct wfile *f, struct outcome *out)
{
        if (f->locked.reader)
                out->reader = TAKE_PTR(f->locked.reader);
}

void wfile_forget_origin_locked(struct wfile *f, struct outcome *out)
{
        if (!f->locked.origin.key)
                return;
        free(TAKE_PTR(f->locked.origin.key));
        drop_reader_locked(f, out);
}

static bool is_bare_locked(const struct wfile *f)
{
        uint64_t from, to;
        return !f->locked.parts.n && f->locked.upload.state == UPLOAD_NONE &&
               !extent_map_run(&f->locked.data, 0, &from, &to);
}

bool wfile_is_clone_locked(const struct wfile *f)
{
        const struct base *origin = &f->locked.origin;
        return origin->key && is_bare_locked(f) && f->locked.size == origin->len &&
               f->locked.size == origin->object.size;
}

static bool is_origin_locked(const struct wfile *f, const char *key, const struct store_object *src)
{
        const struct base *origin = &f->locked.origin;
        return origin->key && !strcmp(origin->key, key) && !strcmp(origin->object.etag, src->etag);
}

/* Whether the file holds bytes [0, off) of that version of `key`, and nothing else. */
static bool follows_locked(const struct wfile *f, const char *key, const struct store_object *src,
                           uint64_t off)
{
        if (!is_bare_locked(f) || f->locked.size != off || wfile_base_locked(f)->len != off)
                return false;
        return !off || is_origin_locked(f, key, src);
}

static int clone_locked(struct wfile *f, struct outcome *out, const char *key,
                        const struct store_object *src, uint64_t end)
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
