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

int fsdp_init(struct fsdp *f, struct network *g, struct coll *c)
{
        const struct math_ops *ops = g->ops;
        size_t room = 0, whole = 0;
        int err = 0;

        *f = (struct fsdp){.net = g, .coll = c, .at = calloc(g->ntensors + 1, sizeof *f->at)};
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
                err = ops->alloc((i < 2 ? f->n : whole) * sizeof(float), (void **)runs[i]);
        f->host_mine = calloc(room, sizeof(float));
        f->host_all = calloc(room * c->ranks, sizeof(float));
        return !err && (!f->host_mine || !f->host_all) ? -ENOMEM : err;
}

void fsdp_release(struct fsdp *f)
{
        if (!f->net)
                return;
        f->net->ops->release(f->params);
        f->net->ops->release(f->grads);
        f->net->ops->release(f->weights);
        f->net->ops->release(f->sums);
        free(f->host_mine);
        free(f->host_all);
        free(f->at);
        *f = (struct fsdp){0};
}

/* Moves each part of each tensor between the blocks of all ranks and the whole unit. */
static int move_parts(struct fsdp *f, const struct network_unit *u, float *whole, bool to_whole)
{
        const struct math_ops *ops = f->net->ops;
        const size_t room = unit_room(f, u);
        int err = 0;

        for (size_t i = u->first; i < u->first + u->n; i++) {
                const struct network_tensor *t = &f->net->tensors[i];
                float *tensor = whole + (t->off - f->net->tensors[u->first].off);
                for (unsigned r = 0; r < f->coll->ranks && !err; r++) {
                        struct fsdp_part p = part_of(t, r, f->coll->ranks);
                        float *block = f->host_all + r * room + (f->at[i] - f->at[u->first]);
                        if (p.n && to_whole)
                                err = ops->put(tensor + p.first, block, p.n * sizeof(float));
                        else if (p.n)
                                err = ops->get(block, tensor + p.first, p.n * sizeof(float));
                }
        }
        return err;
}

static void keep_error(struct fsdp *f, int err)
{
        if (!f->err)
                f->err = err;
}

/* What a collective came to. */
static void keep_collective(struct fsdp *f, int err)
{
        keep_error(f, err);
        f->apart |= err != 0;
}

void fsdp_before(void *arg, size_t unit, bool backward)
{
        struct fsdp *f = arg;
        const struct network_unit u = network_unit(f->net, unit);
        const size_t n = unit_room(f, &u) * sizeof(float);
        const uint64_t begin = clock_ns();
        struct coll *c = f->coll;

        keep_error(f, f->net->ops->get(f->host_mine, f->params + f->at[u.first], n));
        if (!f->apart)
                keep_collective(f, c->ops->gather(c, f->host_mine, n, f->host_all));
        keep_error(f, move_parts(f, &u, f->weights, true));
        trace_add(f->trace, TRACE_GATHER, TRACE_STEPS, begin, clock_ns(), unit);
        if (backward)
                f->net->ops->zero(f->sums, u.elements);
        for (size_t i = u.first; i < u.first + u.n; i++) {
                struct network_tensor *t = &f->net->tensors[i];
                t->weight = f->weights + (t->off - f->net->tensors[u.first].off);
                t->grad = f->sums + (t->off - f->net->tensors[u.first].off);
        }
}

void fsdp_after(void *arg, size_t unit, bool backward)
{
        struct fsdp *f = arg;
        const struct network_unit u = network_unit(f->net, unit);
        const size_t n = unit_room(f, &u);
        const uint64_t begin = clock_ns();
        struct coll *c = f->coll;

        if (!backward)
                return;
        memset(f->host_all, 0, n * c->ranks * sizeof(float)); /* what fills parts up */
        keep_error(f, move_parts(f, &u, f->sums, false));
        if (!f->apart)
                keep_collective(f, c->ops->sum_scatter(c, f->host_all, f->host_mine, n));
        keep_error(f, f->net->ops->put(f->grads + f->at[u.first], f->host_mine, n * sizeof(float)));
        trace_add(f->trace, TRACE_SCATTER, TRACE_STEPS, begin, clock_ns(), unit);
}

uint64_t fsdp_bytes(const struct model *m, unsigned ranks, unsigned runs)
{
        const double h = m->hidden, block = 12 * h * h + 13 * h;
        const double position = h * m->block, token = h * (double)m->vocab; /* the embedding */
        const double more = position * (ranks - 1); /* all ranks have room for all of it */
        const double whole = fmax(block, token + position);
        const double all = fmax(block, token + position + more);
        double bytes = ((double)model_params(m) + more) / ranks * runs; /* params and so on */
        bytes += 2 * whole;                                             /* weights and sums */
        bytes += all * (1 + 1.0 / ranks);                               /* host_all, host_mine */
        if (ranks > 1)
                bytes += 2 * all; /* Open MPI's own, of a sum that is scattered */
        bytes *= sizeof(float);
        return (uint64_t)(bytes < NETWORK_BYTES_MAX ? bytes : NETWORK_BYTES_MAX);
}
