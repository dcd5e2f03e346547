/* SPDX-License-Identifier: Apache-2.0 */
/* store.h: client of an object store, whatever its kind.
 *
 * A struct store is one bucket and prefix at one endpoint. Keys are UTF-8, relative to the prefix,
 * without a leading '/', and have at most STORE_KEY_MAX bytes with the prefix. What kinds of store
 * differ in is asked by capability (store_caps()), never by name.
 *
 * Asynchronous calls queue a request and return at once; they are thread-safe and never block on
 * the network. They return 0, or a negative errno (-EINVAL, -ENAMETOOLONG, -ENOMEM, -ESHUTDOWN),
 * and then done() never runs. After 0, done() runs exactly once, on an I/O thread of the store,
 * never inside the call that queued it. Callbacks must not block and must not call a blocking form;
 * they may queue more requests. Pointers handed to a callback are borrowed until it returns.
 *
 * Each failed request was retried as long as that made sense (store_config.deadline_ms) and was
 * said in the log once, with status, code and request id. Errors are negative errnos: -ENOENT 404
 * -EACCES 401, 403   -EEXIST 412 or 409 of an if_absent   -ESTALE 412 of an if_match -ENOSPC 507,
 * quota   -ETIMEDOUT deadline over (of store_check() also -ECONNREFUSED, -EHOSTUNREACH: no server)
 * -EBADMSG checksum of what came back differs   -EOPNOTSUPP not a thing this store does -ECANCELED
 * stopped by a callback or by store_close()   -EIO all else
 *
 * Sizes and offsets are bytes, times nanoseconds since 1970 (UTC). */
#ifndef CKPTFS_STORE_H
#define CKPTFS_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What the shared library exports. */
#pragma GCC visibility push(default)

struct store;
struct store_upload;

enum {
        STORE_KEY_MAX = 1024,
        STORE_ETAG_MAX = 128,     /* with its quotes and NUL */
        STORE_META_MAX = 2304,    /* S3 allows 2 KiB of names and values */
        STORE_PART_MAX = 10000,   /* highest part number */
        STORE_UPLOADS_MAX = 10000 /* unfinished uploads in a list */
};
#define STORE_PART_SIZE_MIN (5ULL << 20) /* of every part but the last */
#define STORE_PART_SIZE_MAX (5ULL << 30)

enum {
        STORE_CAP_IF_ABSENT = 1 << 0,   /* atomic create */
        STORE_CAP_IF_MATCH = 1 << 1,    /* guarded overwrite */
        STORE_CAP_PART_COPY = 1 << 2,   /* ranges of an object as parts of another */
        STORE_CAP_RENAME = 1 << 3,      /* atomic rename of one object */
        STORE_CAP_COPY_LARGE = 1 << 4,  /* one call copies any size as fast as parts would be */
        STORE_CAP_COPY_IF = 1 << 5,     /* a copy minds its condition on the target */
        STORE_CAP_PATCH_META = 1 << 6,  /* metadata changes without a new version */
        STORE_CAP_LIST_META = 1 << 7,   /* listings carry metadata */
        STORE_CAP_FOLDERS = 1 << 8,     /* folders are real: see store_folder_rename() */
        STORE_CAP_UNSORTED = 1 << 9,    /* listings come in any order */
        STORE_CAP_WHOLE_COPY = 1 << 10, /* a copied part is a whole object, of any size */
        STORE_CAP_IN_ORDER = 1 << 11, /* parts go one after the other: see STORE_UPLOAD_RESUMABLE */
        STORE_CAP_DELETE_IF = 1 << 12,  /* store_delete_if() is atomic */
        STORE_CAP_APPEND = 1 << 13,     /* store_append() */
        STORE_CAP_ONE_LINE = 1 << 14,   /* keys hold neither CR nor LF */
        STORE_CAP_COMPLETE_AS = 1 << 15 /* store_upload_complete_as() */
};

