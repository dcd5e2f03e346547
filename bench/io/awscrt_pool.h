/* SPDX-License-Identifier: Apache-2.0 */
/* awscrt_pool.h: the memory that aws-c-s3 keeps its parts in. Its own is pageable, and what it has
 * received there would have to be copied once more; these are buffers of dev.h, pinned where a
 * device is in use, or the very memory that a range is to be loaded into. */
#ifndef CKPTFS_BENCH_AWSCRT_POOL_H
#define CKPTFS_BENCH_AWSCRT_POOL_H

#include <stddef.h>

#include <aws/s3/s3_buffer_pool.h>

/* Whether the request's only part of `size` bytes goes to memory of the caller: that, or NULL. From
 * any thread. */
typedef void *awscrt_target_fn(void *arg, const struct aws_s3_meta_request *r, size_t size);

struct awscrt_pool_config {
        size_t buffers; /* at most so many at once; who wants more waits */
        size_t room;    /* bytes of each, which grows where a part is larger */
        awscrt_target_fn *target;
        void *arg;
};

struct awscrt_pool;

/* With a device in use all buffers are made at once, since pinning takes a time that no save is to
 * pay. NULL: no memory. */
struct awscrt_pool *awscrt_pool_new(struct aws_allocator *alloc,
                                    const struct awscrt_pool_config *config);
/* When no client uses it any longer. NULL is fine. */
void awscrt_pool_free(struct awscrt_pool *p);

/* What a client's configuration takes as its factory, with the pool as its user data. */
aws_s3_buffer_pool_factory_fn awscrt_pool_factory;

/* A buffer of `size` bytes for the caller itself, while no transfer is under way, until give back.
 * NULL: no memory. */
void *awscrt_pool_take(struct awscrt_pool *p, size_t size);
void awscrt_pool_give(struct awscrt_pool *p, const void *mem);

#endif
