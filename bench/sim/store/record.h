/* SPDX-License-Identifier: Apache-2.0 */
/* record.h: an object, part or upload as text in a file.
 *
 *      storesim 1                      first line
 *      key ESCAPED                     not of a part
 *      bucket NAME                     of an upload only
 *      etag E, mtime NS, upload ID     where they are known
 *      version GENERATION METAGENERATION CREATED COMPONENTS FOLDER
 *      meta NAME ESCAPED               one a header
 *      seg BUCKET BLOB OFF LEN [CRC]   one a segment, hexadecimal
 *      end                             last line: the record is whole
 */
#ifndef CKPTFS_SIM_RECORD_H
#define CKPTFS_SIM_RECORD_H

#include <stdint.h>

#include "base/buf.h"

struct object;

/* Blobs are shared between objects: the reader asks for one by bucket and id and gets a reference
 * (NULL: no memory). */
struct record_blobs {
        struct blob *(*get)(void *arg, const char *bucket, uint64_t id);
        void *arg;
};

/* bucket: NULL but for an upload. 0 or -ENOMEM. */
int record_write(const struct object *o, const char *bucket, struct buf *text);
/* Reads it in place; `bucket` (64 bytes or NULL) gets the bucket. 0, -EBADMSG or -ENOMEM. */
int record_read(struct buf *text, const struct record_blobs *blobs, struct object **out,
                char *bucket);

#endif