/* How an object of many parts is made, where a kind has several ways. */
enum store_way {
        STORE_UPLOAD_AUTO,
        STORE_UPLOAD_MULTIPART,
        STORE_UPLOAD_COMPOSE,
        /* One stream: parts wait for those before them, and one that is sent again, or whose
         * predecessors do not come before the deadline, ends the upload (-EOPNOTSUPP). */
        STORE_UPLOAD_RESUMABLE
};

/* The checksums that requests of S3 bear. */
enum store_checksums {
        STORE_CHECKSUMS_AUTO,      /* CRC32C, unless the server turns out not to know it */
        STORE_CHECKSUMS_ALWAYS,    /* CRC32C, also where a server not the vendor's copies parts */
        STORE_CHECKSUMS_CRC64NVME, /* the same with CRC64NVME */
        STORE_CHECKSUMS_WHEN_REQUIRED, /* none, until the server asks for one */
        STORE_CHECKSUMS_NONE
};

/* s3: whether the bucket stands in the host's name or in the path. */
enum store_addressing {
        STORE_ADDRESSING_AUTO, /* in the path of an endpoint, in the name of the vendor's hosts; a
                                  directory bucket's in any name that is no address */
        STORE_ADDRESSING_PATH,
        STORE_ADDRESSING_VIRTUAL
};

/* How to reach the store. Strings are copied by store_open(); NULL or "" means the default, which
 * is the environment's or the profile's where the kind has such. */
struct store_config {
        const char *url; /* s3://bucket[/prefix], gs://bucket[/prefix] */
        const char *endpoint;
        enum store_addressing addressing;
        const char *region;
        const char *profile;
        const char *ca_bundle;
        const char *credentials;        /* gs: a credential file */
        bool anonymous;                 /* without credentials */
        bool requester_pays;            /* s3 */
        const char *bucket_owner;       /* s3: the account that must be it */
        const char *sse;                /* s3: NULL, "AES256", "aws:kms" or "aws:kms:dsse" */
        const char *sse_kms_key;        /* s3: NULL is the account's */
        bool bucket_key;                /* s3: encrypt with one, of sse's key */
        const char *storage_class;      /* s3: of what is made; NULL is the store's */
        const char *tags;               /* s3: "a=b&c=d", of what is written; NULL: none */
        const char *sse_c_key_file;     /* s3: a file with a key of the customer's */
        enum store_checksums checksums; /* s3 */
        const char *billing_project;    /* gs: pays for the requests */
        const char *kms_key;            /* gs: encrypts what is written */
        const char *csek_file;          /* gs: a file with a key of the customer's */
        enum store_way upload;          /* gs */
        unsigned connections;           /* at once for data; 0: as many as make it faster */
        unsigned connections_most;      /* but no more than this; 0: 128 */
        unsigned workers;               /* I/O threads; 0: by load, to one for every 2 cores */
        unsigned stall_timeout_ms;      /* 0: 15000 */
        unsigned deadline_ms;           /* 0: 120000 */
        unsigned connection_age_ms;     /* older connections take no request; 0: 60000 */
        unsigned rest_ms;               /* connections unused for so long are closed; 0: 30000 */
};

/* User metadata: pairs "name\0value\0". A name that begins with ':' is one of a few headers of the
 * object itself (":content-type"), which a head may tell and a put or copy hands on. */
struct store_meta {
        bool missing; /* the object has others, which are not here: a write of these would drop
                         them, and is refused with -EPERM; with STORE_CAP_PATCH_META
                         store_set_meta() leaves them as they are */
        /* Counts the changes of metadata alone that the version of the object has seen, where the
         * store tells; 0: it does not, or these were not told by it. */
        uint64_t metageneration;
        size_t len;
        char buf[STORE_META_MAX];
};
/* 0, or -ENOSPC when it does not fit, -EINVAL: names are of what a header's name may be, in lower
 * case, values have no control characters, and there is no such header. */
int store_meta_add(struct store_meta *m, const char *name, const char *value);
/* The same for a pair that the store told, to be given back to it: name and value may be of any
 * characters, since not every store sends them as headers. */
