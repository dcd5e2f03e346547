/* SPDX-License-Identifier: Apache-2.0 */
/* reducer.c: see reducer.h.
 *
 * Units are complete one after the other, from the end of the model, also where stages have a
 * thread each: a stage waits for the gradient of the one behind it, which had all of its own by
 * then. So nothing here is locked. */
#include "bench/train/reducer.h"

#include <errno.h>
#include <stdlib.h>

#include "bench/core/clock.h"
#include "bench/core/dev.h"

#include "base/banned.h"

/* How many buckets, which are put down if there is memory for them. */
static size_t cut(struct reducer *r, const struct pipe *p)
{
        size_t n = 0;

        for (unsigned s = p->shape.stages; s-- > 0;) {
                const struct network *g = &p->stage[s].net;
                const size_t first = g->tensors[network_own(g).first].off;
                size_t unit = g->end - 1;

                for (size_t end = network_own(g).elements; end; n++) {
                        const size_t most = (n ? REDUCER_BUCKET : REDUCER_FIRST) / sizeof(float);
                        const size_t len = end < most ? end : most;
                        end -= len;
                        while (g->tensors[network_unit(g, unit).first].off - first > end)
                                unit--;
                        if (r->bucket)
                                r->bucket[n] = (struct reducer_bucket){.of = r,
                                                                       .grads = g->grads + end,
                                                                       .n = len,
                                                                       .device = p->stage[s].device,
                                                                       .unit = unit};
                }
        }
        return n;
}

/* A carrier that sums on a device does so on the first: buckets of others go there and back. */
static int take_room(struct reducer *r)
{
        bool others = false;

        for (size_t i = 0; i < r->n; i++)
                others |= r->bucket[i].device != r->device;
        if (!others || !r->coll->ops->sum_device)
                return 0;
        r->ops->use(r->device);
        return r->ops->alloc(REDUCER_BUCKET, (void **)&r->room);
}

int reducer_init(struct reducer *r, const struct pipe *p, struct coll *c, struct coll_queue *q)
{
        *r = (struct reducer){
                .coll = c, .ops = p->stage[0].net.ops, .device = p->stage[0].device, .queue = q};
        r->n = cut(r, p);
        r->bucket = calloc(r->n, sizeof *r->bucket);
        r->host = (float *)dev_buffer(REDUCER_BUCKET);
        if (!r->bucket || !r->host)
                return -ENOMEM;
        (void)cut(r, p);
        return take_room(r);
}

void reducer_release(struct reducer *r)
{
        for (size_t i = 0; r->bucket && i < r->n; i++)
                r->ops->unmark(r->bucket[i].mark);
        if (r->ops)
                r->ops->release(r->room);
        free(r->bucket);
        dev_buffer_free((char *)r->host, REDUCER_BUCKET);
        *r = (struct reducer){0};
}

/* A rank whose device fails stays to the end, since the others wait for it. */
static int sum_on_host(struct reducer *r, const struct reducer_bucket *b)
{
        if (!r->own)
                r->own = r->ops->get_behind(r->host, b->grads, b->n * sizeof(float), b->mark);
        int err = r->coll->ops->sum(r->coll, r->host, b->n);
        if (!err && !r->own)
                r->own = r->ops->put_beside(b->grads, r->host, b->n * sizeof(float));
        return err;
}

/* As long as this rank's device has not failed. */
static void copy(struct reducer *r, float *to, const float *from, size_t n)
{
        if (!r->own)
                r->own = r->ops->join_beside(to, &from, 1, n);
}

static int sum_on_device(struct reducer *r, const struct reducer_bucket *b)
{
        struct coll *c = r->coll;

        if (b->device == r->device)
                return c->ops->sum_device(c, b->grads, b->n, b->mark, &r->own);
        if (!r->own)
                r->own = r->ops->reach(b->mark);
        r->ops->use(r->device);
        copy(r, r->room, b->grads, b->n);
        int err = c->ops->sum_device(c, r->room, b->n, NULL, &r->own);
        if (!err)
                copy(r, b->grads, r->room, b->n);
        return err;
}

/* The carrier may sum on a device. */
static int sum_bucket(struct coll_work *w)
{
        struct reducer_bucket *b = (struct reducer_bucket *)w;
        struct reducer *r = b->of;
        struct coll *c = r->coll;
        const uint64_t begin = clock_ns();

        r->ops->use(b->device);
        int err = c->ops->sum_device ? sum_on_device(r, b) : sum_on_host(r, b);
        r->ops->use(r->device); /* this may be the thread that computes */
        trace_add(r->trace, TRACE_BUCKET, trace_collectives(r->device), begin, clock_ns(),
                  (uint64_t)(b - r->bucket));
        return err;
}

void reducer_begin(struct reducer *r)
{
        r->next = 0;
        r->own = 0;
        r->pass = 0;
}

/* Gives those that are complete when these units are, all that the device has still to do for which
 * is queued. */
static void give(struct reducer *r, size_t unit)
{
        for (; r->next < r->n && r->bucket[r->next].unit >= unit; r->next++) {
                struct reducer_bucket *b = &r->bucket[r->next];
                r->ops->use(b->device); /* a mark is of one device's queue */
                int err = r->ops->mark(&b->mark);
                r->pass = r->pass ? r->pass : err;
                b->work.call = sum_bucket;
                coll_queue_add(r->queue, &b->work);
        }
}

void reducer_complete(void *arg, size_t unit)
{
        struct reducer *r = arg;

        if (r->queue->beside)
                give(r, unit);
}

int reducer_end(struct reducer *r, int *own)
{
        int err = 0;

        give(r, 0);
        r->ops->use(r->device);
        for (size_t i = 0; i < r->n; i++) {
                int one = coll_queue_wait(r->queue, &r->bucket[i].work);
                err = err ? err : one;
        }
        *own = r->own ? r->own : r->pass;
        return err;
}
