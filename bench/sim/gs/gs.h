/* SPDX-License-Identifier: Apache-2.0 */
/* gs.h: what the files of the second protocol share.
 *
 * The JSON API of Google Cloud Storage as its reference has it, with resumable sessions and
 * batches; what is not below its paths is the XML API, which is S3's with other names of headers
 * and is answered there. An operation is a row of the table in gs_dispatch.c. */
#ifndef CKPTFS_SIM_GS_H
#define CKPTFS_SIM_GS_H

#include "bench/sim/http/request.h"
#include "bench/sim/store/object.h"
#include "bench/sim/store/object_store.h"

struct json;

enum { GS_PAGE_MAX = 1000, GS_COMPOSE_MAX = 32, GS_BATCH_MAX = 100, GS_GRAIN = 256 << 10 };

/* --- replies (gs_reply.c) --- */

void gs_begin_headers(struct request *x);
/* An error of that status; reason and message NULL: the usual ones. */
void gs_refuse(struct request *x, int status, const char *reason, const char *message);
/* An error for a negative errno of the object store. */
void gs_fail(struct request *x, int err);
/* A reply with the JSON in x->body, or without a body. */
void gs_reply_json(struct request *x);
void gs_reply(struct request *x, int status);
/* A text in quotes. */
void gs_quote(struct buf *b, const char *text);
/* "name":"text", and "name":"number" as the vendor writes 64 bits; each with a comma behind. */
void gs_field(struct buf *b, const char *name, const char *text);
void gs_field_number(struct buf *b, const char *name, uint64_t n);
void gs_field_time(struct buf *b, const char *name, int64_t ns);
/* Takes back the comma behind the last. */
void gs_end_list(struct buf *b);
/* Adds the resource of an object, {...}, to x->body. crc NULL: what is known. */
void gs_resource(struct request *x, const char *bucket, const struct object *o, const char *crc);
void gs_folder_resource(struct buf *b, const char *bucket, const struct object *o);
void gs_reply_object(struct request *x, const struct object *o, const char *crc);

/* auth.c: true when the reply is set to an error. */
bool bearer_denied(struct service *s, struct request *x);

/* --- requests --- */

/* Whether the bucket's requesters pay, and this one names no project that does. */
#define GS_UNPAID "Bucket is a requester pays bucket but no user project provided."
bool gs_is_unpaid(const struct service *s, const struct request *x);
/* A number of the query; `other` when it is absent. -1 with the reply set for no such number. */
int64_t gs_number(struct request *x, const char *name, int64_t other);
/* The preconditions: ifGenerationMatch and its kin, `prefix` "if" or "ifSource". True when the
 * reply is set to an error. */
bool gs_bad_cond(struct request *x, const char *prefix, struct object_store_cond *cond);
/* Reads a description; none (*j NULL) for an empty text. True when the reply is set to an error. */
bool gs_bad_json(struct request *x, const char *text, size_t n, struct json **j);
/* Takes what a resource says of an object into `o`, over what it has. True as above. */
bool gs_bad_metadata(struct request *x, struct object *o, const struct json *resource);
/* Whether no object may have that name. True as above. */
bool gs_bad_key(const struct service *s, struct request *x, const char *key);
/* Takes the name of the description where the query has none. True as above. */
bool gs_bad_name(const struct service *s, struct request *x, const struct json *resource);
#define GS_KMS_KEY       "x-goog-encryption-kms-key-name"
#define GS_CLASS         "x-goog-storage-class" /* of an object, unless it is that of its bucket: */
#define GS_DEFAULT_CLASS "STANDARD"
/* Puts `o` and answers with it; crc as of gs_resource(). */
void gs_put(struct service *s, struct request *x, struct object *o,
            const struct object_store_cond *cond, const char *crc);
int gs_take_kms_key(const struct request *x, const char *param, struct object *o);
/* The type, where the object has none. */
int gs_default_type(struct object *o, const char *type);
/* Whether the request finds wrong what the testbench has noted in the metadata of an object that
 * came in one request. True as above. */
bool gs_bad_note(struct request *x, const struct object *o);
/* gs_key.c. Takes the customer's key that the request gives to the object. True when the reply is
 * set to an error. */
bool gs_bad_encryption(const struct service *s, struct request *x, struct object *o);
/* Whether the vendor would unpack the object for the request: "If the request for the object does
 * not include an Accept-Encoding: gzip header, Cloud Storage decompresses the object" that is kept
 * with gzip encoding, unless its Cache-Control has no-transform ("Transcoding of gzip-compressed
 * files"). Nothing is unpacked here, and such a request is refused. */
bool gs_unpacks(const struct request *x, const struct object *o);
/* Whether the key that is given is not the object's; *missing: it has one, and none is given. */
bool gs_key_is_wrong(struct request *x, const struct object *o, bool of_source, bool *missing);
/* The same, and one that is missing is an error. */
bool gs_key_is_missing(struct request *x, const struct object *o, bool of_source);
/* The object that is there, and is as cond says (NULL: any), of generation `gen` (-1: the present
 * one). NULL with the reply set; `reading`: 304 where nothing has changed. */
struct object *gs_find(struct service *s, struct request *x, const char *bucket, const char *key,
                       int64_t gen, const struct object_store_cond *cond, bool reading);

/* --- operations --- */

typedef void gs_fn(struct service *s, struct request *x);
gs_fn gs_bucket_get, gs_bucket_insert, gs_bucket_delete, gs_storage_layout;
gs_fn gs_get, gs_media, gs_delete, gs_patch, gs_list;
gs_fn gs_begin_insert, gs_insert;
gs_fn gs_session_create, gs_begin_chunk, gs_chunk, gs_session_cancel;
gs_fn gs_rewrite, gs_copy, gs_compose, gs_move;
gs_fn gs_batch;
gs_fn gs_folder_insert, gs_folder_get, gs_folder_delete, gs_folder_list, gs_folder_rename,
        gs_operation_get;

#endif