int store_meta_as_sent(struct store_meta *m, const char *name, const char *value);
/* Walks the pairs: the name after `name` (NULL: the first) with its *value, or NULL. */
const char *store_meta_next(const struct store_meta *m, const char *name, const char **value);
/* The value, or NULL. */
const char *store_meta_get(const struct store_meta *m, const char *name);

/* A version of an object. */
struct store_object {
        uint64_t size;
        int64_t mtime_ns;
        char etag[STORE_ETAG_MAX]; /* names the version, for if_match: ETag or generation; ""
                                      unknown */
        bool has_crc;              /* crc32c is that of the whole object, as the store gave it */
        bool has_crc64;            /* so is crc64nvme */
        bool tagged;               /* it has tags, which a copy hands on; only after a head */
        bool opaque;               /* its ETag is no MD5, for how it is encrypted; after a head */
        uint32_t crc32c;
        uint64_t crc64nvme;
        struct store_meta meta; /* only after a head or a get */
};

/* What must hold for a change to be made; zero: nothing. */
struct store_cond {
        bool if_absent;
        const char *if_match;
        /* With if_match, where the store tells it: how many changes of metadata alone
         * that version has seen, as struct store_meta has it; 0: any. */
        uint64_t metageneration;
};

/* A body to send. read() copies bytes [off, off+len) to dst and returns 0 or a negative errno,
 * which ends the request; it runs on an I/O thread, in ascending order, again from 0 for each
 * retry, and may be asked from before done() for as long as done() has not run. crc32c is that of
 * the whole body: the store refuses what arrives otherwise. */
struct store_body {
        int (*read)(void *arg, uint64_t off, void *dst, size_t len);
        void *arg;
        uint64_t len;
        uint32_t crc32c;
};
/* A body in memory, its checksum computed here. `p` stays borrowed until done(). */
struct store_body store_body_mem(const void *p, size_t len);

/* `obj` is NULL when err is not 0 and where the call says so. */
typedef void store_done_fn(void *arg, int err, const struct store_object *obj);

/* Opens a store. Does not reach it (store_check() does). Returns 0 or a negative errno with one
 * line in `why`: cause, then remedy. */
int store_open(const struct store_config *cfg, struct store **out, char *why, size_t nwhy);

/* Ends every request with -ECANCELED, soon, and refuses more (-ESHUTDOWN). Does not block. */
void store_stop(struct store *s);

/* Ends every request with -ECANCELED, waits for its callbacks, frees. NULL is fine. Blocks shortly.
 */
void store_close(struct store *s);

/* How many it would run at once now: of auto what was found to be fastest; fewer after the store
 * asked to slow down. At least 1. */
unsigned store_transfers_now(const struct store *s);

/* Of a store that is open, what `connections` and `connections_most` of store_config say. Does not
 * block. */
void store_set_connections(struct store *s, unsigned connections, unsigned most);
/* Asks the source of the credentials anew, as when it was changed. Does not block. */
void store_renew(struct store *s);

/* STORE_CAP_* bits. */
unsigned store_caps(const struct store *s);
/* Whether ranges of the object `key` can be parts of another: with STORE_CAP_PART_COPY, unless the
 * server is one that takes this key for another's. */
bool store_copies_parts(const struct store *s, const char *key);
/* Bytes of the largest object that the store takes. */
uint64_t store_object_max(const struct store *s);
/* Bytes of the longest key, without the prefix. */
size_t store_key_max(const struct store *s);
/* The bucket, as the URL names it; the store's. */
const char *store_bucket(const struct store *s);

/* Asks whether bucket and credentials are good. Blocks. 0 or a negative errno with one line in
 * `why`. */
int store_check(struct store *s, char *why, size_t nwhy);
/* Whether that found no object below the prefix. */
bool store_was_empty(const struct store *s);

/* The way to the server, gone step by step on a connection of its own, for who wants to know where
 * it is broken or slow. */
