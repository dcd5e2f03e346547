/* SPDX-License-Identifier: Apache-2.0 */
/* sample_source.h: where the samples of a dataset are, a prefix of a bucket or a directory: their
 * list, and each of them as a stream to read or to write.
 *
 * Errors are negative errnos; -ECANCELED after a signal. A source is thread-safe, a stream and a
 * sink are one thread's. Everything blocks. */
#ifndef CKPTFS_BENCH_SCENARIO_SAMPLE_SOURCE_H
#define CKPTFS_BENCH_SCENARIO_SAMPLE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "bench/core/keys.h"

struct sample_source;

/* The storage of datasets that keys name: that of the storage key, or, where it is "auto", the one
 * whose address is given. NULL with one line in `why`. */
const char *sample_source_storage(const struct keys *k, char *why, size_t nwhy);

/* Opens dataset `name` on a storage; `make` makes the directory. 0 or a negative errno with one
 * line in `why`. */
int sample_source_open(const struct keys *k, const char *storage, const char *name, bool make,
                       struct sample_source **out, char *why, size_t nwhy);
void sample_source_close(struct sample_source *p); /* NULL is fine */
/* s3://bucket/name, or the directory. */
const char *sample_source_text(const struct sample_source *p);
/* Whether the page cache of this machine holds what is read. */
bool sample_source_is_cached(const struct sample_source *p);

/* What is there. */
struct sample_item {
        size_t name; /* where it begins in names.p */
        uint64_t size;
};
struct sample_list {
        struct buf names; /* each ends in NUL */
        struct sample_item *v;
        size_t n;
};
#define SAMPLE_LIST_INIT                                                                           \
        {                                                                                          \
                .names = BUF_INIT                                                                  \
        }
/* Objects or files, also in folders below, by name; what begins with a dot is left out. */
int sample_source_list(struct sample_source *p, struct sample_list *out);
void sample_source_list_release(struct sample_list *l);
static inline const char *sample_source_name(const struct sample_list *l, size_t i)
{
        return l->names.p + l->v[i].name;
}

/* Makes the page cache forget a file. -EBUSY: it keeps more than 1 % of it. */
int sample_source_forget(struct sample_source *p, const char *name);
/* Removes the names that name(arg, i) tells, i in [0, n), there or not; the directory too when it
 * is empty then. */
typedef void sample_source_name_fn(void *arg, size_t i, char *out, size_t n);
int sample_source_remove(struct sample_source *p, sample_source_name_fn *name, void *arg, size_t n);

/* --- reading (sample_source_read.c) --- */

struct stream;
/* How samples are read: `ahead`: the next block is fetched while one is used; else when it is asked
 * for. A stream has memory for one or two blocks. */
struct stream_how {
        bool ahead;
        size_t block;
};
int stream_new(struct sample_source *p, const struct stream_how *how, struct stream **out);
/* Begins to read an object or file of `size` bytes. */
int stream_begin(struct stream *s, const char *name, uint64_t size);
/* The next piece, which stays until the next call; *n is 0 at the end. -ESTALE: it was replaced
 * meanwhile. */
int stream_next(struct stream *s, const void **p, size_t *n);
/* Ends the reading; again after the end does nothing. */
void stream_end(struct stream *s);
void stream_free(struct stream *s); /* NULL is fine */

/* --- writing (sample_source_write.c) --- */

struct sink;
/* Begins an object or file. Memory grows to two parts of an upload at most. */
int sink_open(struct sample_source *p, const char *name, struct sink **out);
int sink_write(struct sink *s, const void *p, size_t n);
/* Publishes it; frees s whatever it returns. */
int sink_close(struct sink *s);
/* Frees s; nothing that was written stays. NULL is fine. */
void sink_abandon(struct sink *s);

#endif
