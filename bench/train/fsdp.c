/* SPDX-License-Identifier: Apache-2.0 */
/* fsdp.c: see fsdp.h.
 *
 * Ranks send each other all parts of a unit at once: rank r's block has its part of each tensor of
 * the unit, one behind the other, as they lie in its run. */
#include "bench/train/fsdp.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/core/clock.h"
#include "bench/core/dev.h"

#include "base/banned.h"

/* Elements of a tensor that a rank has at most: those of whole rows, or all of what torch takes for
 * one row. */
static size_t part_room(const struct network_tensor *t, unsigned ranks)
{
        size_t rows = t->lead ? 1 : t->rows, row = t->n / rows;
        return (rows + ranks - 1) / ranks * row;
}

static struct fsdp_part part_of(const struct network_tensor *t, unsigned rank, unsigned ranks)
{
        const size_t room = part_room(t, ranks);
        size_t first = room * rank < t->n ? room * rank : t->n;

        return (struct fsdp_part){.first = first, .n = t->n - first < room ? t->n - first : room};
}

struct fsdp_part fsdp_part(const struct fsdp *f, size_t tensor)
{
        struct fsdp_part p = part_of(&f->net->tensors[tensor], f->coll->rank, f->coll->ranks);
        p.off = f->at[tensor];
        return p;
}

/* Elements of a unit in a run. */
static size_t unit_room(const struct fsdp *f, const struct network_unit *u)
{
        size_t end = u->first + u->n;
        return (end < f->net->ntensors ? f->at[end] : f->n) - f->at[u->first];
}

/* Places of what ranks send each other; of a unit at most `room` elements of a rank. */
static int take_places(struct fsdp *f, size_t room)
{
        struct fsdp_work *const works[] = {&f->gather[0], &f->gather[1], &f->scatter};

        for (size_t i = 0; i < 3; i++) {
                works[i]->of = f;
                works[i]->place = &f->place[f->prefetch == FSDP_NOOP ? 0 : i];
        }
        for (size_t i = 0; i < (f->prefetch == FSDP_NOOP ? 1 : 3); i++) {
                struct fsdp_place *p = &f->place[i];
                p->bytes = room * sizeof(float);
                p->all_bytes = f->coll->ranks * p->bytes;
                if (f->there) {
                        int err = f->net->ops->alloc(p->all_bytes, (void **)&p->all);
                        if (err)
                                return err;
                        continue;
                }
                p->mine = (float *)dev_buffer(p->bytes);
                p->all = (float *)dev_buffer(p->all_bytes);
                if (!p->mine || !p->all)
                        return -ENOMEM;
                memset(p->mine, 0, p->bytes);
                memset(p->all, 0, p->all_bytes);
        }
        return 0;
}

int fsdp_init(struct fsdp *f, struct network *g, const struct math_ops *home, unsigned device,
              struct coll *c, struct coll_queue *q, enum fsdp_prefetch prefetch)
{
        size_t room = 0, whole = 0;
        int err = 0;

        *f = (struct fsdp){.net = g,
                           .home = home,
                           .coll = c,
                           .device = device,
                           .there = c->ops->gather_device != NULL,
                           .queue = q,
                           .prefetch = prefetch,
                           .at = calloc(g->ntensors + 1, sizeof *f->at)};
        if (!f->at)
                return -ENOMEM;
        for (size_t i = 0; i < g->ntensors; i++) {
                f->at[i] = f->n;
                f->n += part_room(&g->tensors[i], c->ranks);
        }
        for (size_t i = 0; i < network_units(&g->model); i++) {
                const struct network_unit u = network_unit(g, i);
                size_t n = unit_room(f, &u);
                room = n > room ? n : room;
                whole = u.elements > whole ? u.elements : whole;
        }
        float **const runs[] = {&f->params, &f->grads, &f->weights, &f->sums};
        for (size_t i = 0; i < 4 && !err; i++)
                err = (i < 2 ? home : g->ops)
                              ->alloc((i < 2 ? f->n : whole) * sizeof(float), (void **)runs[i]);
        if (!err && f->there && home != g->ops)
                err = g->ops->alloc(room * sizeof(float), (void **)&f->passing);
        return err ? err : take_places(f, room);
}

void fsdp_release(struct fsdp *f)
{
        if (!f->net)
                return;
        f->home->release(f->params);
        f->home->release(f->grads);
        f->net->ops->release(f->passing);
        f->net->ops->release(f->weights);
        f->net->ops->release(f->sums);
        for (size_t i = 0; i < 3; i++) {
                struct fsdp_place *p = &f->place[i];
                f->net->ops->unmark(p->mark);
                dev_buffer_free((char *)p->mine, p->bytes);
                if (f->there)
                        f->net->ops->release(p->all);
                else
                        dev_buffer_free((char *)p->all, p->all_bytes);
        }
        free(f->at);
        *f = (struct fsdp){0};
}

