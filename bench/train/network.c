/* SPDX-License-Identifier: Apache-2.0 */
/* network.c: see network.h. The tensors of a model, and its memory. */
#include "bench/train/network.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "bench/core/dev.h"
#include "bench/train/math/random.h"
#include "bench/train/patches.h"

#include "base/banned.h"

bool network_sees(const struct network *g)
{
        return g->model.family == MODEL_CLASSIFIER;
}

size_t network_answers(const struct network *g)
{
        return network_sees(g) ? g->batch : g->rows;
}

/* Of a block, in the order of the run: norms and linear layers, a weight and a bias each. */
enum { LAYERS_OF_BLOCK = 8 };
static const struct {
        const char *name;
        unsigned rows, cols; /* in hidden sizes; 0: 1 */
        size_t place;        /* of its number in struct network_block */
} parts[LAYERS_OF_BLOCK] = {
        {"ln1", 1, 0, offsetof(struct network_block, ln1)},
        {"ln2", 1, 0, offsetof(struct network_block, ln2)},
        {"attn.key", 1, 1, offsetof(struct network_block, key)},
        {"attn.query", 1, 1, offsetof(struct network_block, query)},
        {"attn.value", 1, 1, offsetof(struct network_block, value)},
        {"attn.proj", 1, 1, offsetof(struct network_block, proj)},
        {"mlp.0", 4, 1, offsetof(struct network_block, up)},
        {"mlp.2", 1, 4, offsetof(struct network_block, down)},
};

/* The number of a unit's first tensor. */
static size_t first_tensor(const struct network *g, size_t unit)
{
        enum { BLOCK = 2 * LAYERS_OF_BLOCK, NORM = 2 };
        const size_t layers = g->model.layers, embedding = network_sees(g) ? 4 : 2;
        const size_t head = network_sees(g) ? 2 : 1;

        if (unit <= layers + 1)
                return unit ? embedding + BLOCK * (unit - 1) : 0;
        return embedding + BLOCK * layers + NORM + (unit == layers + 2 ? 0 : head);
}

static struct network_tensor *add_tensor(struct network *g, const char *name, size_t rows,
                                         size_t cols)
{
        struct network_tensor *t = &g->tensors[g->ntensors++];

        *t = (struct network_tensor){
                .off = g->nparams, .n = rows * cols, .rows = rows, .cols = cols};
        snprintf(t->name, sizeof t->name, "%s", name);
        g->nparams += t->n;
        return t;
}

static void add_block(struct network *g, unsigned number)
{
        const size_t h = g->model.hidden;
        char name[48];

        for (size_t i = 0; i < LAYERS_OF_BLOCK; i++) {
                *(size_t *)((char *)&g->blocks[number] + parts[i].place) = g->ntensors;
                snprintf(name, sizeof name, "blocks.%u.%s.weight", number, parts[i].name);
                add_tensor(g, name, parts[i].rows * h, parts[i].cols ? parts[i].cols * h : 1);
                snprintf(name, sizeof name, "blocks.%u.%s.bias", number, parts[i].name);
                add_tensor(g, name, parts[i].rows * h, 1);
        }
}

/* The order of a layer in model.c's list of an image classifier. */
static const size_t vision_parts[LAYERS_OF_BLOCK] = {
        offsetof(struct network_block, query), offsetof(struct network_block, key),
        offsetof(struct network_block, value), offsetof(struct network_block, proj),
        offsetof(struct network_block, ln1),   offsetof(struct network_block, ln2),
        offsetof(struct network_block, up),    offsetof(struct network_block, down),
};

static int take_tensor(void *arg, const struct model_tensor *t)
{
        struct network_tensor *to = add_tensor(arg, t->name, t->rows, t->cols);

        to->lead = t->lead;
        to->kernel = t->kernel;
        return 0;
}

