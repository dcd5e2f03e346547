/* SPDX-License-Identifier: Apache-2.0 */
/* object_store.h: buckets of objects and unfinished uploads. Knows no protocol.
 *
 * What can be looked up is in memory; with a directory (data.h), records keep it over a restart.
 * Thread-safe: one lock, held for index work, one rename and one page of a list at most. Bytes are
 * not touched under it. Errors are negative errnos: -ENOENT (object or upload), -ENXIO (bucket),
 * -EEXIST (bucket, folder), -ENOTEMPTY, -ESTALE or -EALREADY (a condition failed: something else
 * is there, or what was not to be), -EBUSY (see vault_pace_names()), -ENOMEM or the disk's. */
#ifndef CKPTFS_SIM_OBJECT_STORE_H
#define CKPTFS_SIM_OBJECT_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/sim/store/object.h"

struct vault;
struct data;

enum { VAULT_PARTS_MAX = 10000 };

/* What the present version must be for a change to be made; -ENOENT when if_match finds no object
 * at all. All zero: anything. */
enum { VAULT_GEN = 1, VAULT_GEN_NOT = 2, VAULT_META = 4, VAULT_META_NOT = 8 };
struct vault_cond {
        const char *if_match, *if_none_match; /* lists of ETags, or NULL */
        const struct object *present;         /* this very version, or NULL */
        unsigned has;                         /* which of the following hold */
        int64_t gen, gen_not, meta, meta_not; /* generation 0: there is no object */
};
/* Whether `now` (NULL: no object) is as cond says; cond NULL: it is. Pure. */
int vault_check(const struct object *now, const struct vault_cond *cond);

/* Reads back what the directory holds and removes what a crash left. `d` stays the caller's. */
int vault_open(struct data *d, struct vault **out);
void vault_close(struct vault *v);
struct data *vault_data(struct vault *v);

bool vault_bucket_name_ok(const char *name);
int vault_add_bucket(struct vault *v, const char *bucket);
int vault_remove_bucket(struct vault *v, const char *bucket);
bool vault_has_bucket(struct vault *v, const char *bucket);
typedef int vault_bucket_fn(void *arg, const char *bucket);
int vault_buckets(struct vault *v, vault_bucket_fn *fn, void *arg);

/* The present version, referenced. */
int vault_get(struct vault *v, const char *bucket, const char *key, struct object **out);
/* Makes `o` (with its key, bytes and metadata) the present version; gives it its ETag, unless it
 * has one, and time. Takes no reference of the caller's. */
int vault_put(struct vault *v, const char *bucket, struct object *o, const struct vault_cond *cond);
/* Puts empty objects PREFIX00000000 on where none are, in memory alone; `what` is "PREFIX=N". 0,
 * -EINVAL, -ENXIO (no such bucket) or -ENOMEM. */
int vault_fill(struct vault *v, const char *bucket, const char *what);
int vault_delete(struct vault *v, const char *bucket, const char *key,
                 const struct vault_cond *cond);
/* Replaces the metadata: `o`, an object_clone() of cond->present with other metadata, takes its
 * place with the same generation, and the next metageneration. */
int vault_update(struct vault *v, const char *bucket, struct object *o,
                 const struct vault_cond *cond);
/* Replaces `to` by what is under `from`, which is gone then, at once. *out: the new version; with
 * keep it is the same one under another name. */
struct vault_move {
        const char *from, *to;
        const struct vault_cond *from_cond, *to_cond;
        bool keep;
};
int vault_move(struct vault *v, const char *bucket, const struct vault_move *m,
               struct object **out);

/* From here on a version can be replaced, or its metadata changed, only when it is so old: -EBUSY
 * before that. */
void vault_pace_names(struct vault *v, uint64_t pause_ns);

/* From here on, versions that are replaced or deleted stay readable until the server ends. */
void vault_keep_versions(struct vault *v);
bool vault_keeps_versions(const struct vault *v);
/* The version with that generation, present or kept, referenced. */
int vault_get_version(struct vault *v, const char *bucket, const char *key, int64_t generation,
                      struct object **out);

