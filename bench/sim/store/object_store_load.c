/* SPDX-License-Identifier: Apache-2.0 */
/* object_store_load.c: reads back what the directory holds, at the start. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "bench/sim/store/record.h"
#include "bench/sim/store/object_store_i.h"
#include "base/banned.h"

enum { BUCKETS = 1 << 16 };

/* A blob that some record refers to; holds a reference until the load is over. */
struct known {
        struct known *next;
        struct blob *blob;
};

struct load {
        struct object_store *v;
        struct bucket *bucket;
        struct upload *upload;
        struct known **table;
        const char *dir; /* of the upload */
};

static void load_release(struct load *l)
{
        for (unsigned i = 0; l->table && i < BUCKETS; i++) {
                for (struct known *k = l->table[i]; k;) {
                        struct known *next = k->next;
                        blob_unref(k->blob);
                        free(k);
                        k = next;
                }
        }
        free(l->table);
}

static struct known **lookup(struct load *l, const char *bucket, uint64_t id)
{
        struct known **at = &l->table[(id * 0x9e3779b97f4a7c15ULL) >> 48];

        while (*at && (blob_id((*at)->blob) != id || strcmp(blob_bucket((*at)->blob), bucket)))
                at = &(*at)->next;
        return at;
}

static struct blob *get_blob(void *arg, const char *bucket, uint64_t id)
{
        struct known **at = lookup(arg, bucket, id);

        if (!*at) {
                CLEANUP(freep) struct known *k = calloc(1, sizeof *k);
                struct load *l = arg;
                if (!k)
                        return NULL;
                k->blob = blob_new(l->v->data, bucket, id);
                if (!k->blob)
                        return NULL;
                *at = TAKE_PTR(k);
        }
        return blob_ref((*at)->blob);
}

/* A record that cannot be read is left alone, and said. */
static int read_record(struct load *l, const char *path, struct buf *text, struct object **out,
                       char *bucket)
{
        struct record_blobs blobs = {get_blob, l};
        int err = record_read(text, &blobs, out, bucket);

        if (err == -EBADMSG)
                log_warn("%s is no record of this program's; it is left out", path);
        return err;
}

static int load_object(void *arg, const char *path, const char *name, struct buf *text)
{
        CLEANUP(object_unrefp) struct object *o = NULL, *old = NULL;
        struct load *l = arg;

        (void)name;
        int err = read_record(l, path, text, &o, NULL);
        if (err || !o->key)
                return err == -ENOMEM ? err : 0;
        err = index_put(o->is_folder ? &l->bucket->folders : &l->bucket->index, object_ref(o),
                        &old);
        if (err)
                object_unref(o);
        return err;
}

static int load_objects(void *arg, const char *path, const char *name, struct buf *text)
{
        (void)name;
        (void)text;
        return data_walk(((struct load *)arg)->v->data, path, true, load_object, arg);
}

static int load_bucket(void *arg, const char *path, const char *name, struct buf *text)
{
        char index[DATA_PATH_MAX];
        struct load *l = arg;

        (void)path;
        (void)text;
        if (!object_store_bucket_name_ok(name))
                return 0;
        mutex_unshared(&l->v->mtx);
        int err = object_store_new_bucket_locked(l->v, name, &l->bucket);
        snprintf(index, sizeof index, "%s/index", name);
        if (!err)
                err = data_walk_dirs(l->v->data, index, load_objects, l);
        return err == -ENOENT ? 0 : err;
}

static int load_part(void *arg, const char *path, const char *name, struct buf *text)
{
        CLEANUP(object_unrefp) struct object *o = NULL, *old = NULL;
        struct load *l = arg;
        char *end;

        unsigned long number = strtoul(name, &end, 10);
        if (*end || !number || number > VAULT_PARTS_MAX)
                return 0;
        int err = read_record(l, path, text, &o, NULL);
        if (!err)
                err = upload_set_part(l->upload, (unsigned)number, o, &old);
        return err == -ENOMEM ? err : 0;
}

/* The upload that the record stands for, unless it was completed before the end. */
static int load_meta(void *arg, const char *path, const char *name, struct buf *text)
{
        CLEANUP(object_unrefp) struct object *o = NULL;
        struct load *l = arg;
        char bucket[64] = "";

        if (strcmp(name, "meta"))
                return 0;
        int err = read_record(l, path, text, &o, bucket);
        if (err || !o->key)
                return err == -ENOMEM ? err : 0;
        mutex_unshared(&l->v->mtx);
        struct bucket *b = object_store_bucket_locked(l->v, bucket);
        const struct object *made = b ? index_find(&b->index, o->key) : NULL;
        if (!b || (made && !strcmp(made->upload, o->upload)))
                return 0;
        return upload_insert(b, o, &l->upload);
}

static int load_upload(void *arg, const char *path, const char *name, struct buf *text)
{
        struct load *l = arg;

        (void)name;
        (void)text;
        l->upload = NULL;
        int err = data_walk(l->v->data, path, true, load_meta, l);
        if (err)
                return err;
        if (l->upload)
                return data_walk(l->v->data, path, true, load_part, l);
        data_remove(l->v->data, path);
        return 0;
}

static int sweep_blob(void *arg, const char *path, const char *name, struct buf *text)
{
        struct load *l = arg;
        char *end;

        (void)text;
        uint64_t id = strtoull(name, &end, 16);
        if (*end || !*lookup(l, l->bucket->name, id))
                data_remove(l->v->data, path);
        return 0;
}

static int sweep_blobs(void *arg, const char *path, const char *name, struct buf *text)
{
        (void)name;
        (void)text;
        return data_walk(((struct load *)arg)->v->data, path, false, sweep_blob, arg);
}

int object_store_load(struct object_store *v)
{
        CLEANUP(load_release) struct load l = {.v = v};
        char path[DATA_PATH_MAX];

        if (data_is_null(v->data))
                return 0;
        l.table = calloc(BUCKETS, sizeof *l.table);
        if (!l.table)
                return -ENOMEM;
        int err = data_walk_dirs(v->data, ".", load_bucket, &l);
        if (!err)
                err = data_walk_dirs(v->data, ".uploads", load_upload, &l);
        mutex_unshared(&v->mtx);
        for (l.bucket = v->buckets; !err && l.bucket; l.bucket = l.bucket->next) {
                snprintf(path, sizeof path, "%s/data", l.bucket->name);
                err = data_walk_dirs(v->data, path, sweep_blobs, &l);
        }
        return err;
}