static int list_vision(struct network *g)
{
        const struct model *m = &g->model;

        g->tensors = calloc(model_ntensors(m), sizeof *g->tensors);
        g->blocks = calloc(m->layers, sizeof *g->blocks);
        if (!g->tensors || !g->blocks)
                return -ENOMEM;
        for (unsigned b = 0; b < m->layers; b++)
                for (size_t i = 0; i < LAYERS_OF_BLOCK; i++)
                        *(size_t *)((char *)&g->blocks[b] + vision_parts[i]) =
                                first_tensor(g, b + 1) + 2 * i;
        return model_tensors(m, take_tensor, g);
}

static int list_tensors(struct network *g)
{
        const struct model *m = &g->model;

        if (network_sees(g))
                return list_vision(g);

        g->tensors = calloc(5 + 2 * LAYERS_OF_BLOCK * (size_t)m->layers, sizeof *g->tensors);
        g->blocks = calloc(m->layers, sizeof *g->blocks);
        if (!g->tensors || !g->blocks)
                return -ENOMEM;
        add_tensor(g, "emb_stem.pos_emb", m->block, m->hidden)->lead = 1;
        add_tensor(g, "emb_stem.tok_emb.weight", m->vocab, m->hidden);
        for (unsigned i = 0; i < m->layers; i++)
                add_block(g, i);
        add_tensor(g, "ln_f.weight", m->hidden, 1);
        add_tensor(g, "ln_f.bias", m->hidden, 1);
        add_tensor(g, "head.weight", m->vocab, m->hidden);
        return 0;
}

/* Gives each pointer its part of the activations or, while there are none, adds up their elements.
 */
static float *part(struct network *g, size_t *at, size_t n)
{
        float *p = g->activations ? g->activations + *at : NULL;
        *at += (n + 15) / 16 * 16; /* on 64 bytes */
        return p;
}

static void place_block(struct network *g, struct network_block *b, size_t *at)
{
        const size_t flat = g->rows * g->model.hidden;

        b->ln1_out = part(g, at, flat);
        b->k = part(g, at, flat);
        b->q = part(g, at, flat);
        b->v = part(g, at, flat);
        b->attention = part(g, at, g->rows * g->model.heads * g->model.block);
        b->mixed = part(g, at, flat);
        b->middle = part(g, at, flat);
        b->ln2_out = part(g, at, flat);
        b->wide = part(g, at, 4 * flat);
        b->gelu = part(g, at, 4 * flat);
        b->mean1 = part(g, at, g->rows);
        b->rstd1 = part(g, at, g->rows);
        b->mean2 = part(g, at, g->rows);
        b->rstd2 = part(g, at, g->rows);
}

static size_t place_rest(struct network *g, size_t at)
{
        const size_t flat = g->rows * g->model.hidden;
        const size_t square = g->rows * g->model.heads * g->model.block;

        g->last_mean = part(g, &at, g->rows);
        g->last_rstd = part(g, &at, g->rows);
        g->scratch.dx = part(g, &at, flat);
        g->scratch.d1 = part(g, &at, flat);
        g->scratch.d2 = part(g, &at, flat);
        g->scratch.wide = part(g, &at, 4 * flat);
        g->scratch.attention = part(g, &at, square);
        g->scratch.dropped = part(g, &at, square);
        return at;
}

static bool is_block(const struct network *g, size_t unit)
{
        return unit && unit <= g->model.layers;
}

size_t network_block_number(const struct network *g, size_t unit)
{
        return unit - (g->from ? g->from : 1);
}

static size_t block_elements(const struct network *g)
{
        struct network like = {.model = g->model, .batch = g->batch, .rows = g->rows};
        struct network_block b;
        size_t n = 0;

        place_block(&like, &b, &n);
        return n;
}

/* Where the place of a block's turn begins. */
static size_t turn_at(const struct network *g, size_t unit)
{
        const bool copied = g->stash == NETWORK_STASH_COPY;
        return copied && network_block_number(g, unit) % 2 ? block_elements(g) : 0;
}

