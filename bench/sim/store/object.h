/* SPDX-License-Identifier: Apache-2.0 */
/* object.h: a version of an object, or one part of an upload.
 *
 * Immutable once it can be seen by a second thread; counted, so that a reader keeps the version it
 * began with when the name is overwritten or deleted. Its bytes are a list of segments, each a
 * range of a blob (a file that is written once, data.h); a server-side copy shares blobs. In null
 * mode a segment has no blob and reads as PATTERN_NULL at the offset in the object. */
#ifndef CKPTFS_SIM_OBJECT_H
#define CKPTFS_SIM_OBJECT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct blob;

struct seg {
        struct blob *blob; /* counted; NULL in null mode */
        uint64_t off, len;
        bool has_crc;
        uint32_t crc;
};

enum { ETAG_MAX = 48, UPLOAD_ID_MAX = 40 };

struct object {
        atomic_uint refs;
        char *key; /* NULL for a part */
        uint64_t size;
        int64_t mtime_ns;           /* of the last change, also of metadata alone */
        int64_t created_ns;         /* of this generation */
        int64_t generation;         /* grows with every version, over all names */
        unsigned metageneration;    /* changes of metadata alone, from 1 */
        unsigned components;        /* objects it was composed of; 0: it was not */
        bool is_folder;             /* no object: a folder, whose key ends with '/' */
        char etag[ETAG_MAX];        /* without quotes */
        char upload[UPLOAD_ID_MAX]; /* the upload that made it, "" for none */
        bool has_crc;               /* of the whole object */
        uint32_t crc;
        struct buf meta; /* headers to give back: "name\0value\0" each, names in lower case */
        unsigned nsegs, cap;
        struct seg *segs;
};

/* An empty object with one reference and a copy of key (NULL for none); NULL: no memory. */
struct object *object_new(const char *key);
struct object *object_ref(struct object *o);
/* The last reference frees it and lets go of its blobs. NULL is fine. */
void object_unref(struct object *o);
void object_unrefp(struct object **o);

int object_set_key(struct object *o, const char *key);

/* Adds bytes [off, off + len) of `from` to the end; refers to blobs, copies nothing. The checksum
 * stays known while that of every segment is known. 0 or -ENOMEM. */
int object_append(struct object *o, const struct object *from, uint64_t off, uint64_t len);
/* Adds one segment, whose blob reference is taken over also on failure. 0 or -ENOMEM. */
int object_add_seg(struct object *o, struct seg seg);

/* A new object with everything of `from` but its key, which is that given. NULL: no memory. */
struct object *object_clone(const struct object *from, const char *key);

/* Metadata: 0 or -ENOMEM. object_meta() returns NULL for none; pairs are walked with
 * object_meta_next(o, NULL) and then the last name, NULL at the end. A header's name is kept in
 * lower case. Names that begin with ':' are the protocol's own and are not given out. */
int object_meta_add(struct object *o, const char *name, const char *value);
int object_meta_add_header(struct object *o, const char *name, const char *value);
int object_meta_copy(struct object *o, const struct object *from);
/* Absence is fine. */
void object_meta_remove(struct object *o, const char *name);
const char *object_meta(const struct object *o, const char *name);
const char *object_meta_next(const struct object *o, const char *name);

/* Whether an If-Match or If-None-Match list ("a", "b" or *) names this version; o NULL: none. */
bool object_matches(const struct object *o, const char *list);

#endif
