/* SPDX-License-Identifier: Apache-2.0 */
/* gcs_upload.h: what the files of GCS about uploads in parts share: see gcs_upload.c. */
#ifndef CKPTFS_STORE_GCS_UPLOAD_H
#define CKPTFS_STORE_GCS_UPLOAD_H

#include "store/gcs/gcs.h"

#define GCS_TMP ".ckptfs/tmp/"

/* gcs_upload.c */
bool gcs_composed(const char *id);
/* The store's prefix, GCS_TMP and `rest`. */
int gcs_tmp_name(struct buf *name, const struct store_kind *k, const char *rest);
/* The object of ours that stands for the upload. */
int gcs_upload_name(struct buf *name, const struct store_kind *k, const char *id, const char *key);
/* The same for an op, which may be to complete it under another key than it was begun with. */
int gcs_own_name(struct buf *name, const struct store_kind *k, const char *id, const struct op *op);
/* The other way round for a multipart upload, its id without that of the server: 0, -ENOMEM, or
 * -EINVAL for what is not the name of one. Where the name has no room for the key, it is told
 * instead, and leads back to itself. */
int gcs_unparsed_name(const struct store_kind *k, const char *name, struct buf *id,
                      struct buf *key);
/* Whether the name is that of a piece of the composed upload. */
bool gcs_is_piece(const struct store_kind *k, const char *name, const char *id);
/* Another name of op->keys. 0 or -ENOMEM. */
int gcs_add_key(struct op *op, const char *name);
/* An entry of the list of uploads, unless it is for a key outside of what was asked for. */
int gcs_add_upload(struct op *op, const char *key, const char *id, int64_t time_ns);

/* gcs_multipart.c, gcs_compose.c, gcs_resumable.c: to build and to parse, by what is asked. */
/* What was completed under a name of ours is looked at, then moved: OP_AGAIN or -ENOMEM. */
int gcs_multipart_look(struct store_kind *k, struct op *op);
op_build_fn gcs_multipart_create, gcs_multipart_part, gcs_multipart_build, gcs_multipart_abort,
        gcs_multipart_parts, gcs_multipart_uploads;
op_parse_fn gcs_multipart_created, gcs_multipart_parted, gcs_multipart_parse, gcs_multipart_aborted,
        gcs_multipart_listed, gcs_multipart_uploads_parse;
/* Entries from `from` on: names of ours become the keys they are for. 0 or -ENOMEM. */
int gcs_multipart_translate(struct store_kind *k, struct op *op, size_t from);
op_build_fn gcs_compose_create, gcs_compose_part, gcs_compose_build, gcs_compose_abort,
        gcs_compose_parts;
op_parse_fn gcs_compose_created, gcs_compose_parted, gcs_compose_parse, gcs_compose_aborted,
        gcs_compose_listed;
op_build_fn gcs_resumable_create, gcs_resumable_part, gcs_resumable_build, gcs_resumable_abort,
        gcs_resumable_parts;
op_parse_fn gcs_resumable_created, gcs_resumable_parted, gcs_resumable_parse, gcs_resumable_aborted,
        gcs_resumable_listed;

#endif
