/* SPDX-License-Identifier: Apache-2.0 */
/* gcs.h: what the files of the Google Cloud Storage kind share.
 *
 * The JSON API serves all but multipart uploads, which only the XML API has. A version is named by
 * its generation, in decimal, where S3 has an ETag. */
#ifndef CKPTFS_STORE_GCS_H
#define CKPTFS_STORE_GCS_H

#include "base/text/json.h"
#include "base/text/uri.h"
#include "store/cred/cred.h"
#include "store/core/customer_key.h"
#include "store/core/ops.h"
#include "store/core/xml_reply.h"

struct store_kind {
        struct cred_chain *creds;
        char *bucket;
        char *prefix;          /* "" or with a '/' at its end */
        char *endpoint;        /* "https://host[:port]" without a '/' at its end */
        bool emulator;         /* not the vendor's, which is known by its name */
        char *billing_project; /* or NULL */
        char *kms_key;         /* or NULL */
        struct customer_key csek;
        bool keys;   /* HMAC: all requests are of the XML API */
        long skew_s; /* atomic: the server's clock less ours; keys sign the time */
        enum store_way upload;
        bool folders;       /* atomic: the bucket has a hierarchical namespace */
        bool zonal;         /* atomic: it is in a zone */
        bool no_move;       /* atomic: the server has no moveTo */
        bool moves;         /* atomic: it has, it was seen */
        bool no_batch;      /* atomic: it takes no batches */
        bool no_multipart;  /* atomic: nor multipart uploads */
        bool shows_markers; /* atomic: listings have the objects of prefixes, it was seen */
};

/* An exchange in the making. Strings are borrowed until gcs_send() returns. */
enum { GCS_METAGENERATION_LEN = 21 };
struct gcs_msg {
        enum http_method method;
        struct buf path; /* as on the wire, from the first '/' on */
        struct uri_pair query[12];
        size_t nquery;
        struct uri_pair header[OP_HEADERS_MAX];
        size_t nheader;
        const struct buf *text; /* the body, of `type` */
        const char *type;
        bool xml;                                    /* of the XML API */
        char metageneration[GCS_METAGENERATION_LEN]; /* as one of these says it */
};
#define GCS_MSG(method_)                                                                           \
        {                                                                                          \
                .method = (method_), .path = BUF_INIT                                              \
        }
void gcs_msg_release(struct gcs_msg *m);
void gcs_query(struct gcs_msg *m, const char *name, const char *value);
void gcs_header(struct gcs_msg *m, const char *name, const char *value);

/* gcs_request.c: paths, and the exchange. All return 0 or a negative errno. */
/* "/storage/v1/b/BUCKET" and `rest`. */
int gcs_bucket_path(struct buf *path, const struct store_kind *k, const char *rest);
/* "/storage/v1/b/BUCKET/o/KEY". */
int gcs_object_path(struct buf *path, const struct store_kind *k, const char *key);
/* Appends what the query of an inner request of a batch says: the generation that it is for, unless
 * NULL, and who pays. */
void gcs_batch_query(struct buf *path, const struct store_kind *k, const char *generation);
/* The key of the customer, if there is one, for an object that is read or written, or for the
 * source of a copy. */
void gcs_csek(struct gcs_msg *m, const struct store_kind *k);
void gcs_csek_source(struct gcs_msg *m, const struct store_kind *k);
/* The key that what is written is encrypted with: Google's, by the name that the call has for it,
 * or the customer's. */
void gcs_kms(struct gcs_msg *m, const struct store_kind *k, const char *name);
/* Fills op->rq but for a body that m->text is not. */
int gcs_send(struct store_kind *k, struct op *op, struct gcs_msg *m);
/* The conditions on the object that is written, and on the source of a copy. */
void gcs_cond(struct gcs_msg *m, const struct op *op);
/* The metageneration that a change of them replaces; false: there is no condition on it. */
bool gcs_metageneration(const struct op *op, char text[GCS_METAGENERATION_LEN]);

/* gcs_xml.c: the XML API. Of a kind with k->keys the functions above and below lead there. */
enum { GCS_HASH_LEN = 24 };
#define GCS_TYPE "application/octet-stream"
/* "/BUCKET/KEY"; key NULL: the bucket. */
int gcs_xml_path(struct gcs_msg *m, const struct store_kind *k, const char *key);
/* Adds the signature of all headers of `m`, and those that it needs, to op->rq. */
int gcs_xml_sign(const struct store_kind *k, struct op *op, struct gcs_msg *m,
                 const struct cred *cred);