/* Queues the move of each part of each tensor between the blocks of all ranks and the whole unit,
 * and marks its end. */
static int move_parts(struct fsdp *f, const struct network_unit *u, float *whole,
                      struct fsdp_place *place, bool to_whole)
{
        const struct math_ops *ops = f->net->ops;
        const size_t room = unit_room(f, u);
        int err = 0;

        for (size_t i = u->first; i < u->first + u->n; i++) {
                const struct network_tensor *t = &f->net->tensors[i];
                float *tensor = whole + (t->off - f->net->tensors[u->first].off);
                for (unsigned r = 0; r < f->coll->ranks && !err; r++) {
                        struct fsdp_part p = part_of(t, r, f->coll->ranks);
                        float *block = place->all + r * room + (f->at[i] - f->at[u->first]);
                        if (p.n && f->there)
                                ops->copy(to_whole ? tensor + p.first : block,
                                          to_whole ? block : tensor + p.first, p.n);
                        else if (p.n && to_whole)
                                err = ops->put_queued(tensor + p.first, block, p.n * sizeof(float));
                        else if (p.n)
                                err = ops->get_queued(block, tensor + p.first, p.n * sizeof(float));
                }
        }
        int marked = ops->mark(&place->mark);
        return err ? err : marked;
}

static void note_error(struct fsdp *f, int err)
{
        if (!f->err)
                f->err = err;
}

static int gather_on_host(struct fsdp_work *g, const float *mine, size_t n)
{
        struct coll *c = g->of->coll;
        const size_t bytes = n * sizeof *mine;

        if (!g->own)
                g->own = g->of->home->get_behind(g->place->mine, mine, bytes, NULL);
        return c->ops->gather(c, g->place->mine, bytes, g->place->all);
}

/* A rank whose part cannot come goes on with what is there: *own is told. */
static int gather_there(struct fsdp_work *g, const float *mine, size_t n)
{
        struct fsdp *f = g->of;

        if (f->passing && !g->own)
                g->own = f->net->ops->put_beside(f->passing, mine, n * sizeof *mine);
        return f->coll->ops->gather_device(f->coll, f->passing ? f->passing : mine, n,
                                           g->place->all, &g->own);
}

/* What a step changes stands still while its passes go on: no copy of it waits for them. */
static int gather_unit(struct coll_work *w)
{
        struct fsdp_work *g = (struct fsdp_work *)w;
        const struct math_ops *ops = g->of->net->ops;
        const struct network_unit u = network_unit(g->of->net, g->unit);
        const size_t n = unit_room(g->of, &u);
        const float *mine = g->of->params + g->of->at[u.first];
        const uint64_t begin = clock_ns();

        ops->use(g->of->device); /* the queue's thread may be new to it */
        g->own = ops->reach(g->place->mark);
        int err = g->of->there ? gather_there(g, mine, n) : gather_on_host(g, mine, n);
        trace_add(g->of->trace, TRACE_GATHER, trace_collectives(g->of->device), begin, clock_ns(),
                  g->unit);
        return err;
}

static int scatter_on_host(struct fsdp_work *s, float *mine, size_t n)
{
        struct coll *c = s->of->coll;
        int err = c->ops->sum_scatter(c, s->place->all, s->place->mine, n);

        if (!err && !s->own)
                s->own = s->of->home->put_beside(mine, s->place->mine, n * sizeof *mine);
        return err;
}

static int scatter_there(struct fsdp_work *s, float *mine, size_t n)
{
        struct fsdp *f = s->of;
        int err = f->coll->ops->scatter_device(
                f->coll, s->place->all, f->passing ? f->passing : mine, n, s->place->mark, &s->own);

        if (!err && f->passing && !s->own)
                s->own = f->net->ops->get_behind(mine, f->passing, n * sizeof *mine, NULL);
        return err;
}

static int scatter_unit(struct coll_work *w)
{
        struct fsdp_work *s = (struct fsdp_work *)w;
        const struct math_ops *ops = s->of->net->ops;
        const struct network_unit u = network_unit(s->of->net, s->unit);
        const size_t n = unit_room(s->of, &u);
        float *mine = s->of->grads + s->of->at[u.first];
        const uint64_t begin = clock_ns();

        ops->use(s->of->device);
        s->own = s->of->there ? 0 : ops->reach(s->place->mark);
        int err = s->of->there ? scatter_there(s, mine, n) : scatter_on_host(s, mine, n);
        trace_add(s->of->trace, TRACE_SCATTER, trace_collectives(s->of->device), begin, clock_ns(),
                  s->unit);
        return err;
}

