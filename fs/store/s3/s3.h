/* SPDX-License-Identifier: Apache-2.0 */
/* s3.h: what the files of the S3 kind share. */
#ifndef CKPTFS_STORE_S3_H
#define CKPTFS_STORE_S3_H

#include <time.h>

#include "base/mutex.h"
#include "base/sign/sign_v4.h"
#include "base/text/uri.h"
#include "store/cred/cred.h"
#include "store/core/customer_key.h"
#include "store/core/ops.h"
#include "store/core/xml_reply.h"

#define S3_COPY_SOURCE "x-amz-copy-source"
/* In metadata they begin with a ':'. */
#define S3_CLASS    "x-amz-storage-class"
#define S3_REDIRECT "x-amz-website-redirect-location"

/* s3_minds.c: headers, most of them conditions, and a call that not every server honors, and what
 * is known of the server. */
enum s3_condition {
        S3_DELETE_IF,
        S3_DELETE_MANY_IF,
        S3_COPY_IF,
        S3_COMPLETE_IF,
        S3_PART_IF,
        S3_PUT_IF,
        S3_PUT_ABSENT,
        S3_PUT_QUOTED,
        S3_CHECKSUMS,
        S3_APPEND,
        S3_RENAME,
        S3_CONDITIONS
};
enum s3_minds {
        S3_UNKNOWN,
        S3_HONORS,
        S3_IGNORES,
        S3_UNTOLD /* it ignores it, and the log, which was not open then, is to say so */
};

enum { S3_REGION_MAX = 64 };

struct store_kind {
        struct cred_chain *creds;
        struct cred_chain *session; /* of a directory bucket, else NULL */
        bool requester_pays;
        char *bucket_owner;      /* NULL: any */
        char *sse, *sse_kms_key; /* NULL: as the bucket says */
        bool bucket_key;
        char *storage_class, *tags; /* NULL: the store's, none */
        struct customer_key sse_c;
        char *bucket;    /* or the ARN of an access point: */
        char *point;     /* "NAME-ACCOUNT", that stands before its hosts; NULL: it is a bucket */
        char *endpoint;  /* "http://host:port" without a path; NULL: the vendor's */
        char *base;      /* the endpoint's path, without a '/' at its end; NULL: none */
        bool path_style; /* the bucket is in the path, not in the host's name */
        enum store_checksums checksums;
        unsigned no_sums, no_upload_sums;   /* atomic bits of enum s3_sum: the server knows none
                                               such at all, or of the parts of uploads together */
        bool wants_sums;                    /* atomic: the server asked for one */
        bool radosgw;                       /* atomic: it is the gateway of Ceph */
        bool strict;                        /* atomic: it refuses headers that it does not know */
        enum s3_minds minds[S3_CONDITIONS]; /* atomic */
        struct sign_cache sign_cache;
        struct mutex mtx;
        struct {
                char region[S3_REGION_MAX];
        } locked GUARDED_BY(&mtx);
};

enum s3_minds s3_minds(const struct store_kind *k, enum s3_condition what);
void s3_learn(struct store_kind *k, enum s3_condition what, enum s3_minds minds);
/* Whether the reply may be a refusal of such a header: 501, "A header you provided implies
 * functionality that is not implemented", or 400, which a request may get for other reasons, too.
 * Those it gets without the header as well. */
bool s3_may_refuse_header(const struct op *op, int err);
/* An ETag that no version has. */
#define S3_NO_VERSION "\"no version has this ETag\""

/* An exchange in the making. Strings are borrowed until s3_send() returns. */
struct s3_msg {
        enum http_method method;
        const char *key; /* NULL: the bucket */
        struct uri_pair query[8];
        size_t nquery;
        struct uri_pair header[OP_HEADERS_MAX];
        size_t nheader;
        const struct buf *xml; /* the body, else that of op->body with `data` */
        bool data;
        bool md5;         /* send Content-MD5 of xml */
        struct buf names; /* storage of composed names and values */
};
#define S3_MSG(method_, key_)                                                                      \
        {                                                                                          \
                .method = (method_), .key = (key_), .names = BUF_INIT                              \
        }