/* Metadata, which may take the place of m->type (-EINVAL: none that headers carry), and checksum as
 * headers; `names` and `text` live as long as `m`. */
int gcs_xml_meta(struct gcs_msg *m, const struct store_meta *meta, struct buf *names);
/* Whether headers carry it as it is: "non-ascii characters [...] are not permitted in HTTP headers,
 * which the XML API uses" (Cloud Storage, "Object metadata"), and names of headers have no case. */
bool gcs_is_header_text(const char *value);
bool gcs_meta_fits_headers(const struct store_meta *meta);
void gcs_xml_hash(struct gcs_msg *m, uint32_t crc32c, char text[GCS_HASH_LEN]);
/* Reads op->obj from the headers of a reply: 0, or OP_RETRY without a generation. */
int gcs_xml_resource(struct op *op);
int gcs_xml_head(struct store_kind *k, struct op *op, const char *key);
int gcs_xml_put(struct store_kind *k, struct op *op, const char *key);
int gcs_xml_delete(struct store_kind *k, struct op *op, const char *key, const char *generation);
int gcs_xml_copy(struct store_kind *k, struct op *op, const char *from);
int gcs_xml_list(struct store_kind *k, struct op *op, const char *prefix, const char *delim,
                 const char *continuation);
op_build_fn gcs_xml_delete_many;
op_parse_fn gcs_xml_copied, gcs_xml_listed, gcs_xml_deleted;

/* gcs_error.c: as their namesakes of S3. */
bool gcs_ok(const struct op *op);
int gcs_fault(struct store_kind *k, struct op *op);
/* Whether a retention policy refused it: "all current and future objects in the bucket cannot be
 * deleted or replaced until they reach the age you define in the policy" (Cloud Storage, "Bucket
 * Lock"). */
bool gcs_is_retained(const struct op *op);
/* What a status and a reason mean, as gcs_fault() returns it. */
int gcs_meaning(int status, const char *reason, bool if_absent);
void gcs_explain(struct store_kind *k, const struct op *op, int err, char *why, size_t nwhy);

/* gcs_reply.c */
/* The reply's body, an object. 0, -ENOMEM, or OP_RETRY for what is none. */
int gcs_json(struct op *op, struct json **out);
/* From an object's resource; false for what is none: no name or no generation. */
bool gcs_resource(const struct json *j, struct store_object *out);
/* Adds "metadata" to a resource, and the fields of headers; *made, unless NULL, is where more can
 * be added. */
int gcs_add_meta(struct json *to, const struct store_meta *meta, struct json **made);
/* The type of what is written, unless `meta`, which may be NULL, has it. */
int gcs_add_type(struct json *to, const struct store_meta *meta);
void gcs_object(struct store_kind *k, const struct http_req *rq, struct store_object *out);
/* Reads op->obj from a resource that must be that of `key`, or from headers of the XML API. */
int gcs_read_resource(struct op *op, const char *key);
extern const char gcs_fields[], gcs_page_fields[]; /* those that are read */
enum { GCS_OUR_META = 8 };
extern const char *const gcs_our_meta[GCS_OUR_META]; /* names that this program gives and takes */

/* Names the key, without the store's prefix, that a composed upload is for. */
#define GCS_META_FOR "ckptfs-for"

/* gcs_insert.c: an object in one request. `upload_for`, unless NULL, goes into GCS_META_FOR. */
int gcs_insert(struct store_kind *k, struct op *op, const char *key, const char *upload_for);
/* After the reply: op->obj is the new object; its checksum is compared. */
int gcs_inserted(struct store_kind *k, struct op *op, const char *key);
op_build_fn gcs_put_build;
op_parse_fn gcs_put_parse;

