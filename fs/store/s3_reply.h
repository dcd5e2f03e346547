/* SPDX-License-Identifier: Apache-2.0 */
/* s3_reply.h: what is read in the replies of S3, and of the API of GCS that is shaped like it. */
#ifndef CKPTFS_STORE_S3_REPLY_H
#define CKPTFS_STORE_S3_REPLY_H

#include "store/ops.h"

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
/* A header or element ChecksumCRC32C of a whole object: false for none, or a composite one. */
bool s3_crc(const char *text, uint32_t *crc);
/* Copies an ETag; one without quotes gets them. */
void s3_etag(const char *text, char out[STORE_ETAG_MAX]);

/* s3_pages.c */
/* Decodes the keys of the entries from op->page on, if the server says that they are encoded. An
 * entry whose key cannot be decoded is none. */
void s3_decode_page(struct op *op, const char *encoding);
/* Read a page into op->v; OP_AGAIN when there is another, that op->marker (and op->next) begin. */
int s3_read_uploads(struct op *op);
int s3_read_parts(struct op *op);

#endif