static size_t place_all(struct network *g)
{
        size_t at = 0;

        for (size_t u = g->from + 1; u <= g->end; u++)
                *network_stream(g, u) = part(g, &at, network_stream_elements(g, u));
        const size_t first = at; /* of what all blocks share unless they keep all */
        for (size_t u = g->from; u < g->end; u++) {
                if (!is_block(g, u))
                        continue;
                const size_t from = g->stash == NETWORK_STASH_ALL ? at : first + turn_at(g, u);
                size_t to = from;
                place_block(g, &g->blocks[u - 1], &to);
                g->place = to - from;
                at = to > at ? to : at;
        }
        g->shared = g->activations ? g->activations + first : NULL;
        return place_rest(g, at);
}

uint64_t network_bytes_state(const struct model *m)
{
        double bytes = 2 * sizeof(float) * (double)model_params(m);
        return (uint64_t)(bytes < NETWORK_BYTES_MAX ? bytes : NETWORK_BYTES_MAX);
}

/* Whether all that passes need is more than counts. */
static bool is_beyond(const struct model *m, size_t batch)
{
        double about = 4.0 * (double)batch * m->block *
                       (m->layers * ((double)m->heads * m->block + 16.0 * m->hidden) + m->vocab);
        return about > NETWORK_BYTES_MAX;
}

/* Blocks of a stage. */
static size_t count_blocks(const struct network *g)
{
        size_t n = 0;

        for (size_t u = g->from; u < g->end; u++)
                n += is_block(g, u);
        return n;
}

uint64_t network_bytes_activations(const struct model *m, size_t batch, size_t from, size_t end,
                                   enum network_stash stash)
{
        struct network g = {.model = *m, .from = from, .end = end};
        size_t all = 0, blocks = count_blocks(&g);

        if (is_beyond(m, batch))
                return (uint64_t)NETWORK_BYTES_MAX;
        network_set_batch(&g, batch);
        for (size_t u = from; u < end; u++)
                (void)part(&g, &all, network_stream_elements(&g, u + 1));
        if (stash == NETWORK_STASH_INPUT || (stash == NETWORK_STASH_COPY && blocks < 2))
                blocks = blocks > 0;
        else if (stash == NETWORK_STASH_COPY)
                blocks = 2;
        return sizeof(float) * place_rest(&g, all + blocks * block_elements(&g));
}

uint64_t network_bytes_copies(const struct model *m, size_t batch, size_t from, size_t end)
{
        struct network g = {.model = *m, .from = from, .end = end};

        if (is_beyond(m, batch))
                return (uint64_t)NETWORK_BYTES_MAX;
        network_set_batch(&g, batch);
        return sizeof(float) * count_blocks(&g) * block_elements(&g);
}

void network_set_batch(struct network *g, size_t batch)
{
        g->batch = batch;
        g->rows = batch * g->model.block;
}

static size_t copied_bytes(const struct network *g)
{
        return count_blocks(g) * g->place * sizeof *g->copies;
}

int network_init_stage(struct network *g, const struct math_ops *ops, const struct model *m,
                       size_t batch, size_t from, size_t end, enum network_stash stash,
                       bool weights)
{
        *g = (struct network){.ops = ops, .model = *m, .from = from, .end = end, .stash = stash};
        network_set_batch(g, batch);
        int err = list_tensors(g);
        if (err)
                return err;
        const struct network_unit own = network_own(g);
        if (weights)
                err = ops->alloc(own.elements * sizeof(float), (void **)&g->params);
        if (!err && weights)
                err = ops->alloc(own.elements * sizeof(float), (void **)&g->grads);
        for (size_t i = own.first; i < own.first + own.n && !err && weights; i++) {
                size_t off = g->tensors[i].off - g->tensors[own.first].off;
                g->tensors[i].weight = g->params + off;
                g->tensors[i].grad = g->grads + off;
        }
        if (!err)
                err = ops->alloc(place_all(g) * sizeof(float), (void **)&g->activations);
        if (!err)
                (void)place_all(g);
        if (!err && stash == NETWORK_STASH_COPY &&
            !(g->copies = (float *)dev_buffer(copied_bytes(g))))
                err = -ENOMEM;
        return err;
}

