/* SPDX-License-Identifier: Apache-2.0 */
/* object_store.h: buckets of objects and unfinished uploads. Knows no protocol.
 *
 * What can be looked up is in memory; with a directory (data.h), records keep it over a restart.
 * Thread-safe: one lock, held for index work, one rename and one page of a list at most. Bytes are
 * not touched under it. Errors are negative errnos: -ENOENT (object or upload), -ENXIO (bucket),
 * -EEXIST (bucket, folder), -ENOTEMPTY, -ESTALE or -EALREADY (a condition failed: something else
 * is there, or what was not to be), -EBUSY (see object_store_pace_names()), -EPERM
 * (see object_store_retain()), -ENOMEM or the disk's.
 */
#ifndef CKPTFS_SIM_OBJECT_STORE_H
#define CKPTFS_SIM_OBJECT_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/sim/store/object.h"

struct object_store;
struct data;

enum { VAULT_PARTS_MAX = 10000 };

/* What the present version must be for a change to be made; -ENOENT when if_match finds no object
 * at all. All zero: anything. */
enum { VAULT_GEN = 1, VAULT_GEN_NOT = 2, VAULT_META = 4, VAULT_META_NOT = 8 };
struct object_store_cond {
        const char *if_match, *if_none_match; /* lists of ETags, or NULL */
        const struct object *present;         /* this very version, or NULL */
        unsigned has;                         /* which of the following hold */
        int64_t gen, gen_not, meta, meta_not; /* generation 0: there is no object */
};
/* Whether `now` (NULL: no object) is as cond says; cond NULL: it is. Pure. */
int object_store_check(const struct object *now, const struct object_store_cond *cond);

/* Reads back what the directory holds and removes what a crash left. `d` stays the caller's. */
int object_store_open(struct data *d, struct object_store **out);
void object_store_close(struct object_store *v);
struct data *object_store_data(struct object_store *v);

bool object_store_bucket_name_ok(const char *name);
int object_store_add_bucket(struct object_store *v, const char *bucket);
int object_store_remove_bucket(struct object_store *v, const char *bucket);
bool object_store_has_bucket(struct object_store *v, const char *bucket);
typedef int object_store_bucket_fn(void *arg, const char *bucket);
int object_store_buckets(struct object_store *v, object_store_bucket_fn *fn, void *arg);

/* The present version, referenced. */
int object_store_get(struct object_store *v, const char *bucket, const char *key,
                     struct object **out);
/* Makes `o` (with its key, bytes and metadata) the present version; gives it its ETag, unless it
 * has one, and time. Takes no reference of the caller's. */
int object_store_put(struct object_store *v, const char *bucket, struct object *o,
                     const struct object_store_cond *cond);
/* Puts objects PREFIX00000000 on where none are, in memory alone; `what` is "PREFIX=N", for empty
 * ones, or in null mode "PREFIX=N,SIZE". 0, -EINVAL, -ENXIO (no such bucket) or -ENOMEM. */
int object_store_fill(struct object_store *v, const char *bucket, const char *what);
int object_store_delete(struct object_store *v, const char *bucket, const char *key,
                        const struct object_store_cond *cond);
/* Replaces the metadata: `o`, an object_clone() of cond->present with other metadata, takes its
 * place with the same generation, and the next metageneration; dated: and with the time of now. */
int object_store_update(struct object_store *v, const char *bucket, struct object *o,
                        const struct object_store_cond *cond, bool dated);
/* Replaces `to` by what is under `from`, which is gone then, at once. *out: the new version; with
 * same_version it is the same one under another name. */
struct object_store_move {
        const char *from, *to;
        const struct object_store_cond *from_cond, *to_cond;
        bool same_version;
};
int object_store_move(struct object_store *v, const char *bucket, const struct object_store_move *m,
                      struct object **out);

/* From here on a version can be replaced, or its metadata changed, only when it is so old: -EBUSY
 * before that. */
void object_store_pace_names(struct object_store *v, uint64_t pause_ns);
/* From here on a version can be replaced, deleted or moved only when it is so old: -EPERM before
 * that. */
void object_store_retain(struct object_store *v, uint64_t retention_ns);

/* From here on the ETag depends on the bytes, and on the number of parts, alone. */
void object_store_use_content_etags(struct object_store *v);