enum store_step {
        STORE_STEP_NAME,
        STORE_STEP_CONNECT,
        STORE_STEP_TLS,
        STORE_STEP_REPLY,
        STORE_STEPS
};
struct store_reach {
        char server[300];         /* "https://HOST[:PORT]" */
        char address[46];         /* its, or that of the proxy before it; "" none was found */
        const char *proxy;        /* the variable that names that proxy; NULL: none does */
        enum store_step failed;   /* STORE_STEPS: none */
        unsigned us[STORE_STEPS]; /* what each took that was gone */
        bool tls;                 /* it has that step */
        bool has_clock;           /* the reply told the time: */
        int64_t clock_s;          /* the server's clock less ours */
        char why[256];            /* what the transport says of the step that failed */
};
/* Blocks for a quarter of a minute at most. 0 or -ENOMEM. */
int store_reach(struct store *s, struct store_reach *out);

/* --- objects --- */

int store_head(struct store *s, const char *key, store_done_fn *done, void *arg);
/* The same, `ms` from now. */
int store_head_later(struct store *s, unsigned ms, const char *key, store_done_fn *done, void *arg);

/* Writes a whole object in one request. done() gets etag and size of the new version. */
int store_put(struct store *s, const char *key, const struct store_body *body,
              const struct store_meta *meta, const struct store_cond *cond, store_done_fn *done,
              void *arg);

/* Adds a body that is not empty at the end of an object, of version if_match and size `off`, and
 * moves nothing else: done() gets the new version. It is made only if its metadata, which stays, is
 * `meta` (NULL: any). -EOPNOTSUPP: this object cannot be added to, or the store has not
 * STORE_CAP_APPEND; nothing was changed, and the caller takes another way. Of a server that is not
 * the vendor's the first call finds out whether it has the capability. */
int store_append(struct store *s, const char *key, const char *if_match, uint64_t off,
                 const struct store_body *body, const struct store_meta *meta, store_done_fn *done,
                 void *arg);

/* What a get delivered. */
struct store_got {
        uint64_t bytes;
        uint32_t crc32c;         /* of these bytes in order */
        struct store_object obj; /* the object's, not the range's, size and checksum */
};
struct store_get {
        const char *key;
        uint64_t off, len;    /* at most len > 0 bytes from off; less at the end */
        const char *if_match; /* NULL: any version */
        /* Takes the next n bytes, in order, each exactly once whatever was retried; `at` counts
         * from `off`. Returns 0, or a negative errno to stop the request: done() gets it. */
        int (*data)(void *arg, uint64_t at, const void *p, size_t n);
        /* got is NULL when err is not 0. -EBADMSG: the store's checksum, where it gave one for what
         * was asked, differs from what data() was given. */
        void (*done)(void *arg, int err, const struct store_got *got);
        void *arg;
};
int store_get(struct store *s, const struct store_get *get);

/* A missing object is a success. obj is NULL. */
int store_delete(struct store *s, const char *key, store_done_fn *done, void *arg);

/* Deletes version `if_match` of an object (NULL: store_delete()). -ESTALE: another version is
 * there, and stays. -ENOENT: there is none; a store that does not tell so answers 0. A reply that
 * was lost after the delete took effect is found out and counts as success. With
 * STORE_CAP_DELETE_IF the store compares and deletes in one step. Without it the object is looked
 * at and then deleted, so that a version written between the two is lost: who cannot bear that asks
 * for the capability. Of an S3 server that is not the vendor's the first call finds out whether it
 * has it. obj is NULL. */
int store_delete_if(struct store *s, const char *key, const char *if_match, store_done_fn *done,
                    void *arg);

/* Deletes up to 1000 objects in one request; done() gets the first error. obj is NULL. `versions`
 * is NULL, or has the version of each that is to go (NULL: any); an object of another version
 * stays, which is no error. S3 servers that are not the vendor's may delete any version, and so do
 * Google's by HMAC keys. */
int store_delete_many(struct store *s, const char *const *keys, const char *const *versions,
                      size_t n, store_done_fn *done, void *arg);

