/* SPDX-License-Identifier: Apache-2.0 */
/* reader.h: reads of one version of an object, fetched ahead.
 *
 * Every request to the store carries the version, so bytes of two versions never mix (-ESTALE).
 * Reads at any offset; several streams of one file each have their own window (readahead.h). Where
 * the store knows the checksum of the whole object and every byte was read, in whatever order, the
 * last ones are given out only if the checksum agreed (-EIO, then for every later read). Nothing
 * here blocks. Thread-safe, reference-counted. What was read past the page cache stays, also after
 * the last close, while the cache has room (version_cache.h). */
#ifndef CKPTFS_MOUNT_READER_H
#define CKPTFS_MOUNT_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/mutex.h"
#include "base/pool.h"
#include "store.h"

struct reader;
struct version_cache;

struct reader_env {
        struct store *store;
        struct pool *pool;
        uint64_t read_size;          /* bytes, largest request of read-ahead */
        uint64_t max_window;         /* atomic: bytes read ahead in one file, at most */
        struct version_cache *cache; /* of what was read, or NULL */
};

enum { READ_IOV_MAX = 8 };

/* One read; the fields above the line are the caller's. At most READ_IOV_MAX - 2 MiB. */
struct read_op {
        uint64_t off;
        size_t len;
        bool cacheable; /* no page cache gets the bytes: they stay for who reads them next */
        /* Runs once, on any thread, maybe before reader_read() returns. On err 0 the bytes are in
         * iov, fewer than len only at the end of the file, valid until done() returns; done() must
         * not read again. */
        void (*done)(struct read_op *op, int err, const struct iovec *iov, int niov);
        /* --- the reader's --- */
        struct read_op *next;
        struct reader *reader;
        struct waiter starved;
};

static inline void read_op_end(struct read_op *op, int err, const struct iovec *iov, int niov)
{
        mutex_check_none();
        op->done(op, err, iov, niov);
}

/* A reader of the version `obj` of `key`, with one reference. `env` must outlive it. NULL: no
 * memory. */
struct reader *reader_new(const struct reader_env *env, const char *key,
                          const struct store_object *obj);
struct reader *reader_ref(struct reader *r);
void reader_unref(struct reader *r);

/* Opens and closes count who may still read: the last close stops all requests. */
void reader_open(struct reader *r);
void reader_close(struct reader *r);
/* Closes it and gives up the reference. NULL is fine. */
void reader_end(struct reader *r);

void reader_read(struct reader *r, struct read_op *op);

/* The checksum of the whole object, which was not known when the reader was made. Call before
 * anything is read. */
void reader_expect(struct reader *r, uint32_t crc32c);

/* Fetches the first n bytes before anybody reads, if there is memory to spare. */
void reader_ahead(struct reader *r, uint64_t n);

/* The version that is read is at `key` now, with the same bytes and the given etag: requests go
 * there, also again those that find the old key empty. Call with the tree's lock. 0 or -ENOMEM. */
int reader_rename(struct reader *r, const char *key, const char *etag);

/* Between the two a request that finds no such version waits, and is then sent again at the place
 * that reader_rename() gave; without one it fails. They nest. The first returns a reference, which
 * the second drops; call that without any lock. NULL is fine. */
struct reader *reader_moving(struct reader *r);
void reader_moved(struct reader *r);

/* The cache of readers for at most `most` bytes. NULL: no memory. */
struct version_cache *reader_cache_new(size_t most);
/* A reader of that version which was closed and has bytes in the cache; open, with a reference; or
 * NULL. Call with the tree's lock. */
struct reader *reader_from_cache(const struct reader_env *env, const char *key,
                                 const struct store_object *obj);
/* Bytes that stay for the next reader. */
uint64_t reader_cached(struct reader *r);

/* Drops what was fetched ahead and nobody waits for; returns bytes given back. */
size_t reader_shrink(struct reader *r);

/* Whether bytes that were given do not have the checksum of the object: all reads fail. */
bool reader_is_wrong(struct reader *r);
const char *reader_etag(const struct reader *r);
uint64_t reader_size(const struct reader *r);

#endif