/* From here on, versions that are replaced or deleted stay readable until the server ends. */
void object_store_enable_versions(struct object_store *v);
bool object_store_has_versions(const struct object_store *v);
/* The version with that generation, present or kept, referenced. */
int object_store_get_version(struct object_store *v, const char *bucket, const char *key,
                             int64_t generation, struct object **out);

/* Deletes that version for good, present or kept; one that is not there is no error. */
int object_store_delete_version(struct object_store *v, const char *bucket, const char *key,
                                int64_t generation);

/* One page of a list, by bytes of the key. fn sees an object, or a common prefix, which ends with
 * delim; it runs under the lock. `after`: keys behind this one; where it is a common prefix, behind
 * all it stands for. A page ends after max entries, which may be none; *more says whether there are
 * others. */
struct object_store_list {
        const char *prefix, *delim, *after; /* "" for none */
        const char *from, *until;           /* keys not below this, and below that; NULL for none */
        bool folders;                       /* folders show as the common prefixes they are */
        unsigned max;
        int (*fn)(void *arg, const struct object *o, const char *common, size_t ncommon);
        void *arg;
        bool more;
};
int object_store_list(struct object_store *v, const char *bucket, struct object_store_list *l);

/* --- folders, where the buckets have them: names end with '/' --- */

/* From here on every bucket has folders: an object makes those above it. Before object_store_open()
 * has loaded objects nothing is known of them, so it is called right after it.
 */
int object_store_use_folders(struct object_store *v);
bool object_store_has_folders(const struct object_store *v);
/* -EEXIST; -ENOENT where the folder above is missing, unless `parents` makes it. */
int object_store_folder_create(struct object_store *v, const char *bucket, const char *name,
                               bool parents);
int object_store_folder_get(struct object_store *v, const char *bucket, const char *name,
                            struct object **out);
/* -ENOTEMPTY when objects or folders are in it. */
int object_store_folder_delete(struct object_store *v, const char *bucket, const char *name,
                               const struct object_store_cond *cond);
/* Renames it with all that is in it, at once. -EEXIST where `to` is. */
int object_store_folder_rename(struct object_store *v, const char *bucket, const char *from,
                               const char *to);
/* As object_store_list(), of folders. */
int object_store_folders(struct object_store *v, const char *bucket, struct object_store_list *l);

/* --- uploads: an upload is named by bucket, key and id --- */

struct object_store_upload {
        const char *bucket, *key, *id;
};
/* Begins one; `o` brings key and metadata. id is written. */
int object_store_upload_create(struct object_store *v, const char *bucket, struct object *o,
                               char id[UPLOAD_ID_MAX]);
/* What the upload was begun with, referenced; -ENOENT. */
int object_store_upload_head(struct object_store *v, const struct object_store_upload *up,
                             struct object **out);
/* -ENOENT when there is none. */
int object_store_upload_check(struct object_store *v, const struct object_store_upload *up);
/* Makes `o` part `number` (1..VAULT_PARTS_MAX) in place of an earlier one; gives it ETag and time.
 */
int object_store_upload_put(struct object_store *v, const struct object_store_upload *up,
                            unsigned number, struct object *o);
/* The part, referenced; -ENOENT, -ESRCH for a part that was not sent. */
int object_store_upload_part(struct object_store *v, const struct object_store_upload *up,
                             unsigned number, struct object **out);
/* Ends it: `o`, put together from the parts by the caller, becomes the object unless cond fails;
 * then the upload stays. o gets key, metadata and ETag ("...-nparts"); dated_begin: and the time at
 * which the upload was begun. */
int object_store_upload_complete(struct object_store *v, const struct object_store_upload *up,
                                 struct object *o, unsigned nparts, bool dated_begin,
                                 const struct object_store_cond *cond);
int object_store_upload_abort(struct object_store *v, const struct object_store_upload *up);
/* Parts in order of number, from the first above `after`; fn under the lock, non-zero ends. */
typedef int object_store_part_fn(void *arg, unsigned number, const struct object *part);
int object_store_upload_parts(struct object_store *v, const struct object_store_upload *up,
                              unsigned after, object_store_part_fn *fn, void *arg);
/* Uploads of a bucket with that prefix, by key, then id, from the first behind (key, id). */
typedef int object_store_upload_fn(void *arg, const struct object_store_upload *up,
                                   int64_t begun_ns);
int object_store_uploads(struct object_store *v, const char *bucket, const char *prefix,
                         const char *after_key, const char *after_id, object_store_upload_fn *fn,
                         void *arg);

#endif
