/* SPDX-License-Identifier: Apache-2.0 */
/* object_store_upload.c: unfinished uploads. See object_store.h. */
#include "base/mutex.h"
#include "bench/sim/store/object_store.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "bench/sim/store/record.h"
#include "bench/sim/store/object_store_i.h"
#include "base/banned.h"

static int compare(const struct upload *u, const char *key, const char *id)
{
        int c = strcmp(u->o->key, key);
        return c ? c : strcmp(u->o->upload, id);
}

void upload_free(struct upload *u)
{
        if (!u)
                return;
        for (unsigned i = 0; i < u->nparts; i++)
                object_unref(u->parts[i].o);
        object_unref(u->o);
        free(u->parts);
        free(u);
}

/* The link to the upload, or to NULL. */
static struct upload **find_upload(struct bucket *b, const struct object_store_upload *up)
{
        struct upload **at = &b->uploads;

        while (*at && compare(*at, up->key, up->id))
                at = &(*at)->next;
        return at;
}

static int lookup_locked(struct object_store *v, const struct object_store_upload *up,
                         struct upload **out) REQUIRES(&v->mtx)
{
        struct bucket *b = object_store_bucket_locked(v, up->bucket);

        if (!b)
                return -ENXIO;
        *out = *find_upload(b, up);
        return *out ? 0 : -ENOENT;
}

int upload_insert(struct bucket *b, struct object *o, struct upload **out)
{
        struct upload *u = calloc(1, sizeof *u), **at = &b->uploads;

        if (!u)
                return -ENOMEM;
        u->o = object_ref(o);
        while (*at && compare(*at, o->key, o->upload) < 0)
                at = &(*at)->next;
        u->next = *at;
        *at = u;
        *out = u;
        return 0;
}

/* Where part `number` is or belongs. */
static unsigned part_slot(const struct upload *u, unsigned number)
{
        unsigned lo = 0, hi = u->nparts;

        while (lo < hi) {
                unsigned mid = (lo + hi) / 2;
                if (u->parts[mid].number < number)
                        lo = mid + 1;
                else
                        hi = mid;
        }
        return lo;
}

int upload_set_part(struct upload *u, unsigned number, struct object *o, struct object **old)
{
        unsigned i = part_slot(u, number);

        if (i < u->nparts && u->parts[i].number == number) {
                *old = u->parts[i].o;
                u->parts[i].o = object_ref(o);
                return 0;
        }
        if (GROW(u->parts, u->nparts, u->cap, 8))
                return -ENOMEM;
        memmove(u->parts + i + 1, u->parts + i, (u->nparts - i) * sizeof *u->parts);
        u->parts[i] = (struct part){number, object_ref(o)};
        u->nparts++;
        return 0;
}

static void upload_path(char path[DATA_PATH_MAX], const char *id, const char *name)
{
        snprintf(path, DATA_PATH_MAX, ".uploads/%s%s%s", id, *name ? "/" : "", name);
}

int object_store_upload_create(struct object_store *v, const char *bucket, struct object *o,
                               char id[UPLOAD_ID_MAX])
{
        CLEANUP(buf_release) struct buf text = BUF_INIT;
        char path[DATA_PATH_MAX], tmp[DATA_TMP_MAX];
        struct upload *u;

        object_store_stamp(v, o, 0);
        o->etag[0] = 0;
        snprintf(id, UPLOAD_ID_MAX, "%016" PRIx64, data_next_id(v->data));
        snprintf(o->upload, sizeof o->upload, "%s", id);
        upload_path(path, id, "");
        int err = data_mkdir(v->data, path);
        if (!err && !data_is_null(v->data))
                err = record_write(o, bucket, &text);
        if (!err)
                err = data_stage(v->data, &text, tmp);
        if (err)
                return err;
        upload_path(path, id, "meta");
        mutex_lock(&v->mtx);
        struct bucket *b = object_store_bucket_locked(v, bucket);
        err = b ? data_publish(v->data, tmp, path) : -ENXIO;
        if (!err)
                err = upload_insert(b, o, &u);
        mutex_unlock(&v->mtx);
        if (err) {
                data_discard(v->data, tmp);
                upload_path(path, id, "");
                data_remove(v->data, path);
        }
        return err;
}

int object_store_upload_check(struct object_store *v, const struct object_store_upload *up)
{
        struct upload *u;

        mutex_lock(&v->mtx);
        int err = lookup_locked(v, up, &u);
        mutex_unlock(&v->mtx);
        return err;
}

int object_store_upload_head(struct object_store *v, const struct object_store_upload *up,
                             struct object **out)
{
        struct upload *u;

        mutex_lock(&v->mtx);
        int err = lookup_locked(v, up, &u);
        if (!err)
                *out = object_ref(u->o);
        mutex_unlock(&v->mtx);
        return err;
}

