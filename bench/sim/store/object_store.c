/* SPDX-License-Identifier: Apache-2.0 */
/* object_store.c: buckets and objects. See object_store.h. */
#include "bench/sim/store/object_store.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mutex.h"
#include "base/cleanup.h"
#include "bench/sim/store/null.h"
#include "bench/sim/store/record.h"
#include "bench/sim/store/object_store_i.h"
#include "base/banned.h"

int object_store_open(struct data *d, struct object_store **out)
{
        struct object_store *v = calloc(1, sizeof *v);

        if (!v)
                return -ENOMEM;
        v->data = d;
        mutex_init(&v->mtx, LOCK_SIM);
        int err = object_store_load(v);
        if (err) {
                object_store_close(v);
                return err;
        }
        *out = v;
        return 0;
}

static void bucket_free(struct bucket *b)
{
        index_release(&b->index);
        index_release(&b->old);
        index_release(&b->folders);
        for (struct upload *u = b->uploads; u;) {
                struct upload *next = u->next;
                upload_free(u);
                u = next;
        }
        free(b);
}

void object_store_close(struct object_store *v)
{
        if (!v)
                return;
        data_leave_files(v->data);
        mutex_unshared(&v->mtx);
        for (struct bucket *b = v->buckets; b;) {
                struct bucket *next = b->next;
                bucket_free(b);
                b = next;
        }
        mutex_destroy(&v->mtx);
        free(v);
}

struct data *object_store_data(struct object_store *v)
{
        return v->data;
}

/* The vendor's rules: 3 to 63 of a-z, 0-9, dot and hyphen, beginning and ending with a letter or
 * digit. They also make it a safe name of a directory. */