/* One page of a list, by bytes of the key. fn sees an object, or a common prefix, which ends with
 * delim; it runs under the lock. `after`: keys behind this one; where it is a common prefix, behind
 * all it stands for. A page ends after max entries; *more says whether there are others. */
struct vault_list {
        const char *prefix, *delim, *after; /* "" for none */
        const char *from, *until;           /* keys not below this, and below that; NULL for none */
        bool folders;                       /* folders show as the common prefixes they are */
        unsigned max;
        int (*fn)(void *arg, const struct object *o, const char *common, size_t ncommon);
        void *arg;
        bool more;
};
int vault_list(struct vault *v, const char *bucket, struct vault_list *l);

/* --- folders, where the buckets have them: names end with '/' --- */

/* From here on every bucket has folders: an object makes those above it. Before vault_open() has
 * loaded objects nothing is known of them, so it is called on a fresh vault, right after it. */
int vault_use_folders(struct vault *v);
bool vault_has_folders(const struct vault *v);
/* -EEXIST; -ENOENT where the folder above is missing, unless `parents` makes it. */
int vault_folder_create(struct vault *v, const char *bucket, const char *name, bool parents);
int vault_folder_get(struct vault *v, const char *bucket, const char *name, struct object **out);
/* -ENOTEMPTY when objects or folders are in it. */
int vault_folder_delete(struct vault *v, const char *bucket, const char *name,
                        const struct vault_cond *cond);
/* Renames it with all that is in it, at once. -EEXIST where `to` is. */
int vault_folder_rename(struct vault *v, const char *bucket, const char *from, const char *to);
/* As vault_list(), of folders. */
int vault_folders(struct vault *v, const char *bucket, struct vault_list *l);

/* --- uploads: an upload is named by bucket, key and id --- */

struct vault_upload {
        const char *bucket, *key, *id;
};
/* Begins one; `o` brings key and metadata. id is written. */
int vault_upload_create(struct vault *v, const char *bucket, struct object *o,
                        char id[UPLOAD_ID_MAX]);
/* What the upload was begun with, referenced; -ENOENT. */
int vault_upload_head(struct vault *v, const struct vault_upload *up, struct object **out);
/* -ENOENT when there is none. */
int vault_upload_check(struct vault *v, const struct vault_upload *up);
/* Makes `o` part `number` (1..VAULT_PARTS_MAX) in place of an earlier one; gives it ETag and time.
 */
int vault_upload_put(struct vault *v, const struct vault_upload *up, unsigned number,
                     struct object *o);
/* The part, referenced; -ENOENT, -ESRCH for a part that was not sent. */
int vault_upload_part(struct vault *v, const struct vault_upload *up, unsigned number,
                      struct object **out);
/* Ends it: `o`, put together from the parts by the caller, becomes the object unless cond fails;
 * then the upload stays. o gets key, metadata and ETag ("...-nparts"); dated_begin: and the time at
 * which the upload was begun. */
int vault_upload_complete(struct vault *v, const struct vault_upload *up, struct object *o,
                          unsigned nparts, bool dated_begin, const struct vault_cond *cond);
int vault_upload_abort(struct vault *v, const struct vault_upload *up);
/* Parts in order of number, from the first above `after`; fn under the lock, non-zero ends. */
typedef int vault_part_fn(void *arg, unsigned number, const struct object *part);
int vault_upload_parts(struct vault *v, const struct vault_upload *up, unsigned after,
                       vault_part_fn *fn, void *arg);
/* Uploads of a bucket with that prefix, by key, then id, from the first behind (key, id). */
typedef int vault_upload_fn(void *arg, const struct vault_upload *up, int64_t begun_ns);
int vault_uploads(struct vault *v, const char *bucket, const char *prefix, const char *after_key,
                  const char *after_id, vault_upload_fn *fn, void *arg);

#endif