int object_store_upload_put(struct object_store *v, const struct object_store_upload *up,
                            unsigned number, struct object *o)
{
        CLEANUP(object_unrefp) struct object *old = NULL;
        char path[DATA_PATH_MAX], tmp[DATA_TMP_MAX], name[16];
        struct upload *u;

        object_store_stamp(v, o, 0);
        int err = object_store_stage(v, o, tmp);
        if (err)
                return err;
        snprintf(name, sizeof name, "%u", number);
        upload_path(path, up->id, name);
        mutex_lock(&v->mtx);
        err = lookup_locked(v, up, &u);
        if (!err)
                err = data_publish(v->data, tmp, path);
        if (!err)
                err = upload_set_part(u, number, o, &old);
        mutex_unlock(&v->mtx);
        if (err)
                data_discard(v->data, tmp);
        return err;
}

int object_store_upload_part(struct object_store *v, const struct object_store_upload *up,
                             unsigned number, struct object **out)
{
        struct upload *u;

        mutex_lock(&v->mtx);
        int err = lookup_locked(v, up, &u);
        if (!err) {
                unsigned i = part_slot(u, number);
                if (i < u->nparts && u->parts[i].number == number)
                        *out = object_ref(u->parts[i].o);
                else
                        err = -ESRCH;
        }
        mutex_unlock(&v->mtx);
        return err;
}

static int inherit(struct object *o, const struct object *from)
{
        int err = object_set_key(o, from->key);

        if (!err)
                err = object_meta_copy(o, from);
        snprintf(o->upload, sizeof o->upload, "%s", from->upload);
        return err;
}

static void unlink_upload(struct bucket *b, const struct object_store_upload *up,
                          struct upload **gone)
{
        struct upload **at = find_upload(b, up);

        *gone = *at;
        if (*at)
                *at = (*at)->next;
}

int object_store_upload_complete(struct object_store *v, const struct object_store_upload *up,
                                 struct object *o, unsigned nparts, bool dated_begin,
                                 const struct object_store_cond *cond)
{
        CLEANUP(object_unrefp) struct object *old = NULL, *head = NULL;
        char path[DATA_PATH_MAX], tmp[DATA_TMP_MAX];
        struct upload *u = NULL;

        int err = object_store_upload_head(v, up, &head);
        if (!err)
                err = inherit(o, head);
        if (err)
                return err;
        object_store_stamp(v, o, nparts);
        if (dated_begin)
                o->mtime_ns = o->created_ns = head->mtime_ns;
        err = object_store_stage(v, o, tmp);
        if (err)
                return err;
        u = NULL;
        mutex_lock(&v->mtx);
        struct bucket *b = object_store_bucket_locked(v, up->bucket);
        err = !b ? -ENXIO : !*find_upload(b, up) ? -ENOENT : 0;
        if (!err)
                err = object_store_replace_locked(v, b, o, tmp, cond, &old);
        if (!err)
                unlink_upload(b, up, &u);
        mutex_unlock(&v->mtx);
        if (err) {
                data_discard(v->data, tmp);
                return err;
        }
        upload_path(path, up->id, "");
        data_remove(v->data, path);
        upload_free(u);
        return 0;
}

int object_store_upload_abort(struct object_store *v, const struct object_store_upload *up)
{
        char path[DATA_PATH_MAX];
        struct upload *u = NULL;

        mutex_lock(&v->mtx);
        struct bucket *b = object_store_bucket_locked(v, up->bucket);
        if (b)
                unlink_upload(b, up, &u);
        mutex_unlock(&v->mtx);
        if (!u)
                return b ? -ENOENT : -ENXIO;
        upload_path(path, up->id, "");
        data_remove(v->data, path);
        upload_free(u);
        return 0;
}

int object_store_upload_parts(struct object_store *v, const struct object_store_upload *up,
                              unsigned after, object_store_part_fn *fn, void *arg)
{
        struct upload *u;

        mutex_lock(&v->mtx);
        int err = lookup_locked(v, up, &u);
        if (!err)
                for (unsigned i = part_slot(u, after + 1); !err && i < u->nparts; i++)
                        err = fn(arg, u->parts[i].number, u->parts[i].o);
        mutex_unlock(&v->mtx);
        return err;
}

int object_store_uploads(struct object_store *v, const char *bucket, const char *prefix,
                         const char *after_key, const char *after_id, object_store_upload_fn *fn,
                         void *arg)
{
        mutex_lock(&v->mtx);
        struct bucket *b = object_store_bucket_locked(v, bucket);
        int err = b ? 0 : -ENXIO;
        for (struct upload *u = b ? b->uploads : NULL; u && !err; u = u->next) {
                if (strncmp(u->o->key, prefix, strlen(prefix)))
                        continue;
                int c = strcmp(u->o->key, after_key);
                if (c < 0 || (c == 0 && (!*after_id || strcmp(u->o->upload, after_id) <= 0)))
                        continue;
                struct object_store_upload up = {bucket, u->o->key, u->o->upload};
                err = fn(arg, &up, u->o->mtime_ns);
        }
        mutex_unlock(&v->mtx);
        return err;
}
