/* SPDX-License-Identifier: Apache-2.0 */
/* s3_etag.h: the ETag of an object made of parts: the MD5 of the parts' binary MD5 sums, in
 * hexadecimal, '-' and their number. Pure. */
#ifndef CKPTFS_STORE_S3_ETAG_H
#define CKPTFS_STORE_S3_ETAG_H

#include "base/buf.h"
#include "store.h"

struct etag_sum {
        struct buf sums; /* binary MD5 sums so far */
        unsigned n;
        bool unknown; /* an ETag that is no MD5 sum was among them */
};
void etag_sum_init(struct etag_sum *s);
void etag_sum_add(struct etag_sum *s, const char *etag);
/* Writes the ETag with its quotes, or "" when it cannot be known; releases. */
void etag_sum_end(struct etag_sum *s, char out[STORE_ETAG_MAX]);

/* The number of parts that an ETag tells; 0 for one that tells none. */
unsigned etag_parts(const char *etag);

#endif