void s3_msg_release(struct s3_msg *m);

void s3_query(struct s3_msg *m, const char *name, const char *value);
void s3_header(struct s3_msg *m, const char *name, const char *value);

/* s3_arn.c: how much of what follows "s3://" names the bucket. */
size_t s3_bucket_len(const char *text);
/* Where k->bucket is the ARN of an access point: sets k->point and the region. 0, or -EINVAL with
 * one line in `why`, -ENOMEM. */
int s3_arn_open(struct store_kind *k, char region[S3_REGION_MAX], char *why, size_t nwhy);

/* s3_request.c: composes URL and headers, signs, fills op->rq. 0 or a negative errno; -EACCES with
 * op->fault when there are no credentials. */
int s3_send(struct store_kind *k, struct op *op, struct s3_msg *m);
/* Headers of a condition on the object that is written and of metadata, of metadata alone, and of
 * the source of a copy (key and version). 0, or -EINVAL, -ENOMEM. if_match and version: op's, or
 * what the server is to take for it; NULL: any. */
int s3_put_headers(const struct store_kind *k, struct s3_msg *m, const struct op *op,
                   const char *if_match);
int s3_meta_headers(const struct store_kind *k, struct s3_msg *m, const struct op *op);
/* Whether it is a copy of an object or of a part of one. */
bool s3_is_copy(const struct s3_msg *m);
int s3_copy_source(struct store_kind *k, struct s3_msg *m, struct op *op, const char *version,
                   struct buf *text);
/* Whether a copy that was refused is to be sent again, without the header of Ceph's gateway. */
bool s3_without_foreign(struct store_kind *k, struct op *op, int err);

/* s3_request.c: scheme and host of the bucket at a region; `host`: where the latter begins. */
void s3_add_host(const struct store_kind *k, const char *region, struct buf *url, size_t *host);

/* s3_options.c: whether it is the number of an account. */
bool s3_is_account(const char *text);
/* s3_options.c: reads the options, after endpoint and bucket; 0 or a negative errno with one line
 * in `why`. Adds the headers that they ask for. */
int s3_options_open(struct store_kind *k, const struct store_config *cfg, char *why, size_t nwhy);
void s3_options_close(struct store_kind *k);
/* Whether what op makes is given the storage class that its source or its metadata tell: not if the
 * options ask for another, and not if it could not be read then. */
bool s3_hands_class_on(const struct store_kind *k, const struct op *op, const char *class);
void s3_option_headers(const struct store_kind *k, const struct op *op, struct s3_msg *m);

/* s3_checksum.c: the checksum that this try bears beside its body, which op->sum keeps; the same
 * with its header, 0 or a negative errno with op->fault; and what becomes of the try by its answer:
 * OP_AGAIN, to be built anew, or `err`. */
#define S3_CRC32C        "x-amz-checksum-crc32c"
#define S3_CRC64NVME     "x-amz-checksum-crc64nvme"
#define S3_CHECKSUM_TYPE "x-amz-checksum-type"
enum s3_sum { S3_SUM_ANY, S3_SUM_NONE, S3_SUM_MD5, S3_SUM_CRC32C, S3_SUM_CRC64NVME };
enum s3_sum s3_sum(const struct store_kind *k, struct op *op);
int s3_sum_header(const struct store_kind *k, struct op *op, struct s3_msg *m);
int s3_checksum_answer(struct store_kind *k, struct op *op, int err);
/* Whether the reply says that something else was stored: -EBADMSG with op->fault, or 0. */
int s3_sum_differs(struct op *op);

/* s3_express.c: directory buckets. */
bool s3_is_express(const char *bucket);
/* Appends the host's name. */
void s3_express_host(const struct store_kind *k, const char *region, struct buf *url);
/* Begins the sessions. 0 or a negative errno with one line in `why`. */
int s3_express_open(struct store_kind *k, const char *ca_bundle, const char *region, char *why,
                    size_t nwhy);
