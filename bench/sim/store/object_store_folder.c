/* SPDX-License-Identifier: Apache-2.0 */
/* object_store_folder.c: folders of hierarchical buckets. See object_store.h.
 *
 * A folder is an entry of the bucket's second index, and a record whose path is that of the key
 * "//NAME", which no object of such a bucket has. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mutex.h"
#include "base/cleanup.h"
#include "bench/sim/store/object_store_i.h"
#include "base/banned.h"

static int record_path(const struct bucket *b, const char *name, char path[DATA_PATH_MAX])
{
        CLEANUP(buf_release) struct buf key = BUF_INIT;

        if (buf_addf(&key, "//%s", name))
                return -ENOMEM;
        data_index_path(b->name, key.p, path);
        return 0;
}

bool object_store_has_folders(const struct object_store *v)
{
        return v->folders;
}

/* Adds `o` and its record; the reference stays the caller's. */
static int insert_locked(struct object_store *v, struct bucket *b, struct object *o)
        REQUIRES(&v->mtx)
{
        CLEANUP(object_unrefp) struct object *old = NULL;
        char path[DATA_PATH_MAX], tmp[DATA_TMP_MAX];
        int err = record_path(b, o->key, path);

        if (!err)
                err = object_store_stage(v, o, tmp);
        if (err)
                return err;
        err = data_publish(v->data, tmp, path);
        if (err) {
                data_discard(v->data, tmp);
                return err;
        }
        err = index_put(&b->folders, object_ref(o), &old);
        if (err)
                object_unref(o);
        return err;
}

static int make_locked(struct object_store *v, struct bucket *b, const char *name) REQUIRES(&v->mtx)
{
        CLEANUP(object_unrefp) struct object *o = object_new(name);

        if (!o)
                return -ENOMEM;
        object_store_stamp(v, o, 0);
        o->is_folder = true;
        return insert_locked(v, b, o);
}

int folder_make_parents_locked(struct object_store *v, struct bucket *b, const char *key)
        REQUIRES(&v->mtx)
{
        if (!v->folders)
                return 0;
        CLEANUP(freep) char *name = strdup(key);
        int err = name ? 0 : -ENOMEM;

        for (char *p = name; !err && (p = strchr(p, '/'));) {
                char after = *++p;
                *p = 0;
                if (!index_find(&b->folders, name))
                        err = make_locked(v, b, name);
                *p = after;
        }
        return err;
}

int object_store_use_folders(struct object_store *v)
{
        int err = 0;

        mutex_lock(&v->mtx);
        v->folders = true;
        for (struct bucket *b = v->buckets; b; b = b->next)
                for (const struct index_node *n = index_seek(&b->index, "", 0); n && !err;
                     n = index_next(&b->index, n))
                        err = folder_make_parents_locked(v, b, index_object(n)->key);
        mutex_unlock(&v->mtx);
        return err;
}

/* The end of the name of the folder above: 0 at the top. */
static size_t parent_len(const char *name)
{
        size_t n = strlen(name);

        for (n -= n > 0; n && name[n - 1] != '/'; n--)
                ;
        return n;
}

static int need_parent(struct bucket *b, const char *name)
{
        CLEANUP(freep) char *parent = strndup(name, parent_len(name));

        if (!parent)
                return -ENOMEM;
        return !*parent || index_find(&b->folders, parent) ? 0 : -ENOENT;
}

int object_store_folder_create(struct object_store *v, const char *bucket, const char *name,
                               bool parents)
{
        mutex_lock(&v->mtx);
        struct bucket *b = object_store_bucket_locked(v, bucket);
        int err = !b ? -ENXIO : index_find(&b->folders, name) ? -EEXIST : 0;
        if (!err)
                err = parents ? folder_make_parents_locked(v, b, name) : need_parent(b, name);
        if (!err && !index_find(&b->folders, name))
                err = make_locked(v, b, name);
        mutex_unlock(&v->mtx);
        return err;
}

int object_store_folder_get(struct object_store *v, const char *bucket, const char *name,
                            struct object **out)
{
        mutex_lock(&v->mtx);
        struct bucket *b = object_store_bucket_locked(v, bucket);
        struct object *o = b ? index_find(&b->folders, name) : NULL;
        if (o)
                *out = object_ref(o);
        mutex_unlock(&v->mtx);
        if (!b)
                return -ENXIO;
        return o ? 0 : -ENOENT;
}

