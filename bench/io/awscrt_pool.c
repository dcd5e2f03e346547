/* SPDX-License-Identifier: Apache-2.0 */
/* awscrt_pool.c: see awscrt_pool.h. A reservation is a ticket, which the client holds as long as it
 * needs the part; reservations that find no free buffer wait in the order in which they came. */
#include "bench/io/awscrt_pool.h"

#include <stdbool.h>
#include <stdlib.h>

#include <aws/common/error.h>

#include "base/mutex.h"
#include "base/cleanup.h"
#include "bench/core/dev.h"

#include "base/banned.h"

struct buffer {
        char *mem;
        size_t room;
        bool busy;
};

struct waiter {
        struct waiter *next;
        struct aws_future_s3_buffer_ticket *future;
        size_t size;
};

struct awscrt_pool {
        struct aws_s3_buffer_pool base; /* first: what the client knows */
        struct aws_allocator *alloc;
        struct awscrt_pool_config config;
        struct mutex mtx; /* guards which buffers are busy, too */
        struct waiter *first GUARDED_BY(&mtx), **last GUARDED_BY(&mtx);
        struct buffer buffers[];
};

struct ticket {
        struct aws_s3_buffer_ticket base;
        struct awscrt_pool *pool;
        void *mem;
        size_t size;
};

static int buffer_room(struct buffer *b, size_t room)
{
        if (b->room >= room)
                return 0;
        dev_buffer_free(b->mem, b->room);
        b->mem = dev_buffer(room);
        b->room = b->mem ? room : 0;
        return b->mem ? 0 : -1;
}

/* False: all are busy. With true, NULL means that there is no memory. */
static bool take_locked(struct awscrt_pool *p, size_t size, void **out) REQUIRES(&p->mtx)
{
        for (size_t i = 0; i < p->config.buffers; i++) {
                struct buffer *b = &p->buffers[i];
                if (b->busy)
                        continue;
                *out = NULL;
                if (!buffer_room(b, size > p->config.room ? size : p->config.room)) {
                        b->busy = true;
                        *out = b->mem;
                }
                return true;
        }
        return false;
}

static struct aws_byte_buf ticket_claim(struct aws_s3_buffer_ticket *base)
{
        const struct ticket *t = (struct ticket *)base;
        return aws_byte_buf_from_empty_array(t->mem, t->size);
}

static void ticket_end(void *arg)
{
        struct ticket *t = arg;
        awscrt_pool_give(t->pool, t->mem);
        free(t);
}

static struct aws_s3_buffer_ticket_vtable ticket_table = {.claim = ticket_claim};

/* Answers a reservation with that memory; the future is released. */
static void answer(struct awscrt_pool *p, struct aws_future_s3_buffer_ticket *future, void *mem,
                   size_t size)
{
        struct ticket *t = mem ? calloc(1, sizeof *t) : NULL;

        if (t) {
                *t = (struct ticket){.pool = p, .mem = mem, .size = size};
                t->base.vtable = &ticket_table;
                t->base.impl = t;
                aws_ref_count_init(&t->base.ref_count, t, ticket_end);
                struct aws_s3_buffer_ticket *base = &t->base;
                aws_future_s3_buffer_ticket_set_result_by_move(future, &base);
        } else {
                awscrt_pool_give(p, mem);
                aws_future_s3_buffer_ticket_set_error(future, AWS_ERROR_OOM);
        }
        aws_future_s3_buffer_ticket_release(future);
}

void *awscrt_pool_take(struct awscrt_pool *p, size_t size)
{
        void *mem = NULL;
        mutex_lock(&p->mtx);
        (void)take_locked(p, size, &mem);
        mutex_unlock(&p->mtx);
        return mem;
}

void awscrt_pool_give(struct awscrt_pool *p, const void *mem)
{
        struct waiter *w = NULL;
        void *next = NULL;

        mutex_lock(&p->mtx);
        for (size_t i = 0; mem && i < p->config.buffers; i++)
                if (p->buffers[i].mem == mem)
                        p->buffers[i].busy = false;
        if (p->first && take_locked(p, p->first->size, &next)) {
                w = p->first;
                p->first = w->next;
                if (!p->first)
                        p->last = &p->first;
        }
        mutex_unlock(&p->mtx);
        if (w)
                answer(p, w->future, next,
                       w->size); /* also one that was cancelled: it gives back */
        free(w);
}

static struct aws_future_s3_buffer_ticket *reserve(struct aws_s3_buffer_pool *base,
                                                   struct aws_s3_buffer_pool_reserve_meta meta)
{
        struct awscrt_pool *p = (struct awscrt_pool *)base;
        struct aws_future_s3_buffer_ticket *future = aws_future_s3_buffer_ticket_new(p->alloc);
        struct waiter *w = malloc(sizeof *w);
        void *mem = p->config.target(p->config.arg, meta.meta_request, meta.size);
        bool waits = false;

        aws_future_s3_buffer_ticket_acquire(future);
        if (!mem && w) {
                mutex_lock(&p->mtx);
                waits = p->first || !take_locked(p, meta.size, &mem);
                if (waits) {
                        *w = (struct waiter){NULL, future, meta.size};
                        *p->last = TAKE_PTR(w);
                        p->last = &(*p->last)->next;
                }
                mutex_unlock(&p->mtx);
        }
        if (!waits)
                answer(p, future, mem, meta.size);
        free(w);
        return future;
}

static void keep(struct aws_s3_buffer_pool *base)
{
        (void)base; /* what is pinned stays so until the end */
}

static void unused(void *arg)
{
        (void)arg; /* awscrt_pool_free() ends it, later than the client */
}

static struct aws_s3_buffer_pool_vtable pool_table = {.reserve = reserve, .trim = keep};

struct awscrt_pool *awscrt_pool_new(struct aws_allocator *alloc,
                                    const struct awscrt_pool_config *config)
{
        struct awscrt_pool *p = calloc(1, sizeof *p + config->buffers * sizeof p->buffers[0]);
        if (!p)
                return NULL;
        p->alloc = alloc;
        p->config = *config;
        mutex_unshared(&p->mtx);
        p->last = &p->first;
        mutex_init(&p->mtx, LOCK_BENCH);
        p->base.vtable = &pool_table;
        p->base.impl = p;
        aws_ref_count_init(&p->base.ref_count, p, unused);
        for (size_t i = 0; i < config->buffers && dev_get(); i++) {
                if (buffer_room(&p->buffers[i], config->room)) {
                        awscrt_pool_free(p);
                        return NULL;
                }
        }
        return p;
}

void awscrt_pool_free(struct awscrt_pool *p)
{
        if (!p)
                return;
        for (size_t i = 0; i < p->config.buffers; i++)
                dev_buffer_free(p->buffers[i].mem, p->buffers[i].room);
        mutex_destroy(&p->mtx);
        free(p);
}

struct aws_s3_buffer_pool *awscrt_pool_factory(struct aws_allocator *alloc,
                                               struct aws_s3_buffer_pool_config config, void *arg)
{
        (void)alloc;
        (void)config;
        return &((struct awscrt_pool *)arg)->base;
}
