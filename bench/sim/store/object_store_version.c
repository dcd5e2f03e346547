/* SPDX-License-Identifier: Apache-2.0 */
/* object_store_version.c: generations: those kept, changes of metadata alone, and moves. See
 * object_store.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/mutex.h"
#include "base/cleanup.h"
#include "bench/sim/store/object_store_i.h"
#include "base/banned.h"

static int old_key(struct buf *out, const char *key, int64_t generation)
{
        return buf_addf(out, "%s#%" PRId64, key, generation);
}

void object_store_pace_names(struct object_store *v, uint64_t pause_ns)
{
        v->name_pause_ns = pause_ns;
}

int version_pace(const struct object_store *v, const struct object *now, const struct object *o)
{
        int64_t age = now ? o->mtime_ns - now->mtime_ns : INT64_MAX;
        return age >= 0 && (uint64_t)age < v->name_pause_ns ? -EBUSY : 0;
}

void object_store_retain(struct object_store *v, uint64_t retention_ns)
{
        v->retention_ns = retention_ns;
}

int version_retained(const struct object_store *v, const struct object *now)
{
        struct timespec ts;

        if (!v->retention_ns || !now || now->is_folder)
                return 0;
        clock_gettime(CLOCK_REALTIME, &ts);
        int64_t age = (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec - now->created_ns;
        return age >= 0 && (uint64_t)age < v->retention_ns ? -EPERM : 0;
}

void object_store_use_content_etags(struct object_store *v)
{
        v->content_etags = true;
}

void object_store_enable_versions(struct object_store *v)
{
        v->versions = true;
}

bool object_store_has_versions(const struct object_store *v)
{
        return v->versions;
}

void version_archive_locked(struct object_store *v, struct bucket *b, const struct object *old,
                            int64_t generation) REQUIRES(&v->mtx)
{
        CLEANUP(buf_release) struct buf key = BUF_INIT;
        CLEANUP(object_unrefp) struct object *archived = NULL, *before = NULL;

        if (!v->versions || !old || old->generation == generation ||
            old_key(&key, old->key, old->generation))
                return;
        archived = object_clone(old, key.p);
        if (archived && !index_put(&b->old, archived, &before))
                archived = NULL;
}

int object_store_get_version(struct object_store *v, const char *bucket, const char *key,
                             int64_t generation, struct object **out)
{
        CLEANUP(buf_release) struct buf name = BUF_INIT;

        if (old_key(&name, key, generation))
                return -ENOMEM;
        mutex_lock(&v->mtx);
        struct bucket *b = object_store_bucket_locked(v, bucket);
        struct object *o = b ? index_find(&b->index, key) : NULL;
        if (b && (!o || o->generation != generation))
                o = index_find(&b->old, name.p);
        if (o)
                *out = object_ref(o);
        mutex_unlock(&v->mtx);
        if (!b)
                return -ENXIO;
        return o ? 0 : -ENOENT;
}

int object_store_delete_version(struct object_store *v, const char *bucket, const char *key,
                                int64_t generation)
{
        CLEANUP(buf_release) struct buf name = BUF_INIT;
        CLEANUP(object_unrefp) struct object *gone = NULL;

        if (old_key(&name, key, generation))
                return -ENOMEM;
        mutex_lock(&v->mtx);
        struct bucket *b = object_store_bucket_locked(v, bucket);
        const struct object *now = b ? index_find(&b->index, key) : NULL;
        if (now && now->generation == generation)
                object_unref(object_store_take_locked(v, b, key));
        if (b)
                gone = index_remove(&b->old, name.p); /* where that was kept, too */
        mutex_unlock(&v->mtx);
        return b ? 0 : -ENXIO;
}

int object_store_update(struct object_store *v, const char *bucket, struct object *o,
                        const struct object_store_cond *cond, bool dated)
{
        struct timespec now;

        clock_gettime(CLOCK_REALTIME, &now);
        if (dated)
                o->mtime_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
        o->metageneration++;
        return object_store_store(v, bucket, o, cond);
}

static int move_locked(struct object_store *v, struct bucket *b, const struct object *from,
                       struct object *o, const char *tmp, const struct object_store_move *m,
                       struct object **old) REQUIRES(&v->mtx)
{
        const struct object *now = b ? index_find(&b->index, from->key) : NULL;

        if (!b)
                return -ENXIO;
        if (now != from)
                return now ? -ESTALE : -ENOENT;
        int err = version_retained(v, from);
        if (!err)
                err = object_store_replace_locked(v, b, o, tmp, m->to_cond, old);
        if (!err && strcmp(from->key, o->key))
                object_unref(object_store_take_locked(v, b, from->key));
        return err;
}

int object_store_move(struct object_store *v, const char *bucket, const struct object_store_move *m,
                      struct object **out)
{
        CLEANUP(object_unrefp) struct object *source = NULL, *o = NULL, *old = NULL;
        char tmp[DATA_TMP_MAX];

        int err = object_store_get(v, bucket, m->from, &source);
        if (!err)
                err = object_store_check(source, m->from_cond);
        if (err)
                return err;
        o = object_clone(source, m->to);
        if (!o)
                return -ENOMEM;
        if (!m->same_version)
                object_store_stamp(v, o, 0);
        err = object_store_stage(v, o, tmp);
        if (err)
                return err;
        mutex_lock(&v->mtx);
        err = move_locked(v, object_store_bucket_locked(v, bucket), source, o, tmp, m, &old);
        mutex_unlock(&v->mtx);
        if (err)
                data_discard(v->data, tmp);
        else
                *out = TAKE_PTR(o);
        return err;
}
