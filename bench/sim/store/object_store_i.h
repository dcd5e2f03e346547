/* SPDX-License-Identifier: Apache-2.0 */
/* object_store_i.h: what the files of the object store share. */
#ifndef CKPTFS_SIM_OBJECT_STORE_I_H
#define CKPTFS_SIM_OBJECT_STORE_I_H

#include "base/mutex.h"
#include "bench/sim/store/data.h"
#include "bench/sim/store/index.h"
#include "bench/sim/store/object_store.h"

struct part {
        unsigned number;
        struct object *o;
};

/* o brings key, metadata and time of the object to be; its `upload` is the id. */
struct upload {
        struct upload *next;
        struct object *o;
        unsigned nparts, cap;
        struct part *parts; /* by number */
};

struct bucket {
        struct bucket *next;
        struct index index;
        struct index old;       /* versions kept, under KEY#GENERATION */
        struct index folders;   /* of a bucket with folders (object_store_folder.c) */
        struct upload *uploads; /* by key, then id */
        char name[64];
};

struct object_store {
        struct data *data;
        bool versions, folders, content_etags; /* set before the server starts */
        uint64_t name_pause_ns;                /* the same */
        uint64_t retention_ns;                 /* the same */
        struct mutex mtx;                      /* guards what is in the buckets, too */
        struct bucket *buckets GUARDED_BY(&mtx);
};

struct bucket *object_store_bucket_locked(struct object_store *v, const char *name)
        REQUIRES(&v->mtx);
/* Adds it in memory. */
int object_store_new_bucket_locked(struct object_store *v, const char *name, struct bucket **out)
        REQUIRES(&v->mtx);
/* Makes o, staged in tmp, the present version; *old is then the caller's to let go of. */
int object_store_replace_locked(struct object_store *v, struct bucket *b, struct object *o,
                                const char *tmp, const struct object_store_cond *cond,
                                struct object **old) REQUIRES(&v->mtx);
/* Writes o's record aside; nothing in null mode. */
int object_store_stage(struct object_store *v, const struct object *o, char tmp[DATA_TMP_MAX]);
/* Makes o, as it is, the present version. */
int object_store_store(struct object_store *v, const char *bucket, struct object *o,
                       const struct object_store_cond *cond);
/* Takes the present version out, with its record; it is then the caller's. NULL: there is none. */
struct object *object_store_take_locked(struct object_store *v, struct bucket *b, const char *key)
        REQUIRES(&v->mtx);

/* object_store_version.c: keeps `old` (NULL: nothing) where that is asked for, unless its
 * generation is the one that takes its place. Without memory it is let go of. */
void version_archive_locked(struct object_store *v, struct bucket *b, const struct object *old,
                            int64_t generation) REQUIRES(&v->mtx);
/* -EPERM for a version (NULL: none) that is too young to be deleted or replaced. */
int version_retained(const struct object_store *v, const struct object *now);
/* -EBUSY for a present version (NULL: none) that is too young to be replaced by o. */
int version_pace(const struct object_store *v, const struct object *now, const struct object *o);
/* object_store_folder.c: the folders above a key; nothing where the bucket has none. */
int folder_make_parents_locked(struct object_store *v, struct bucket *b, const char *key)
        REQUIRES(&v->mtx);

/* With the object store's lock, which the bucket does not know. */
int upload_insert(struct bucket *b, struct object *o, struct upload **out);
int upload_set_part(struct upload *u, unsigned number, struct object *o, struct object **old);
void upload_free(struct upload *u);

void object_store_stamp(struct object_store *v, struct object *o, unsigned nparts);
/* Of the generation that it has. */
void object_store_stamp_etag(const struct object_store *v, struct object *o, unsigned nparts);
int object_store_load(struct object_store *v);

#endif