static void start(struct fsdp *f, struct fsdp_work *w, int (*call)(struct coll_work *w))
{
        w->work.call = call;
        w->under_way = true;
        coll_queue_add(f->queue, &w->work);
}

/* Of two units beside each other, one has the first place and one the second. */
static struct fsdp_work *start_gather(struct fsdp *f, size_t unit)
{
        struct fsdp_work *w = &f->gather[unit % 2];

        if (w->under_way)
                return w;
        w->unit = unit;
        start(f, w, gather_unit);
        return w;
}

/* The unit that follows in the pass. */
static void start_next(struct fsdp *f, size_t unit, bool backward)
{
        if (backward ? unit > 0 : unit + 1 < network_units(&f->net->model))
                start_gather(f, backward ? unit - 1 : unit + 1);
}

static void finish(struct fsdp *f, struct fsdp_work *w)
{
        if (!w->under_way)
                return;
        note_error(f, coll_queue_wait(f->queue, &w->work));
        note_error(f, w->own);
        w->under_way = false;
}

void fsdp_before(void *arg, size_t unit, bool backward)
{
        struct fsdp *f = arg;
        const struct network_unit u = network_unit(f->net, unit);
        struct fsdp_work *w = start_gather(f, unit);

        finish(f, w);
        note_error(f, move_parts(f, &u, f->weights, w->place, true));
        if (f->prefetch == FSDP_PREHOOK)
                start_next(f, unit, backward);
        if (backward)
                f->net->ops->zero(f->sums, u.elements);
        for (size_t i = u.first; i < u.first + u.n; i++) {
                struct network_tensor *t = &f->net->tensors[i];
                t->weight = f->weights + (t->off - f->net->tensors[u.first].off);
                t->grad = f->sums + (t->off - f->net->tensors[u.first].off);
        }
}

/* What fills parts up. */
static void clear_place(struct fsdp *f, struct fsdp_place *place, size_t n)
{
        if (f->there) {
                f->net->ops->zero(place->all, n);
                return;
        }
        note_error(f, f->net->ops->reach(place->mark));
        memset(place->all, 0, n * sizeof *place->all);
}

void fsdp_after(void *arg, size_t unit, bool backward)
{
        struct fsdp *f = arg;
        const struct network_unit u = network_unit(f->net, unit);

        if (f->prefetch == FSDP_POSTHOOK)
                start_next(f, unit, backward);
        if (!backward)
                return;
        finish(f, &f->scatter);
        clear_place(f, f->scatter.place, unit_room(f, &u) * f->coll->ranks);
        note_error(f, move_parts(f, &u, f->sums, f->scatter.place, false));
        f->scatter.unit = unit;
        start(f, &f->scatter, scatter_unit);
        if (f->prefetch == FSDP_NOOP || !unit)
                finish(f, &f->scatter);
}

/* Elements that a run has more than its share: all ranks have room for all of the positions. */
static double run_excess(const struct model *m, unsigned ranks)
{
        return (double)m->hidden * m->block * (ranks - 1);
}

static double run_elements(const struct model *m, unsigned ranks, unsigned runs)
{
        return ((double)model_params(m) + run_excess(m, ranks)) / ranks * runs;
}

uint64_t fsdp_run_bytes(const struct model *m, unsigned ranks, unsigned runs)
{
        const double bytes = run_elements(m, ranks, runs) * sizeof(float);
        return (uint64_t)(bytes < NETWORK_BYTES_MAX ? bytes : NETWORK_BYTES_MAX);
}

uint64_t fsdp_bytes(const struct model *m, unsigned ranks, unsigned runs,
                    enum fsdp_prefetch prefetch)
{
        const double h = m->hidden, block = 12 * h * h + 13 * h;
        const double position = h * m->block, token = h * (double)m->vocab; /* the embedding */
        const double more = run_excess(m, ranks);
        const double whole = fmax(block, token + position);
        const double all = fmax(block, token + position + more);
        double bytes = run_elements(m, ranks, runs); /* params and so on */
        bytes += 2 * whole;                          /* weights and sums */
        /* what ranks send each other */
        bytes += all * (1 + 1.0 / ranks) * (prefetch == FSDP_NOOP ? 1 : 3);
        if (ranks > 1)
                bytes += 2 * all; /* Open MPI's own, of a sum that is scattered */
        bytes *= sizeof(float);
        return (uint64_t)(bytes < NETWORK_BYTES_MAX ? bytes : NETWORK_BYTES_MAX);
}