/* Server-side copy of an object of any size, in parts where one request cannot; src_match pins the
 * source's version or is NULL; meta replaces the metadata or, NULL, keeps the source's. src may be
 * dst. A copy that fails leaves nothing behind. done() gets the etag of the copy, not its size.
 * Without STORE_CAP_COPY_IF the target is looked at and then copied to, so that what another host
 * writes between the two is replaced. Of an S3 server that is not the vendor's the first copy with
 * a condition finds out whether it has the capability. */
int store_copy(struct store *s, const char *src, const char *src_match, const char *dst,
               const struct store_meta *meta, const struct store_cond *cond, store_done_fn *done,
               void *arg);

/* Replaces the metadata of an object, of version if_match unless that is NULL (-ESTALE). Where
 * meta->metageneration is not 0, they must be those that the store told with it (-ESTALE). done()
 * gets the etag and time of what is there then, and the metageneration: the bytes are the same, the
 * version may be another. */
int store_set_meta(struct store *s, const char *key, const char *if_match,
                   const struct store_meta *meta, store_done_fn *done, void *arg);

/* Makes object `src`, of version src_match unless that is NULL, be named `dst`, at once for
 * everybody; where a server turns out to have no such request, by a copy and a delete. What was
 * there is replaced unless `cond` says otherwise. -EIO also when a reply was lost, and others
 * changed both names before the store was asked again: it may have been done. -EOPNOTSUPP without
 * STORE_CAP_RENAME. done() gets the etag under the new name, "" where the store does not tell. */
int store_rename(struct store *s, const char *src, const char *src_match, const char *dst,
                 const struct store_cond *cond, store_done_fn *done, void *arg);

/* With STORE_CAP_FOLDERS, which is known after store_check(), a key that ends with '/' is a folder:
 * an empty store_put() makes it and those above it (metadata is not kept), store_delete() deletes
 * it when it is empty (-ENOTEMPTY), listings have empty ones as prefixes. This gives folder `src/`
 * another name, `dst/`, with all that is in it and at once for everybody. -EEXIST: there is a
 * `dst/`. -EOPNOTSUPP without the capability. obj is NULL. */
int store_folder_rename(struct store *s, const char *src, const char *dst, store_done_fn *done,
                        void *arg);

/* --- listing --- */

struct store_entry {
        const char
                *key; /* relative to the store's prefix; a common prefix ends with the delimiter */
        bool is_prefix;
        uint64_t size;
        int64_t mtime_ns;
        const char *etag;
        /* STORE_CAP_LIST_META: pairs as in struct store_meta, also to be had as one. Of a prefix
         * NULL, unless the store told of the object that has its name: then all is that object's,
         * or there is none, and etag is "". */
        const char *meta;
        size_t nmeta;
        bool partial; /* the object has metadata beside these: `missing` of struct store_meta */
        uint64_t metageneration; /* of struct store_meta */
};
void store_entry_meta(const struct store_entry *e, struct store_meta *out);
struct store_page {
        size_t n;
        const struct store_entry *v; /* in the store's order: by bytes of the key */
        const char *next;            /* continuation, NULL after the last page */
};
/* How far a listing of many pages went. Its caller's, for one request at a time; a request without
 * a continuation begins anew. */
struct store_walk {
        uint64_t seen; /* of a continuation that came */
        uint64_t pages;
};
struct store_list {
        struct store_walk *walk;  /* finds out whether the pages go round; NULL: nobody does */
        const char *prefix;       /* "" all */
        const char *delim;        /* "/" or NULL */
        const char *continuation; /* NULL for the first page */
        const char *start_after;  /* NULL, or only keys behind this one (first page) */
        unsigned max;             /* entries to ask for at once, 0 and at most 1000 */
        /* A page has no fewer entries unless it is the last, whatever the store answers at once; 0:
         * one. No more than `max`. */
        unsigned least;
};
/* -EIO: a page of keys that do not begin with the prefix, that names itself as the next one, or one
 * that the walk had before. -ETIMEDOUT also when pages went on coming without an entry. */
