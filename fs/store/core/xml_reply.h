/* SPDX-License-Identifier: Apache-2.0 */
/* xml_reply.h: what is read in the replies of S3, and of the API of GCS that is shaped like it. */
#ifndef CKPTFS_STORE_XML_REPLY_H
#define CKPTFS_STORE_XML_REPLY_H

#include "store/core/ops.h"

/* Reads op->in. A field's text is kept where its path matches; `each` runs at the end
 * of every element that holds elements, after which the caller resets what belongs to it. 0, what
 * `each` returned, or -EBADMSG for a body that is no XML. */
struct s3_field {
        const char *path;
        struct buf text;
};
int s3_read(struct op *op, struct s3_field *f, size_t n, int (*each)(void *arg, const char *path),
            void *arg);
void s3_fields_release(struct s3_field *f, size_t n);
/* A body that cannot be read, of a reply that says all is well: another try. */
int s3_unreadable(struct op *op, int err);
/* "2009-10-12T17:50:30.000Z" and "Mon, 12 Oct 2009 17:50:30 GMT"; 0 for what is neither. */
int64_t s3_time_iso(const char *text);
int64_t s3_time_http(const char *text);
/* A request that may have been refused for its time: *skew_s, atomic, becomes the server's clock
 * less ours. False when it was not, the server does not say its time, or `op` was corrected so
 * before. */
enum { MOVED_CLOCK = 2 /* in op->moves */ };
bool s3_follow_clock(struct op *op, long *skew_s);
/* A server that may have refused a request for its time has answered with this date (NULL: none):
 * *skew_s becomes its clock less ours. False when they agree, unless it `said` that it was that. */
bool clock_follow(const char *date, bool said, long *skew_s);
/* A header or element ChecksumCRC32C of a whole object: false for none, or a composite one. */
bool s3_crc(const char *text, uint32_t *crc);
bool s3_crc64(const char *text, uint64_t *crc); /* the same of ChecksumCRC64NVME */
/* Copies an ETag; one without quotes gets them. */
void s3_etag(const char *text, char out[STORE_ETAG_MAX]);

/* Headers of an object that a copy with other metadata would lose, kept as metadata whose names
 * begin with ':'; others are left. What a store says of an object that was given none is not kept.
 * Returns what store_meta_add() does of one that is to be kept, else 0. */
int s3_keep_header(struct store_meta *m, const char *name, const char *value);

/* s3_pages.c */
/* Reads a page of objects into op->v, op->next is the next one; `version` is the path of the
 * element that names an object's version. */
int s3_read_list(struct op *op, const char *version);
/* Read a page into op->v; OP_AGAIN when there is another, that op->marker (and op->next) begin. */
int s3_read_uploads(struct op *op);
int s3_read_parts(struct op *op);
/* Puts those of op->keys that a request to delete many cannot hold behind the others, with their
 * versions; how many the others are. With one of the former none is deleted. */
size_t s3_sort_keys(struct op *op);
/* Fills op->text with the request to delete the first `n` of op->keys, where `version` is the
 * element that names what op->versions has, NULL for any version; 0 or -ENOMEM. The reply: the
 * first key that was not deleted decides, by what meaning() makes of its code; one of another
 * version stays. */
int s3_write_delete(struct op *op, size_t n, const char *version);
int s3_read_deleted(struct op *op, int (*meaning)(const char *code));

#endif
