/* SPDX-License-Identifier: Apache-2.0 */
/* s3.h: what the files of the S3 protocol share.
 *
 * The protocol as the S3 API reference has it: path-style addresses, errors in XML. An operation is
 * a row of the table in s3_dispatch.c. */
#ifndef CKPTFS_SIM_S3_H
#define CKPTFS_SIM_S3_H

#include "bench/sim/http/request.h"
#include "bench/sim/store/object.h"
#include "bench/sim/store/object_store.h"

#define S3_XML_HEAD "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
/* "While processing is in progress, Amazon S3 periodically sends white space characters to keep the
 * connection from timing out" (API reference, CompleteMultipartUpload; the same of copies). */
#define S3_XML_SLOW S3_XML_HEAD "  \n"
#define S3_XMLNS    " xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\""

#define S3_OWNER "123456789012"

enum {
        S3_KEY_MAX = 1024,
        S3_PAGE_MAX = 1000,
        S3_DELETE_MAX = 1000,
        S3_HEADERS_MAX = 8192, /* names and values */
};
#define S3_PUT_MAX  (5ULL << 30)
#define S3_PART_MIN (5ULL << 20)

/* --- replies (s3_xml.c) --- */

/* Sets the reply to an error; its status and message are those of the code. */
void s3_error(struct request *x, const char *code);
void s3_refuse(struct request *x, int status, const char *code, const char *message);
/* Refuses for want of a permission, which is named. */
void s3_deny(struct request *x, const char *name);
void s3_error_in_200(struct request *x, const char *code, const char *message);
/* The same with one more element in its body. */
void s3_error_with(struct request *x, const char *code, const char *name, const char *value);
void s3_error_add(struct request *x, const char *name, const char *value);
/* Says that the bucket is in another region than the one signed for. */
void s3_error_region(struct request *x, const char *region);
/* An error for a negative errno of the object store. */
void s3_fail(struct request *x, int err);
/* A reply of that status with the XML in x->body, or without a body. */
void s3_reply_xml(struct request *x);
void s3_reply(struct request *x, int status);
/* Headers every reply bears; forgets those set before. */
void s3_begin_headers(struct request *x);
void s3_header(struct request *x, const char *name, const char *value);
/* "<name>value</name>", escaped. */
void s3_element(struct buf *b, const char *name, const char *value);
void s3_element_u64(struct buf *b, const char *name, uint64_t value);
/* "2013-05-24T00:00:00.000Z": only the second vendor tells parts of a second. */
void s3_element_time(const struct request *x, struct buf *b, const char *name, int64_t ns);
void s3_element_etag(struct buf *b, const struct object *o);

/* The checksum that is given out. */
void s3_element_checksum(struct buf *b, const struct object *o);

/* --- requests --- */

const char *s3_in(const struct request *x, const char *header);
/* The bucket behind an access point, or NULL. */
const char *s3_access_point(const struct service *s, const char *name, size_t n);
/* A number of the query; `other` when it is absent. -1 for no number, or one above max. */
long s3_query_number(const struct request *x, const char *name, long other, long max);
void s3_cond(const struct request *x, struct object_store_cond *cond);
struct object_store_upload s3_upload(const struct request *x);
/* The CRC32C of the body in base64, from a header or from behind the body; NULL for none. */
const char *s3_sent_crc(const struct request *x);
/* Checks what came against the digests that the request gives. True when the reply is set to an
 * error. */
bool s3_bad_digest(struct request *x);
/* s3_checksum.c: the vendor's rules of checksums: of any request, of what an upload is begun with,
 * which o keeps, and of a part. True when the reply is set to an error. */
bool s3_bad_checksums(const struct service *s, struct request *x);
bool s3_bad_algorithm(const struct service *s, struct request *x, struct object *o);
bool s3_bad_part_checksum(struct request *x, const struct object *head);
/* Whether what completes an upload names another type than what began it: "If the checksum type
 * doesn't match the checksum type that was specified for the object during the
 * CreateMultipartUpload request, it'll result in a BadDigest error" (API reference,
 * CompleteMultipartUpload). True as above. */
bool s3_bad_type(struct request *x, const struct object *head);
/* Whether the upload was begun with one. */
bool s3_has_algorithm(const struct object *head);
/* CRC64NVME, in base64; NULL when it is not known. It becomes known when the request has it, when
 * the source of a copy has it, by its value, or of a part that is copied where the upload wants it:
 * 0 or a negative errno. */
#define S3_CRC64NVME "x-amz-checksum-crc64nvme"
const char *s3_crc64(const struct object *o);
int s3_keep_crc64(const struct request *x, struct object *o);
int s3_copy_sums(const struct object *from, struct object *o);
int s3_set_crc64(struct object *o, uint64_t crc);
/* "[...] it was uploaded without a checksum (and Amazon S3 added the default checksum, CRC64NVME,
 * to the uploaded object)" (API reference, PutObject): of an object of a directory bucket, where it
 * counts. */
int s3_sum_by_default(struct object *o);
int s3_sum_copied_part(const struct object *head, struct object *part);
/* An object has the algorithm of the checksum that it was put with, or that of its upload. What is
 * added to it has to come with the same: true when the reply is set to an error. */
