/* SPDX-License-Identifier: Apache-2.0 */
/* sample_source.h: where the samples of a dataset are, a prefix of a bucket or a directory: their
 * list, and each of them as a stream to read or to write.
 *
 * Errors are negative errnos; -ECANCELED after a signal. A place is thread-safe, a stream and a
 * sink are one thread's. Everything blocks. */
#ifndef CKPTFS_BENCH_SCENARIO_SAMPLE_SOURCE_H
#define CKPTFS_BENCH_SCENARIO_SAMPLE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "bench/core/keys.h"

struct place;

/* The storage of datasets that keys name: that of the storage key, or, where it is "auto", the one
 * whose address is given. NULL with one line in `why`. */
const char *place_storage(const struct keys *k, char *why, size_t nwhy);

/* Opens dataset `name` on a storage; `make` makes the directory. 0 or a negative errno with one
 * line in `why`. */
int place_open(const struct keys *k, const char *storage, const char *name, bool make,
               struct place **out, char *why, size_t nwhy);
void place_close(struct place *p); /* NULL is fine */
/* s3://bucket/name, or the directory. */
const char *place_text(const struct place *p);
/* Whether the page cache of this machine holds what is read. */
bool place_is_cached(const struct place *p);

/* What is there. */
struct place_item {
        size_t name; /* where it begins in names.p */
        uint64_t size;
};
struct place_list {
        struct buf names; /* each ends in NUL */
        struct place_item *v;
        size_t n;
};
#define PLACE_LIST_INIT                                                                            \
        {                                                                                          \
                .names = BUF_INIT                                                                  \
        }
/* Objects or files, also in folders below, by name; what begins with a dot is left out. */
int place_list(struct place *p, struct place_list *out);
void place_list_release(struct place_list *l);
static inline const char *place_name(const struct place_list *l, size_t i)
{
        return l->names.p + l->v[i].name;
}

/* Makes the page cache forget a file. */
int place_forget(struct place *p, const char *name);
/* Removes the names that name(arg, i) tells, i in [0, n), there or not; the directory too when it
 * is empty then. */
typedef void place_name_fn(void *arg, size_t i, char *out, size_t n);
int place_remove(struct place *p, place_name_fn *name, void *arg, size_t n);

/* --- reading (sample_source_read.c) */

struct stream;
/* How samples are read: `ahead`: the next block is fetched while one is used; else when it is asked
 * for. A stream has memory for one or two blocks. */
struct stream_how {
        bool ahead;
        size_t block;
};
int stream_new(struct place *p, const struct stream_how *how, struct stream **out);
/* Begins to read an object or file of `size` bytes. */
int stream_begin(struct stream *s, const char *name, uint64_t size);
/* The next piece, which stays until the next call; *n is 0 at the end. -ESTALE: it was replaced
 * meanwhile. */
int stream_next(struct stream *s, const void **p, size_t *n);
/* Ends the reading; again after the end does nothing. */
void stream_end(struct stream *s);
void stream_free(struct stream *s); /* NULL is fine */

/* --- writing (sample_source_write.c) */

struct sink;
/* Begins an object or file. Memory grows to two parts of an upload at most. */
int sink_open(struct place *p, const char *name, struct sink **out);
int sink_write(struct sink *s, const void *p, size_t n);
/* Publishes it; frees s whatever it returns. */
int sink_close(struct sink *s);
/* Frees s; nothing that was written stays. NULL is fine. */
void sink_abandon(struct sink *s);

#endif