/* Exchanges of an op that takes several: op->stage. */
enum gcs_stage {
        GCS_BEGIN,
        GCS_MOVE,    /* moveTo */
        GCS_PROBE,   /* is the source there? */
        GCS_REWRITE, /* rewriteTo, until it is done */
        GCS_UNLINK,  /* deletes the source, or the folder of the pieces */
        GCS_LOOK,    /* at what was uploaded, before it is moved */
        GCS_COMPOSE, /* a step of it */
        GCS_CLEAN,   /* deletes pieces */
        GCS_XML,     /* pages of the XML API */
        GCS_FOLDER,  /* is there a folder of the name of an empty listing? */
        GCS_LAYOUT,  /* of the bucket */
        GCS_VERIFY,  /* is the target what the op means to make? */
        GCS_COPIED   /* the same, and then the source is deleted */
};

/* gcs_verify.c: a change whose reply was lost is looked into: as s3_verify.c. */
int gcs_verify_begin(struct op *op, int err);
int gcs_verify_build(struct store_kind *k, struct op *op);
/* Whether the object is of op->expect's size and checksum, with the metadata that was given. */
int gcs_verify_parse(struct store_kind *k, struct op *op);

/* gcs_object.c */
int gcs_head(struct store_kind *k, struct op *op, const char *key);
op_build_fn gcs_head_build, gcs_get_build, gcs_delete_build;
op_parse_fn gcs_head_parse, gcs_get_parse, gcs_delete_parse;

/* gcs_copy.c */
struct gcs_way {
        const char *from, *generation, *to; /* NULL: any generation */
};
/* Copies an object to a name of ours, with its metadata, and never by the XML API. */
int gcs_rewrite_piece(struct store_kind *k, struct op *op, const struct gcs_way *way);
/* After the reply to either: op->obj is the object `to`, once all of it is copied. */
int gcs_rewritten(struct store_kind *k, struct op *op, const char *to);
/* From GCS_MOVE on these serve whatever op makes op->key of op->src. */
op_build_fn gcs_copy_build, gcs_rename_build, gcs_set_meta_build;
op_parse_fn gcs_copy_parse, gcs_rename_parse, gcs_set_meta_parse;

/* gcs_upload.c */
op_build_fn gcs_create_build, gcs_part_build, gcs_part_copy_build, gcs_complete_build,
        gcs_abort_build, gcs_parts_build, gcs_uploads_build;
op_parse_fn gcs_create_parse, gcs_part_parse, gcs_part_copy_parse, gcs_complete_parse,
        gcs_abort_parse, gcs_parts_parse, gcs_uploads_parse;

/* The most of a name where folders are real: "Folder name: [...] maximum size of 512 bytes", "Base
 * name: [...] maximum size of 512 bytes" (Cloud Storage, "Object name requirements"). */
enum { GCS_FOLDER_NAME_MAX = 512, GCS_FOLDERS_MAX = 50 };

/* gcs_folder.c: what is made, asked for and deleted is a folder where gcs_is_folder(). */
bool gcs_is_folder(const struct store_kind *k, const char *key);
int gcs_folder_path(struct buf *path, const struct store_kind *k, const char *key);
/* An empty listing of "a/" is that of a folder, which shows itself as a marker would, or of
 * nothing.
 */
bool gcs_list_may_be_folder(const struct store_kind *k, const struct op *op);
int gcs_list_folder_parse(struct store_kind *k, struct op *op);
int gcs_folder_get(struct store_kind *k, struct op *op, const char *key);
op_build_fn gcs_layout_build, gcs_folder_create, gcs_folder_head, gcs_folder_delete,
        gcs_folder_rename_build;
op_parse_fn gcs_layout_parse, gcs_folder_created, gcs_folder_headed, gcs_folder_deleted,
        gcs_folder_rename_parse;

/* gcs_list.c */
/* A page of the objects below a prefix; delim and continuation may be NULL. */
int gcs_list(struct store_kind *k, struct op *op, const char *prefix, const char *delim,
             const char *continuation);
/* Takes the token of the page behind this one into op->next. OP_AGAIN, 0 after the last, -ENOMEM.
 */
int gcs_next_page(struct op *op, const struct json *page);
op_build_fn gcs_check_build, gcs_check_write_build, gcs_list_build;
op_parse_fn gcs_check_parse, gcs_check_write_parse, gcs_list_parse;

/* gcs_batch.c: deletes op->keys, a hundred in an exchange. */
op_build_fn gcs_delete_many_build;
op_parse_fn gcs_delete_many_parse;

#endif
