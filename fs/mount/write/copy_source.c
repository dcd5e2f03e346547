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

const char *wfile_base_key_locked(const struct wfile *f)
{
        return f->locked.origin_key ? f->locked.origin_key : f->locked.key;
}

const struct store_object *wfile_base_locked(const struct wfile *f)
{
        return f->locked.origin_key ? &f->locked.origin : &f->locked.base;
}

static void drop_reader_locked(struct wfile *f, struct outcome *out)
{
        if (f->locked.reader)
                out->reader = TAKE_PTR(f->locked.reader);
}

void wfile_forget_origin_locked(struct wfile *f, struct outcome *out)
{
        if (!f->locked.origin_key)
                return;
        free(TAKE_PTR(f->locked.origin_key));
        drop_reader_locked(f, out);
}

static bool is_bare_locked(const struct wfile *f)
{
        uint64_t from, to;
        return !f->locked.nparts && f->locked.state == UPLOAD_NONE &&
               !extent_map_run(&f->locked.data, 0, &from, &to);
}

bool wfile_is_clone_locked(const struct wfile *f)
{
        return f->locked.origin_key && is_bare_locked(f) && f->locked.size == f->locked.base_len &&
               f->locked.size == f->locked.origin.size;
}

/* Whether the file holds bytes [0, off) of that version of `key`, and nothing else. */
static bool follows_locked(const struct wfile *f, const char *key, const struct store_object *src,
                           uint64_t off)
{
        if (!is_bare_locked(f) || f->locked.size != off || f->locked.base_len != off)
                return false;
        return !off || (f->locked.origin_key && !strcmp(f->locked.origin_key, key) &&
                        !strcmp(f->locked.origin.etag, src->etag));
}

static int clone_locked(struct wfile *f, struct outcome *out, const char *key,
                        const struct store_object *src, uint64_t end)
{
        if (!f->locked.origin_key || strcmp(f->locked.origin_key, key) ||
            strcmp(f->locked.origin.etag, src->etag)) {
                char *copy = strdup(key);
                if (!copy)
                        return -ENOMEM;
                wfile_forget_origin_locked(f, out);
                drop_reader_locked(f, out); /* of the base */
                f->locked.origin_key = copy;
                f->locked.origin = *src;
        }
        f->locked.size = f->locked.base_len = end;
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