/* The first entry whose key begins with `name` and is longer. */
static struct object *first_below(const struct index *ix, const char *name)
{
        const struct index_node *n = index_seek(ix, name, 0);

        while (n && !strcmp(index_object(n)->key, name))
                n = index_next(ix, n);
        struct object *o = n ? index_object(n) : NULL;
        return o && !strncmp(o->key, name, strlen(name)) ? o : NULL;
}

static void remove_locked(struct object_store *v, struct bucket *b, const char *name)
        REQUIRES(&v->mtx)
{
        char path[DATA_PATH_MAX];

        if (!data_is_null(v->data) && !record_path(b, name, path))
                data_remove(v->data, path);
        object_unref(index_remove(&b->folders, name));
}

int object_store_folder_delete(struct object_store *v, const char *bucket, const char *name,
                               const struct object_store_cond *cond)
{
        mutex_lock(&v->mtx);
        struct bucket *b = object_store_bucket_locked(v, bucket);
        const struct object *o = b ? index_find(&b->folders, name) : NULL;
        int err = !b ? -ENXIO : !o ? -ENOENT : object_store_check(o, cond);
        if (!err && (index_find(&b->index, name) || first_below(&b->index, name) ||
                     first_below(&b->folders, name)))
                err = -ENOTEMPTY;
        if (!err)
                remove_locked(v, b, name);
        mutex_unlock(&v->mtx);
        return err;
}

/* `o` under its new name. */
static struct object *renamed(const struct object *o, const char *from, const char *to)
{
        CLEANUP(buf_release) struct buf key = BUF_INIT;

        return buf_addf(&key, "%s%s", to, o->key + strlen(from)) ? NULL : object_clone(o, key.p);
}

static int rename_object_locked(struct object_store *v, struct bucket *b, const struct object *o,
                                const char *from, const char *to) REQUIRES(&v->mtx)
{
        CLEANUP(object_unrefp) struct object *moved = renamed(o, from, to), *old = NULL;
        char tmp[DATA_TMP_MAX];
        int err = moved ? object_store_stage(v, moved, tmp) : -ENOMEM;

        if (err)
                return err;
        err = object_store_replace_locked(v, b, moved, tmp, NULL, &old);
        if (err)
                data_discard(v->data, tmp);
        else
                object_unref(object_store_take_locked(v, b, o->key));
        return err;
}

static int rename_folder_locked(struct object_store *v, struct bucket *b, const struct object *o,
                                const char *from, const char *to) REQUIRES(&v->mtx)
{
        CLEANUP(object_unrefp) struct object *moved = renamed(o, from, to);
        int err = moved ? insert_locked(v, b, moved) : -ENOMEM;

        if (!err)
                remove_locked(v, b, o->key);
        return err;
}

static int rename_all_locked(struct object_store *v, struct bucket *b, const char *from,
                             const char *to) REQUIRES(&v->mtx)
{
        struct object *o;
        int err = 0;

        while (!err && ((o = index_find(&b->index, from)) || (o = first_below(&b->index, from))))
                err = rename_object_locked(v, b, o, from, to);
        while (!err &&
               ((o = index_find(&b->folders, from)) || (o = first_below(&b->folders, from))))
                err = rename_folder_locked(v, b, o, from, to);
        return err;
}

int object_store_folder_rename(struct object_store *v, const char *bucket, const char *from,
                               const char *to)
{
        mutex_lock(&v->mtx);
        struct bucket *b = object_store_bucket_locked(v, bucket);
        int err = !b ? -ENXIO : !index_find(&b->folders, from) ? -ENOENT : 0;
        if (!err && (index_find(&b->folders, to) || first_below(&b->index, to)))
                err = -EEXIST;
        if (!err && !strncmp(to, from, strlen(from)))
                err = -EINVAL; /* into itself */
        if (!err)
                err = need_parent(b, to);
        if (!err)
                err = rename_all_locked(v, b, from, to);
        mutex_unlock(&v->mtx);
        return err;
}