typedef void store_list_fn(void *arg, int err, const struct store_page *page);
int store_list(struct store *s, const struct store_list *list, store_list_fn *done, void *arg);

/* --- multipart uploads --- */

/* Begins an upload; done() gets the handle, which the caller ends with store_upload_free() after
 * its last request is done. Free neither completes nor aborts. */
typedef void store_upload_fn(void *arg, int err, struct store_upload *up);
int store_upload_create(struct store *s, const char *key, const struct store_meta *meta,
                        store_upload_fn *done, void *arg);

/* The same for an upload that will get parts by store_upload_part_copy(). Its object has no
 * checksum of the whole where the store cannot make one of copied parts. */
int store_upload_create_copying(struct store *s, const char *key, const struct store_meta *meta,
                                store_upload_fn *done, void *arg);

/* A handle for an upload that is known by its id, to abort it, list its parts, or complete it with
 * store_upload_adopt(). If it was completed before, and the object is still what its parts make,
 * that counts as success; -ENOENT: it is gone. NULL: no memory. */
struct store_upload *store_upload_open(struct store *s, const char *key, const char *id);
const char *store_upload_id(const struct store_upload *up);
void store_upload_free(struct store_upload *up);

/* Sends part `partno` (1..STORE_PART_MAX); a number sent again replaces that part. The body is
 * STORE_PART_SIZE_MIN.. STORE_PART_SIZE_MAX bytes, less only for the last part. Thread-safe for
 * different parts. obj is NULL. */
int store_upload_part(struct store_upload *up, unsigned partno, const struct store_body *body,
                      store_done_fn *done, void *arg);

/* Makes bytes [off, off+len) of object `src`, of version src_match, part `partno`, of an upload
 * that was begun for it (-EINVAL: it was not; -ESTALE: the version is gone). S3 copies no range of
 * an object of STORE_PART_SIZE_MIN bytes and less. obj is NULL. */
int store_upload_part_copy(struct store_upload *up, unsigned partno, const char *src,
                           const char *src_match, uint64_t off, uint64_t len, store_done_fn *done,
                           void *arg);

/* Makes the parts sent so far, in the order of their numbers, the object. A reply that was lost
 * after it took effect is found out and counts as success. done() gets etag and size. */
int store_upload_complete(struct store_upload *up, const struct store_cond *cond,
                          store_done_fn *done, void *arg);
/* The same under another key than it was begun with. NULL: that one. Needs STORE_CAP_COMPLETE_AS
 * (-EOPNOTSUPP). */
int store_upload_complete_as(struct store_upload *up, const char *key,
                             const struct store_cond *cond, store_done_fn *done, void *arg);

/* No more parts come, and those end (-EIO) that wait for others; then it is to be aborted. */
void store_upload_stop(struct store_upload *up);
/* Forgets the upload and its parts; one that is unknown is a success. obj is NULL. */
int store_upload_abort(struct store_upload *up, store_done_fn *done, void *arg);

struct store_part {
        unsigned partno;
        uint64_t size;
        const char *etag;
        bool has_crc; /* crc32c is the part's; not after store_upload_parts() */
        uint32_t crc32c;
};
typedef void store_parts_fn(void *arg, int err, size_t n, const struct store_part *parts);
/* The parts the store holds (ListParts), all pages. */
int store_upload_parts(struct store_upload *up, store_parts_fn *done, void *arg);

/* Walks the parts that a complete would take, by number, until each() returns other than 0; returns
 * that. each() must not call the upload. */
int store_upload_sent(struct store_upload *up,
                      int (*each)(void *arg, const struct store_part *part), void *arg);
/* A part that was sent will be no part of the object; its request must be done. */
void store_upload_drop(struct store_upload *up, unsigned partno);
/* Counts a part as sent by this handle that another one sent: what store_upload_sent() told there.
 * 0 or -ENOMEM, -EINVAL. */