int s3_keep_algorithm(const struct request *x, struct object *o);
int s3_copy_algorithm(const struct object *from, struct object *o);
bool s3_bad_append_checksum(struct request *x, const struct object *o);
/* The checksums of `whole` are those of it with o behind it, which is not there yet. */
int s3_append_sums(struct object *whole, const struct object *from, const struct object *o);
/* Makes crc, of what is before the part, that of both; false when the part's is not known. */
bool s3_add_crc64(const struct object *part, uint64_t *crc);
/* Makes o the object, unless `err` or something else is wrong: false with the reply set to that. */
bool s3_put_object(struct service *s, struct request *x, struct object *o,
                   const struct object_store_cond *cond, int err);
/* The headers of a version: ETag, Last-Modified and, with_meta, its metadata. */
void s3_object_headers(struct request *x, const struct object *o, bool with_meta);
void s3_checksum_headers(struct request *x, const struct object *o);
/* s3_version.c: buckets that keep versions (user guide, "Retaining multiple versions of objects"):
 * whether this one does; the id of a version; the version that the query names, referenced, or the
 * present one: 0 or a negative errno; and what a delete leaves, unless it names a version, which is
 * gone then: true with the reply set. */
enum { S3_VERSION_MAX = 24 };
bool s3_keeps_versions(const struct service *s, const struct request *x);
void s3_version_header(const struct service *s, struct request *x, const struct object *o);
int s3_get_version(struct service *s, const struct request *x, struct object **out);
bool s3_delete_version(struct service *s, struct request *x);
/* The id of a delete marker that was just made. */
void s3_marker_id(const struct service *s, char text[S3_VERSION_MAX]);
/* Takes the headers that are stored with an object. True when the reply is set to an error. */
bool s3_bad_metadata(const struct service *s, struct request *x, struct object *o);
/* The same of the storage class and the tags, which are not the object's metadata. */
bool s3_bad_storage(const struct service *s, struct request *x, struct object *o);
#define S3_CLASS    "x-amz-storage-class"
#define S3_TAGGING  "x-amz-tagging"
#define S3_REDIRECT "x-amz-website-redirect-location"

/* s3_sse.c. Takes what the request says of encryption to the object. True when the reply is set to
 * an error. */
bool s3_bad_encryption(const struct service *s, struct request *x, struct object *o);
/* Whether the customer's key that the object was stored with is not given; of_source: as that of a
 * copy's source. True as above. */
bool s3_key_is_missing(struct request *x, const struct object *o, bool of_source);
/* The same of the upload that the request names, when it was begun with a checksum algorithm: "This
 * parameter is required only when the object was created using a checksum algorithm" (API
 * reference, CompleteMultipartUpload and ListParts). */
bool s3_key_of_upload_is_missing(struct service *s, struct request *x);
/* What the request says of encryption to a session's terms. True as above. */
bool s3_bad_session_encryption(struct request *x, struct session_terms *terms);
void s3_encryption_headers(struct request *x, const struct object *o);

/* s3_archive.c: whether the object cannot be read because it is in an archive; of_source: as that
 * of a copy's source. True when the reply is set to an error. And what a head tells of it. */
bool s3_is_archived(const struct service *s, struct request *x, const struct object *o,
                    bool of_source);
void s3_archive_headers(const struct service *s, struct request *x, const struct object *o);

/* s3_express.c: whether the bucket is a directory bucket, which the path must not name, and the
 * request needs a session, which is
 * there and good otherwise; true with the reply set. */
bool s3_is_express(const struct request *x);
bool s3_bad_address(struct request *x);
bool s3_needs_session(const struct request *x);
bool s3_bad_session(struct service *s, struct request *x);

/* Whether a put adds to the object that is there; s3_append() answers it: o is what came. */
#define S3_WRITE_OFFSET "x-amz-write-offset-bytes"
bool s3_appends(const struct request *x);
void s3_append(struct service *s, struct request *x, struct object *o);

/* s3_radosgw.c: makes a request that was let in, and the reply to it, those of Ceph's gateway. */
void s3_radosgw_begin(struct request *x);
void s3_radosgw_finish(struct request *x);

/* s3_ways.c: the ways of other servers; true with the reply set. */
bool s3_refused_by_ways(const struct service *s, struct request *x);

/* auth.c: true when the reply is set to an error. */
bool s3_denied(struct service *s, struct request *x);
/* auth_v2.c: the old signature. Sets the reply to an error when it is wrong. */
bool s3_is_v2(const char *authorization);
void s3_check_v2(const struct service *s, struct request *x, const char *authorization);

/* --- operations --- */

typedef void s3_fn(struct service *s, struct request *x);
s3_fn s3_list_buckets, s3_head_bucket, s3_get_location, s3_get_versioning, s3_create_bucket,
        s3_delete_bucket;
s3_fn s3_list_v1, s3_list_v2, s3_list_uploads, s3_list_parts;
s3_fn s3_begin_put, s3_put, s3_get, s3_get_tagging, s3_delete, s3_delete_many;
s3_fn s3_copy, s3_part_copy;
s3_fn s3_upload_create, s3_begin_part, s3_part, s3_upload_complete, s3_upload_abort;
s3_fn s3_create_session, s3_rename, s3_restore;
s3_fn s3_not_implemented;

#endif
