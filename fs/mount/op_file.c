/* SPDX-License-Identifier: Apache-2.0 */
/* op_file.c: see op_file.h. */
#include "mount/op_file.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "mount/amend.h"
#include "mount/op.h"

#include "base/banned.h"

struct file *op_file_locked(struct mount *m, struct node *n, const char *key)
{
        if (!n->file) {
                struct store_object base = {
                        .size = n->size, .has_crc = n->has_crc, .crc32c = n->crc32c};
                snprintf(base.etag, sizeof base.etag, "%s", n->etag);
                n->file = file_new(&m->file_env, n, key, n->published ? &base : NULL);
                if (!n->file)
                        return NULL;
                if (n->nreaders)
                        file_read_too(n->file);
                free(TAKE_PTR(n->cached_etag));
                tree_note_open_locked(m->tree, n);
        }
        n->nwriters++;
        return file_ref(n->file);
}

void op_file_put(struct mount *m, struct node *n, struct file *f)
{
        struct file *shown = NULL;

        tree_lock(m->tree);
        n->nwriters--;
        if (!n->nwriters && n->file == f && !file_dirty(f)) {
                shown = TAKE_PTR(n->file);
                tree_note_open_locked(m->tree, n);
                if (!n->published)
                        tree_remove_locked(m->tree, n);
        }
        tree_unlock(m->tree);
        file_unref(shown);
        file_unref(f);
}

bool op_file_is_last(struct mount *m, const struct node *n)
{
        tree_lock(m->tree);
        bool last = n->nwriters == 1;
        tree_unlock(m->tree);
        return last;
}

static void resize_again(struct file_deferred *d)
{
        op_resize((struct op_resize *)(void *)((char *)d - offsetof(struct op_resize, deferred)));
}

void op_resize(struct op_resize *r)
{
        int err;
        do {
                err = file_truncate(r->file, r->user, r->size);
                r->deferred.retry = resize_again;
                if (err == -EAGAIN && file_defer(r->file, &r->deferred))
                        return;
        } while (err == -EAGAIN);
        r->done(r, err);
}

int op_file_meta(void *mount, void *node, bool early, struct store_meta *meta)
{
        return amend_meta(mount, node, early, meta);
}

/* Attributes that changed while the version was on its way are sent after it. */
static void amended(struct amend_wait *w, int err)
{
        (void)err; /* the log has said it */
        free(w);
}

void op_file_published(void *mount, void *node, const struct store_object *obj)
{
        struct mount *m = mount;
        struct node *n = node;
        struct reader *old = NULL;
        CLEANUP(attr_release) struct attr carried = {0};

        tree_lock(m->tree);
        if (n->reader && strcmp(reader_etag(n->reader), obj->etag)) {
                old = TAKE_PTR(n->reader);
                tree_note_open_locked(m->tree, n);
        }
        carried = attr_copy(&n->attr);
        bool more = amend_published_locked(m, n, obj) > 0;
        tree_unlock(m->tree);
        if (old)
                reader_close(old);
        reader_unref(old);
        struct amend_wait *w = more ? malloc(sizeof *w) : NULL;
        if (w) {
                w->done = amended;
                amend(m, n, &carried, w);
        }
}