op_build_fn s3_rename_build;
op_parse_fn s3_rename_parse;

/* s3_error.c: what became of a try whose status is not 2xx, or whose 2xx body is an <Error>.
 * Fills op->fault; returns OP_AGAIN, OP_RETRY, OP_SLOW, OP_DAMAGED or a negative errno. */
int s3_fault(struct store_kind *k, struct op *op);
/* What a code means, as s3_fault() returns it; `other` for one that is not known. */
int s3_code(const char *code, int other);
bool s3_ok(const struct op *op);
/* Whether the body says <Error>: some calls answer 200 and fail. */
bool s3_is_error_body(const struct op *op);
void s3_explain(struct store_kind *k, const struct op *op, int err, char *why, size_t nwhy);

/* s3_object.c */
/* What came of s3_head_build(): 0 with *out, or as s3_fault(). */
int s3_head_reply(struct store_kind *k, struct op *op, struct store_object *out);
void s3_object(struct store_kind *k, const struct http_req *rq, struct store_object *out);
int s3_head(struct store_kind *k, struct op *op, const char *key);
op_build_fn s3_head_build, s3_get_build, s3_put_build;
op_parse_fn s3_head_parse, s3_get_parse, s3_put_parse;

/* s3_append.c */
op_build_fn s3_append_build;
op_parse_fn s3_append_parse;

/* s3_copy.c */
op_build_fn s3_copy_build, s3_set_meta_build;
/* Whether a copy, or a change of metadata, begins with a head of the source. */
bool s3_asks_first(const struct store_kind *k, const struct op *op);
op_parse_fn s3_copy_parse, s3_set_meta_parse;

/* Ceph's gateway (16.2) decodes the source of a part twice: 'p%41' is 'pA' to it, and 'p%' ends it.
 */
bool s3_misreads(const struct store_kind *k, const char *key);

/* s3_delete.c */
op_build_fn s3_delete_build;
op_parse_fn s3_delete_parse;
/* After the reply to a delete of what may be gone: then it is a success. */
int s3_gone(struct store_kind *k, struct op *op);

/* s3_list_express.c: whether the op's next request is that of a page; after a page of a directory
 * bucket, 0 or OP_AGAIN; and the requests and replies after it. */
bool s3_lists_page(const struct op *op);
int s3_list_express_page(struct op *op);
int s3_list_express_build(struct store_kind *k, struct op *op);
int s3_list_express_parse(struct store_kind *k, struct op *op);

/* s3_list.c */
/* What asks for the unfinished uploads below op->prefix, behind op->marker. */
void s3_uploads_query(struct s3_msg *m, const struct op *op);
op_build_fn s3_list_build, s3_uploads_build, s3_delete_many_build;
op_parse_fn s3_list_parse, s3_uploads_parse, s3_delete_many_parse;

/* s3_check.c */
op_build_fn s3_check_build, s3_check_write_build;
op_parse_fn s3_check_parse, s3_check_write_parse;

/* s3_upload.c */
op_build_fn s3_create_build, s3_part_build, s3_part_copy_build, s3_abort_build, s3_parts_build;
op_parse_fn s3_create_parse, s3_part_parse, s3_part_copy_parse, s3_abort_parse, s3_parts_parse;

/* s3_complete.c */
op_build_fn s3_complete_build;
op_parse_fn s3_complete_parse;

/* s3_verify.c: a change whose reply was lost is looked into. With op->stage S3_VERIFY the next
 * exchange is a head of the key, and its reply says whether the object is what op meant to make. */
enum { S3_VERIFY = 1 };
/* Sets the stage: OP_AGAIN. `err` is the answer if the object is another. */
int s3_verify_begin(struct op *op, int err);
int s3_verify_build(struct store_kind *k, struct op *op);
/* `same` tells whether the object in op->obj is ours. */
int s3_verify_parse(struct store_kind *k, struct op *op,
                    int (*same)(struct op *op, const struct store_object *found));

#endif