int store_upload_adopt(struct store_upload *up, const struct store_part *part);

struct store_upload_entry {
        const char *key, *id;
        int64_t begun_ns;
};
typedef void store_uploads_fn(void *arg, int err, size_t n, const struct store_upload_entry *v);
/* Unfinished uploads below a prefix of keys; at most the first STORE_UPLOADS_MAX. */
int store_list_uploads(struct store *s, const char *prefix, store_uploads_fn *done, void *arg);

/* --- blocking forms: the same, waited for; not from a callback --- */

int store_head_wait(struct store *s, const char *key, struct store_object *obj);
int store_put_wait(struct store *s, const char *key, const void *p, size_t len,
                   const struct store_meta *meta, const struct store_cond *cond,
                   struct store_object *obj);
/* Reads at most len bytes at off into dst; returns how many, or a negative errno. */
ssize_t store_get_wait(struct store *s, const char *key, uint64_t off, void *dst, size_t len,
                       const char *if_match);
int store_delete_wait(struct store *s, const char *key);
int store_delete_if_wait(struct store *s, const char *key, const char *if_match);
int store_copy_wait(struct store *s, const char *src, const char *dst, struct store_object *obj);
/* One page, handed to `each` entry by entry; *next is malloc'ed or NULL after the last page. */
int store_list_wait(struct store *s, const struct store_list *list,
                    void (*each)(void *arg, const struct store_entry *e), void *arg, char **next);
int store_upload_create_wait(struct store *s, const char *key, const struct store_meta *meta,
                             struct store_upload **out);
int store_upload_part_wait(struct store_upload *up, unsigned partno, const struct store_body *body);
int store_upload_complete_wait(struct store_upload *up, const struct store_cond *cond,
                               struct store_object *obj);
int store_upload_abort_wait(struct store_upload *up);

/* --- beside a store --- */

/* One call of an AWS service that takes JSON, signed with the credentials that s3:// stores take.
 * NULL or "" means the environment's or the profile's setting, then the vendor's. Tried again while
 * that may help. Blocks for half a minute at most. 0, or a negative errno with one line in `why`
 * (-EACCES: refused, with the service's own code and words). */
struct store_aws_call {
        const char *what;    /* the service, for messages */
        const char *service; /* "dynamodb" */
        const char *target;  /* "DynamoDB_20120810.PutItem" */
        const char *body;
        const char *region, *profile, *endpoint, *ca_bundle;
};
int store_aws_call(const struct store_aws_call *call, char *why, size_t nwhy);

/* What the EC2 instance that this runs on tells of itself, by version 2 of its metadata service; ""
 * what it does not. Blocks for at most 5 s. 0, or a negative errno with one line in `why`: -ENOENT
 * (AWS_EC2_METADATA_DISABLED), -EHOSTDOWN (there is no such service here). */
struct store_ec2 {
        char architecture[32], image_id[64], instance_type[64], region[64];
};
int store_ec2_machine(struct store_ec2 *out, char *why, size_t nwhy);

/* --- figures --- */

struct store_stats {
        uint64_t requests, retries, errors, bytes_sent, bytes_received, connections_opened;
        unsigned transfers, transfers_most; /* of data: under way, and how many may be */
};
void store_stats(const struct store *s, struct store_stats *out);

/* Where the credentials of requests are from, for people; never a secret. Does not block. */
struct store_credentials {
        const char *source; /* "environment", a constant; NULL: none were found yet */
        const char *kind;   /* "keys", "session keys", "token" or "none", a constant */
        int64_t fetched_s;  /* seconds since 1970; 0: they were not */
        int64_t expiry_s;   /* the same; 0: never */
        bool usable;        /* they hold now */
        char why[512];      /* one line on the last fetch, if that failed; else "" */
};
void store_credentials(struct store *s, struct store_credentials *out);

/* The HTTP library that runs, which need not be the one of the build: "8.5.0, OpenSSL/3.0.13". */
void store_http_library(char *out, size_t n);

#pragma GCC visibility pop

#endif