void network_release(struct network *g)
{
        for (size_t i = 0; g->ops && i < 2; i++) {
                (void)g->ops->reach(g->turn[i].moved);
                g->ops->unmark(g->turn[i].moved);
                g->ops->unmark(g->turn[i].used);
        }
        dev_buffer_free((char *)g->copies, copied_bytes(g));
        if (g->ops) {
                g->ops->release(g->params);
                g->ops->release(g->grads);
                g->ops->release(g->activations);
        }
        free(g->tensors);
        free(g->blocks);
        *g = (struct network){0};
}

static bool ends_with(const char *name, const char *end)
{
        size_t n = strlen(name), m = strlen(end);
        return n >= m && !strcmp(name + n - m, end);
}

int network_draw(const struct network *g, uint64_t seed, size_t tensor, size_t first, size_t n,
                 float *to)
{
        const struct network_tensor *t = &g->tensors[tensor];
        const bool drawn = ends_with(t->name, ".weight") || (network_sees(g) && t->lead);

        if (!drawn) {
                g->ops->zero(to, n);
                return 0;
        }
        if (t->cols > 1) {
                g->ops->draw(to, n, random_key(seed, RANDOM_WEIGHTS, 0, tensor), first, 0.02F);
                return 0;
        }
        CLEANUP(freep) float *ones = malloc((n + 1) * sizeof *ones);
        for (size_t i = 0; i < n && ones; i++)
                ones[i] = 1;
        return ones ? g->ops->put(to, ones, n * sizeof *ones) : -ENOMEM;
}

size_t network_units(const struct model *m)
{
        return (size_t)m->layers + 3;
}

struct network_unit network_unit(const struct network *g, size_t unit)
{
        const struct network one = {
                .model = g->model, .tensors = g->tensors, .from = unit, .end = unit + 1};
        return network_own(&one);
}

struct network_unit network_own(const struct network *g)
{
        struct network_unit u = {.first = first_tensor(g, g->from)};

        u.n = first_tensor(g, g->end) - u.first;
        const struct network_tensor *last = &g->tensors[u.first + u.n - 1];
        u.elements = last->off + last->n - g->tensors[u.first].off;
        return u;
}

float **network_stream(struct network *g, size_t u)
{
        const size_t layers = g->model.layers;

        if (u <= layers)
                return &g->blocks[u - 1].x;
        return u == layers + 1 ? &g->last : u == layers + 2 ? &g->last_out : &g->logits;
}

float *network_gradient(const struct network *g, size_t u)
{
        const size_t layers = g->model.layers;
        return u <= layers + 1 ? g->scratch.dx : u == layers + 2 ? g->scratch.d1 : g->logits;
}

size_t network_stream_elements(const struct network *g, size_t u)
{
        return u < network_units(&g->model) ? g->rows * g->model.hidden
                                            : network_answers(g) * g->model.vocab;
}

/* A backward pass is twice a forward pass; that of the head is never computed anew. */
static double flop(const struct model *m, size_t batch, double passes)
{
        double h = m->hidden, s = m->block, l = m->layers, v = m->vocab;
        double block = 24 * h * h + 4 * s * h, head = 2 * h * v; /* forward, for each token */

        if (m->family == MODEL_CLASSIFIER) { /* of patches no gradient is wanted */
                double patches = 2 * h * PATCH_ELEMENTS * (s - 1);
                return (double)batch * (s * passes * l * block + 2 * patches + 3 * head);
        }
        return (double)batch * s * (passes * l * block + 3 * head);
}

double network_flop_suite(const struct model *m, size_t batch)
{
        return flop(m, batch, 4);
}

double network_flop(const struct model *m, size_t batch)
{
        return flop(m, batch, 3);
}
