/* SPDX-License-Identifier: Apache-2.0 */
/* store_int.h: what the files of the façade share. */
#ifndef CKPTFS_STORE_STORE_INT_H
#define CKPTFS_STORE_STORE_INT_H

#include <pthread.h>

#include "base/mutex.h"
#include "store/core/ops.h"
#include "store/http/rate_ramp.h"

/* How long a copy or a completion may take without a byte. */
enum { SERVER_WORKS_MS = 60000 };

struct store {
        const struct store_ops *ops;
        struct store_kind *kind;
        struct http *http;
        bool empty; /* so the last check found it */
        char *bucket, *prefix;
        size_t prefix_len;
        unsigned deadline_ms;
        uint64_t retries, errors; /* atomics */
        uint64_t read_said;       /* atomic: the last line on a read, see request.c */
        bool ramps;               /* the rate of requests grows slowly: */
        struct mutex ramp_mtx;
        struct rate_ramp reads GUARDED_BY(&ramp_mtx), writes GUARDED_BY(&ramp_mtx);
};

/* request.c: the life of an operation. op_new() takes the key as the user gave it, NULL for none;
 * NULL means no memory. op_submit() sends it, or frees it and returns the error. */
struct op *op_new(struct store *s, enum op_verb verb, const char *key, void *arg);
void op_free(struct op *op);
void op_freep(struct op **op);
int op_submit(struct op *op);
int op_collect(struct http_req *rq, const void *p, size_t n);
/* Whether the identity is known and lacks a permission: other refusals are of the signature, the
 * clock or the session. */
bool op_is_denied(const struct op *op);

/* 0, -EINVAL for a key that is empty or starts with '/', or -ENAMETOOLONG. */
int store_check_key(const struct store *s, const char *key);
/* The store's prefix before the user's key; NULL: no memory. */
char *store_full_key(const struct store *s, const char *key);
/* 0 or -ENOMEM. */
int op_set_cond(struct op *op, const struct store_cond *cond);
int op_set_meta(struct op *op, const struct store_meta *meta);
void op_finish_object(struct op *op, int err);
void op_finish_plain(struct op *op, int err); /* without an object */

/* sync_wait.c: waiting for a callback. */
struct store_wait {
        struct mutex mtx;
        pthread_cond_t cond;
        bool over GUARDED_BY(&mtx);
        int err GUARDED_BY(&mtx);
};
void wait_begin(struct store_wait *w);
void wait_end(struct store_wait *w, int err); /* from the callback, as its last deed */
/* Waits, unless `err` says that nothing was queued; returns the error; ends *w. */
int wait_for(struct store_wait *w, int err);

/* get.c */
int get_data(struct http_req *rq, const void *p, size_t n);
/* After parse() of a get: 0 done, OP_RETRY when bytes are missing, or a negative errno. */
int get_complete(struct op *op);
bool get_has_all(const struct op *op); /* whatever became of the try */

/* store.c: after parse() of a list: 0 done, OP_AGAIN when another page is needed, or a negative
 * errno. */
int list_complete(struct op *op);

/* upload.c: after the reply to a create: says that an earlier try may have begun an upload, too,
 * and what becomes of that. */
void upload_say_twin(const struct op *op, const char *twin);
#define UPLOAD_TWIN_LISTED "'ckptctl uploads' may list another one, without parts, from now on"

/* The parts sent so far; the strings belong to the upload. */
struct upload_part {
        char *etag; /* NULL: not sent */
        uint64_t size;
        uint32_t crc32c;
        bool has_crc, has_crc64;
        uint64_t crc64nvme;
        bool body; /* sent, and not taken from an object; where it makes a difference to the kind */
        bool left; /* such a body was sent under this number, and is no part any more */
};
struct store_upload {
        struct store *s;
        char *key, *id;
        bool over;                   /* atomic: aborted, and takes no more parts */
        bool failed;                 /* atomic: a part did, for good */
        bool plain;                  /* begun for sent parts alone */
        bool known;                  /* only by its id: it may have been completed already */
        int sum;                     /* the kind's: the checksum that its parts have */
        struct store_meta *meta;     /* what it was begun with; NULL: nothing, or not known */
        struct store_stream *stream; /* the kind's, one malloc'ed block; made under the mutex */
        struct mutex mtx;
        struct {
                struct upload_part *v; /* by number - 1 */
                unsigned room;
        } locked GUARDED_BY(&mtx);
};
/* store_upload_create_copying() of an upload that becomes a copy of `src`: it has what a copy has
 * beside bytes and metadata. */
int upload_create_copy(struct store *s, const char *key, const struct store_meta *meta,
                       const char *src, store_upload_fn *done, void *arg);
/* The answer of a complete whose upload is gone, and did not become what is there. */
int upload_gone(const struct op *op);
/* The result of a part: kept for the complete. 0 or -ENOMEM. */
int upload_note_part(struct store_upload *up, unsigned partno, const char *etag,
                     const struct upload_part *part);
/* Walks the parts in order under the lock; returns what `each` does, when not 0. */
int upload_each(struct store_upload *up,
                int (*each)(void *arg, unsigned partno, const struct upload_part *part), void *arg);
/* The same for the numbers that have something left. */
int upload_each_left(struct store_upload *up, int (*each)(void *arg, unsigned partno), void *arg);

#endif