bool object_store_bucket_name_ok(const char *name)
{
        size_t n = strlen(name);

        if (n < 3 || n > 63 || strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789.-") != n)
                return false;
        return !strchr(".-", name[0]) && !strchr(".-", name[n - 1]) && !strstr(name, "..");
}

struct bucket *object_store_bucket_locked(struct object_store *v, const char *name)
        REQUIRES(&v->mtx)
{
        struct bucket *b = v->buckets;

        while (b && strcmp(b->name, name))
                b = b->next;
        return b;
}

int object_store_new_bucket_locked(struct object_store *v, const char *name, struct bucket **out)
        REQUIRES(&v->mtx)
{
        struct bucket *b = calloc(1, sizeof *b), **at = &v->buckets;

        if (!b)
                return -ENOMEM;
        snprintf(b->name, sizeof b->name, "%s", name);
        index_init(&b->index);
        index_init(&b->old);
        index_init(&b->folders);
        while (*at && strcmp((*at)->name, name) < 0)
                at = &(*at)->next;
        b->next = *at;
        *at = b;
        *out = b;
        return 0;
}

int object_store_add_bucket(struct object_store *v, const char *bucket)
{
        struct bucket *b;

        if (!object_store_bucket_name_ok(bucket))
                return -EINVAL;
        mutex_lock(&v->mtx);
        int err =
                object_store_bucket_locked(v, bucket) ? -EEXIST : data_add_bucket(v->data, bucket);
        if (!err)
                err = object_store_new_bucket_locked(v, bucket, &b);
        mutex_unlock(&v->mtx);
        return err;
}

int object_store_remove_bucket(struct object_store *v, const char *bucket)
{
        int err = -ENXIO;

        mutex_lock(&v->mtx);
        for (struct bucket **at = &v->buckets; *at; at = &(*at)->next) {
                struct bucket *b = *at;
                if (strcmp(b->name, bucket))
                        continue;
                err = b->index.count || b->folders.count || b->uploads ? -ENOTEMPTY : 0;
                if (!err) {
                        *at = b->next;
                        data_remove_bucket(v->data, bucket);
                        bucket_free(b);
                }
                break;
        }
        mutex_unlock(&v->mtx);
        return err;
}

bool object_store_has_bucket(struct object_store *v, const char *bucket)
{
        mutex_lock(&v->mtx);
        bool has = object_store_bucket_locked(v, bucket);
        mutex_unlock(&v->mtx);
        return has;
}

int object_store_buckets(struct object_store *v, object_store_bucket_fn *fn, void *arg)
{
        int err = 0;

        mutex_lock(&v->mtx);
        for (struct bucket *b = v->buckets; !err && b; b = b->next)
                err = fn(arg, b->name);
        mutex_unlock(&v->mtx);
        return err;
}

int object_store_get(struct object_store *v, const char *bucket, const char *key,
                     struct object **out)
{
        mutex_lock(&v->mtx);
        struct bucket *b = object_store_bucket_locked(v, bucket);
        struct object *o = b ? index_find(&b->index, key) : NULL;
        if (o)
                *out = object_ref(o);
        mutex_unlock(&v->mtx);
        if (!b)
                return -ENXIO;
        return o ? 0 : -ENOENT;
}

void object_store_stamp(struct object_store *v, struct object *o, unsigned nparts)
{
        struct timespec now;

        clock_gettime(CLOCK_REALTIME, &now);
        o->mtime_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
        if (data_is_null(v->data)) {
                o->has_crc = true;
                o->crc = null_crc(o->size);
        }
        o->created_ns = o->mtime_ns;
        o->generation = (int64_t)data_next_id(v->data);
        o->metageneration = 1;
        object_store_stamp_etag(v, o, nparts);
}

void object_store_stamp_etag(const struct object_store *v, struct object *o, unsigned nparts)
{
        uint64_t by = v->content_etags && o->has_crc ? o->size : (uint64_t)o->generation;
        int n = snprintf(o->etag, sizeof o->etag, "%016" PRIx64 "%08" PRIx32, by, o->crc);
        if (nparts)
                snprintf(o->etag + n, sizeof o->etag - (size_t)n, "-%u", nparts);
}

int object_store_check(const struct object *now, const struct object_store_cond *cond)
{
        int64_t gen = now ? now->generation : 0, meta = now ? now->metageneration : 0;

        if (!cond)
                return 0;
        if (cond->if_match && !object_matches(now, cond->if_match))
                return now ? -ESTALE : -ENOENT;
        if ((cond->present && cond->present != now) ||
            ((cond->has & VAULT_GEN) && cond->gen != gen) ||
            ((cond->has & VAULT_META) && cond->meta != meta))
                return -ESTALE;
        if ((cond->if_none_match && object_matches(now, cond->if_none_match)) ||
            ((cond->has & VAULT_GEN_NOT) && cond->gen_not == gen) ||
            ((cond->has & VAULT_META_NOT) && cond->meta_not == meta))
                return -EALREADY;
        return 0;
}

int object_store_replace_locked(struct object_store *v, struct bucket *b, struct object *o,
                                const char *tmp, const struct object_store_cond *cond,
                                struct object **old) REQUIRES(&v->mtx)
{
        char path[DATA_PATH_MAX];
        const struct object *present = index_find(&b->index, o->key);
        int err = object_store_check(present, cond);

        if (!err)
                err = version_pace(v, present, o);
        if (!err && present && present->generation != o->generation)
                err = version_retained(v, present);
        if (!err)
                err = folder_make_parents_locked(v, b, o->key);
        if (err)
                return err;
        data_index_path(b->name, o->key, path);
        err = index_put(&b->index, object_ref(o), old);
        if (err) {
                object_unref(o);
                return err;
        }
        err = data_publish(v->data, tmp, path);
        if (err) { /* the old version stands */
                struct object *now;
                if (!*old)
                        object_unref(index_remove(&b->index, o->key));
                else if (!index_put(&b->index, TAKE_PTR(*old), &now))
                        object_unref(now);
        }
        if (!err)
                version_archive_locked(v, b, *old, o->generation);
        return err;
}

int object_store_stage(struct object_store *v, const struct object *o, char tmp[DATA_TMP_MAX])
{
        CLEANUP(buf_release) struct buf text = BUF_INIT;
        int err = data_is_null(v->data) ? 0 : record_write(o, NULL, &text);

        return err ? err : data_stage(v->data, &text, tmp);
}

int object_store_store(struct object_store *v, const char *bucket, struct object *o,
                       const struct object_store_cond *cond)
{
        CLEANUP(object_unrefp) struct object *old = NULL;
        char tmp[DATA_TMP_MAX];
        int err = object_store_stage(v, o, tmp);

        if (err)
                return err;
        mutex_lock(&v->mtx);
        struct bucket *b = object_store_bucket_locked(v, bucket);
        err = b ? object_store_replace_locked(v, b, o, tmp, cond, &old) : -ENXIO;
        mutex_unlock(&v->mtx);
        if (err)
                data_discard(v->data, tmp);
        return err;
}

int object_store_put(struct object_store *v, const char *bucket, struct object *o,
                     const struct object_store_cond *cond)
{
        object_store_stamp(v, o, 0);
        return object_store_store(v, bucket, o, cond);
}

struct object *object_store_take_locked(struct object_store *v, struct bucket *b, const char *key)
        REQUIRES(&v->mtx)
{
        char path[DATA_PATH_MAX];
        struct object *old = index_remove(&b->index, key);

        if (old && !data_is_null(v->data)) {
                data_index_path(b->name, key, path);
                data_remove(v->data, path);
        }
        version_archive_locked(v, b, old, 0);
        return old;
}

int object_store_delete(struct object_store *v, const char *bucket, const char *key,
                        const struct object_store_cond *cond)
{
        CLEANUP(object_unrefp) struct object *old = NULL;

        mutex_lock(&v->mtx);
        struct bucket *b = object_store_bucket_locked(v, bucket);
        const struct object *now = b ? index_find(&b->index, key) : NULL;
        int err = b ? object_store_check(now, cond) : -ENXIO;
        if (!err)
                err = version_retained(v, now);
        if (!err) {
                old = object_store_take_locked(v, b, key);
                err = old ? 0 : -ENOENT;
        }
        mutex_unlock(&v->mtx);
        return err;
}
