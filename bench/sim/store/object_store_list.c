/* SPDX-License-Identifier: Apache-2.0 */
/* object_store_list.c: one page of objects, common prefixes and folders in order of their keys. */
#include <errno.h>
#include <string.h>

#include "base/mutex.h"
#include "base/cleanup.h"
#include "bench/sim/store/object_store_i.h"
#include "base/banned.h"

/* The length of the common prefix that `key` is listed under, 0 for none. */
static size_t common_len(const char *key, const char *prefix, const char *delim)
{
        size_t skip = strlen(prefix);

        if (!*delim || strncmp(key, prefix, skip))
                return 0;
        const char *d = strstr(key + skip, delim);
        return d ? (size_t)(d - key) + strlen(delim) : 0;
}

/* The first entry that does not begin with the n bytes at s. */
static const struct index_node *seek_over(const struct index *ix, const char *s, size_t n,
                                          struct buf *bound)
{
        buf_reset(bound);
        if (buf_add(bound, s, n))
                return NULL;
        while (bound->len && (unsigned char)bound->p[bound->len - 1] == 0xff)
                bound->p[--bound->len] = 0;
        if (!bound->len)
                return NULL;
        bound->p[bound->len - 1]++;
        return index_seek(ix, bound->p, 0);
}

static const struct index_node *list_start(const struct index *ix,
                                           const struct object_store_list *l, struct buf *bound)
{
        const char *from = l->from ? l->from : "";

        if (strcmp(from, l->prefix) < 0)
                from = l->prefix;
        if (strcmp(l->after, from) < 0)
                return index_seek(ix, from, 0);
        size_t n = common_len(l->after, l->prefix, l->delim);
        if (n && n == strlen(l->after))
                return seek_over(ix, l->after, n, bound);
        return index_seek(ix, l->after, *l->after != 0);
}

/* The entry that comes first of the two, NULL when both are at the end. */
static const struct object *first_of(const struct index_node *n, const struct index_node *folder)
{
        const struct object *o = n ? index_object(n) : NULL;
        const struct object *f = folder ? index_object(folder) : NULL;

        return !f || (o && strcmp(o->key, f->key) <= 0) ? o : f;
}

/* `folders` (or NULL) come in between as common prefixes. */
static int list_index(const struct index *ix, const struct index *folders,
                      struct object_store_list *l)
{
        CLEANUP(buf_release) struct buf bound = BUF_INIT;
        const struct index_node *n = list_start(ix, l, &bound);
        const struct index_node *f = folders ? list_start(folders, l, &bound) : NULL;
        const struct object *o;
        size_t skip = strlen(l->prefix);
        unsigned count = 0;
        int err = 0;

        while (!err && (o = first_of(n, f))) {
                if (strncmp(o->key, l->prefix, skip) || (l->until && strcmp(o->key, l->until) >= 0))
                        break;
                size_t common = common_len(o->key, l->prefix, l->delim);
                if (folders && o->is_folder && !common) {
                        f = index_next(folders, f);
                        continue;
                }
                if (count++ == l->max) {
                        l->more = true;
                        break;
                }
                err = l->fn(l->arg, o, common ? o->key : NULL, common);
                if (common && f)
                        f = seek_over(folders, o->key, common, &bound);
                n = common ? seek_over(ix, o->key, common, &bound) : index_next(ix, n);
        }
        return bound.failed ? -ENOMEM : err;
}

int object_store_list(struct object_store *v, const char *bucket, struct object_store_list *l)
{
        l->more = false;
        mutex_lock(&v->mtx);
        struct bucket *b = object_store_bucket_locked(v, bucket);
        int err = b ? list_index(&b->index, l->folders ? &b->folders : NULL, l) : -ENXIO;
        mutex_unlock(&v->mtx);
        return err;
}

int object_store_folders(struct object_store *v, const char *bucket, struct object_store_list *l)
{
        l->more = false;
        mutex_lock(&v->mtx);
        struct bucket *b = object_store_bucket_locked(v, bucket);
        int err = b ? list_index(&b->folders, NULL, l) : -ENXIO;
        mutex_unlock(&v->mtx);
        return err;
}
