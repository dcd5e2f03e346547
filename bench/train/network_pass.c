/* SPDX-License-Identifier: Apache-2.0 */
/* network_pass.c: the forward and the backward pass of network.h. */
#include <math.h>

#include "bench/core/signal_cleanup.h"
#include "bench/train/math/random.h"
#include "bench/train/network.h"
#include "bench/train/patches.h"

#include "base/banned.h"

/* Places of dropout: the embedding, then three in each block. */
enum { SITE_EMBEDDING, SITE_ATTENTION, SITE_PROJ, SITE_DOWN, SITES_OF_BLOCK = 3 };

static struct dropout dropout_at(const struct network_pass *p, unsigned site,
                                 size_t sample_elements)
{
        return (struct dropout){.key = random_key(p->seed, RANDOM_DROPOUT, p->step, site),
                                .first = p->first * sample_elements,
                                .p = p->dropout};
}

/* That of elements of the stream, a row of `hidden` for each token. */
static void drop_stream(const struct network *g, const struct network_pass *p, unsigned site,
                        float *x)
{
        size_t sample = (size_t)g->model.block * g->model.hidden;
        struct dropout d = dropout_at(p, site, sample);

        g->ops->drop(x, g->batch * sample, &d);
}

static void drop_attention(const struct network *g, const struct network_pass *p, unsigned block,
                           float *x)
{
        size_t sample = (size_t)g->model.heads * g->model.block * g->model.block;
        struct dropout d = dropout_at(p, SITE_ATTENTION + SITES_OF_BLOCK * block, sample);

        g->ops->drop(x, g->batch * sample, &d);
}

static float *weight(const struct network *g, size_t tensor)
{
        return g->tensors[tensor].weight;
}

static float *grad(const struct network *g, size_t tensor)
{
        return g->tensors[tensor].grad;
}

/* Rows that a linear layer takes, and how many elements lie from one to the next. */
struct span {
        size_t rows, apart;
};

static struct span all_rows(const struct network *g, size_t tensor)
{
        return (struct span){.rows = g->rows, .apart = g->tensors[tensor].cols};
}

/* Those that the head takes: each token, or the class of each image. */
static struct span answers(const struct network *g)
{
        const size_t rows = network_answers(g);
        return (struct span){.rows = rows, .apart = g->rows / rows * g->model.hidden};
}

/* y = x W^T, and with a bias, tensor + 1, plus that. */
static void linear_of(const struct network *g, size_t tensor, bool bias, struct span s,
                      const float *x, float *y)
{
        const struct network_tensor *t = &g->tensors[tensor];
        struct product p = {.half = g->half,
                            .b_turned = true,
                            .m = s.rows,
                            .n = t->rows,
                            .k = t->cols,
                            .alpha = 1,
                            .lda = s.apart,
                            .ldb = t->cols,
                            .ldc = t->rows};

        g->ops->product(&p, x, weight(g, tensor), y);
        if (bias)
                g->ops->add_rows(y, weight(g, tensor + 1), s.rows, t->rows);
}

static void linear(const struct network *g, size_t tensor, const float *x, float *y)
{
        linear_of(g, tensor, true, all_rows(g, tensor), x, y);
}

/* Adds to the gradients of W and bias; dx = dy W, or with `more` added to what is there. */
static void linear_back_of(const struct network *g, size_t tensor, bool bias, struct span s,
                           const float *x, const float *dy, float *dx, bool more)
{
        const struct network_tensor *t = &g->tensors[tensor];
        struct product dw = {.half = g->half,
                             .a_grows = g->grows,
                             .a_turned = true,
                             .m = t->rows,
                             .n = t->cols,
                             .k = s.rows,
                             .alpha = 1,
                             .beta = 1,
                             .lda = t->rows,
                             .ldb = s.apart,
                             .ldc = t->cols};
        struct product to_dx = {.half = g->half,
                                .a_grows = g->grows,
                                .m = s.rows,
                                .n = t->cols,
                                .k = t->rows,
                                .alpha = 1,
                                .beta = more ? 1 : 0,
                                .lda = t->rows,
                                .ldb = t->cols,
                                .ldc = s.apart};

        g->ops->product(&dw, dy, x, grad(g, tensor));
        if (bias)
                g->ops->sum_rows(dy, grad(g, tensor + 1), s.rows, t->rows);
        g->ops->product(&to_dx, dy, weight(g, tensor), dx);
}

static void linear_back(const struct network *g, size_t tensor, const float *x, const float *dy,
                        float *dx, bool more)
{
        linear_back_of(g, tensor, true, all_rows(g, tensor), x, dy, dx, more);
}

static struct norm norm_of(const struct network *g, size_t tensor, float *mean, float *rstd)
{
        return (struct norm){.rows = g->rows,
                             .epsilon = network_sees(g) ? 1e-12F : 1e-5F,
                             .n = g->model.hidden,
                             .weight = weight(g, tensor),
                             .bias = weight(g, tensor + 1),
                             .mean = mean,
                             .rstd = rstd};
}

/* Which matrix of a product is one. */
enum gradient { NO_GRADIENT, GRADIENT_A, GRADIENT_B };

/* The two kinds of products of attention, for all heads of all samples: [block x block] of two
 * streams, and a stream of [block x block] and a stream. */
static void heads_to_square(const struct network *g, enum gradient gradient, const float *a,
                            const float *b, float *square)
{
        const size_t h = g->model.hidden, t = g->model.block, d = h / g->model.heads;
        struct product p = {.half = g->half,
                            .a_grows = gradient == GRADIENT_A ? g->grows : 1,
                            .b_turned = true,
                            .m = t,
                            .n = t,
                            .k = d,
                            .alpha = 1,
                            .lda = h,
                            .ldb = h,
                            .ldc = t,
                            .outer = {g->batch, t * h, t * h, g->model.heads * t * t},
                            .inner = {g->model.heads, d, d, t * t}};

        g->ops->product(&p, a, b, square);
}

static void square_to_heads(const struct network *g, enum gradient gradient, const float *square,
                            bool turned, const float *b, float *c)
{
        const size_t h = g->model.hidden, t = g->model.block, d = h / g->model.heads;
        struct product p = {.half = g->half,
                            .a_grows = gradient == GRADIENT_A ? g->grows : 1,
                            .b_grows = gradient == GRADIENT_B ? g->grows : 1,
                            .a_turned = turned,
                            .m = t,
                            .n = d,
                            .k = t,
                            .alpha = 1,
                            .lda = t,
                            .ldb = h,
                            .ldc = h,
                            .outer = {g->batch, g->model.heads * t * t, t * h, t * h},
                            .inner = {g->model.heads, t * t, d, d}};

        g->ops->product(&p, square, b, c);
}

static size_t square_elements(const struct network *g)
{
        return g->rows * g->model.heads * g->model.block;
}

static float attention_scale(const struct network *g)
{
        return (float)(1 / sqrt((double)(g->model.hidden / g->model.heads)));
}

/* The attention of a block as the values meet it: behind dropout. */
static const float *dropped_attention(const struct network *g, const struct network_pass *p,
                                      unsigned block)
{
        const struct network_block *b = &g->blocks[block];

        if (p->dropout <= 0)
                return b->attention;
        g->ops->copy(g->scratch.dropped, b->attention, square_elements(g));
        drop_attention(g, p, block, g->scratch.dropped);
        return g->scratch.dropped;
}

/* From b->x to `out`. */
static void block_forward(const struct network *g, const struct network_pass *p, unsigned block,
                          float *out)
{
        const struct network_block *b = &g->blocks[block];
        const size_t flat = g->rows * g->model.hidden;
        struct norm n1 = norm_of(g, b->ln1, b->mean1, b->rstd1);
        struct norm n2 = norm_of(g, b->ln2, b->mean2, b->rstd2);

        g->ops->norm(&n1, b->x, b->ln1_out);
        linear(g, b->key, b->ln1_out, b->k);
        linear(g, b->query, b->ln1_out, b->q);
        linear(g, b->value, b->ln1_out, b->v);
        heads_to_square(g, NO_GRADIENT, b->q, b->k, b->attention);
        g->ops->softmax(b->attention, g->batch * g->model.heads, g->model.block, !network_sees(g),
                        attention_scale(g));
        square_to_heads(g, NO_GRADIENT, dropped_attention(g, p, block), false, b->v, b->mixed);
        linear(g, b->proj, b->mixed, b->middle);
        drop_stream(g, p, SITE_PROJ + SITES_OF_BLOCK * block, b->middle);
        g->ops->add(b->middle, b->x, flat);

        g->ops->norm(&n2, b->middle, b->ln2_out);
        linear(g, b->up, b->ln2_out, b->wide);
        g->ops->gelu(b->wide, b->gelu, 4 * flat);
        linear(g, b->down, b->gelu, out);
        drop_stream(g, p, SITE_DOWN + SITES_OF_BLOCK * block, out);
        g->ops->add(out, b->middle, flat);
}

/* --- copies of what blocks keep --- */

static void note_error(struct network *g, int err)
{
        g->err = g->err ? g->err : err;
}

static struct network_turn *turn_of(struct network *g, size_t unit)
{
        return &g->turn[network_block_number(g, unit) % 2];
}

/* Behind what is queued for the place of the unit, which goes to its copy or comes from there. */
static void move_copy(struct network *g, size_t unit, bool back)
{
        const size_t number = network_block_number(g, unit);
        float *copy = g->copies + number * g->place, *place = g->shared + number % 2 * g->place;
        struct network_turn *t = turn_of(g, unit);

        note_error(g, g->ops->copy_apart(back ? place : copy, back ? copy : place,
                                         g->place * sizeof *place, t->used, &t->moved));
}

/* The unit before the last had the place, and its copy may be under way. */
static void forward_in_turn(struct network *g, const struct network_pass *p, size_t unit,
                            float *out)
{
        struct network_turn *t = turn_of(g, unit);

        note_error(g, g->ops->follow(t->moved));
        t->unit = unit;
        block_forward(g, p, (unsigned)unit - 1, out);
        note_error(g, g->ops->mark(&t->used));
        move_copy(g, unit, false);
}

/* The last two blocks are still there. */
static void bring_back(struct network *g, size_t unit)
{
        struct network_turn *t = turn_of(g, unit);

        if (t->unit == unit)
                return;
        t->unit = unit;
        move_copy(g, unit, true);
}

/* While this block is computed, what the next one needs comes to the other place. */
static void await_copy(struct network *g, size_t unit)
{
        bring_back(g, unit);
        note_error(g, g->ops->follow(turn_of(g, unit)->moved));
        if (unit > 1 && unit > g->from)
                bring_back(g, unit - 1);
}

/* Tensors that are no block's. */
enum { POSITIONS, TOKENS };
enum { VISION_CLASS, VISION_POSITIONS, VISION_PATCHES };
static size_t head(const struct network *g)
{
        return g->ntensors - (network_sees(g) ? 2 : 1);
}
static size_t last_norm(const struct network *g)
{
        return head(g) - 2;
}

/* The embedding of images: their patches, projected, each in its row behind the class of its
 * image. The patches of one image lie as one matrix. */
static struct product of_patches(const struct network *g)
{
        const size_t h = g->model.hidden;
        return (struct product){.half = g->half,
                                .b_turned = true,
                                .m = g->model.block - 1,
                                .n = h,
                                .k = PATCH_ELEMENTS,
                                .alpha = 1,
                                .lda = PATCH_ELEMENTS,
                                .ldb = PATCH_ELEMENTS,
                                .ldc = h,
                                .outer = {g->batch, IMAGE_ELEMENTS, 0, g->model.block * h}};
}

static void see(const struct network *g, const struct network_pass *p, float *out)
{
        const struct product patches = of_patches(g);

        g->ops->product(&patches, p->patches, weight(g, VISION_PATCHES), out + g->model.hidden);
        g->ops->place(out, weight(g, VISION_CLASS), weight(g, VISION_PATCHES + 1),
                      weight(g, VISION_POSITIONS), g->rows, g->model.block, g->model.hidden);
}

/* Images one by one: their products are added up in one place. */
static void see_back(const struct network *g, const struct network_pass *p, const float *dy)
{
        const size_t h = g->model.hidden, t = g->model.block;
        const struct product dw = {.half = g->half,
                                   .a_grows = g->grows,
                                   .a_turned = true,
                                   .m = h,
                                   .n = PATCH_ELEMENTS,
                                   .k = t - 1,
                                   .alpha = 1,
                                   .beta = 1,
                                   .lda = h,
                                   .ldb = PATCH_ELEMENTS,
                                   .ldc = PATCH_ELEMENTS};

        for (size_t i = 0; i < g->batch; i++)
                g->ops->product(&dw, dy + (i * t + 1) * h, p->patches + i * IMAGE_ELEMENTS,
                                grad(g, VISION_PATCHES));
        g->ops->place_back(dy, grad(g, VISION_CLASS), grad(g, VISION_PATCHES + 1),
                           grad(g, VISION_POSITIONS), g->rows, t, h);
}

static void before(const struct network_pass *p, size_t unit, bool backward)
{
        if (p->before)
                p->before(p->arg, unit, backward);
}
static void after(const struct network_pass *p, size_t unit, bool backward)
{
        if (p->after)
                p->after(p->arg, unit, backward);
}

static void unit_forward(struct network *g, const struct network_pass *p, size_t unit)
{
        const size_t layers = g->model.layers;
        float *out = *network_stream(g, unit + 1);

        if (unit == 0 && network_sees(g)) {
                see(g, p, out);
        } else if (unit == 0) {
                g->ops->embed(out, weight(g, TOKENS), weight(g, POSITIONS), p->tokens, g->rows,
                              g->model.block, g->model.hidden);
                drop_stream(g, p, SITE_EMBEDDING, out);
        } else if (unit <= layers) {
                if (g->stash == NETWORK_STASH_COPY)
                        forward_in_turn(g, p, unit, out);
                else
                        block_forward(g, p, (unsigned)unit - 1, out);
        } else if (unit == layers + 1) {
                struct norm n = norm_of(g, last_norm(g), g->last_mean, g->last_rstd);
                g->ops->norm(&n, g->last, out);
        } else {
                linear_of(g, head(g), network_sees(g), answers(g), g->last_out, out);
        }
}

void network_forward(struct network *g, const struct network_pass *p)
{
        for (size_t u = g->from; u < g->end; u++) {
                before(p, u, false);
                if (!signal_came())
                        unit_forward(g, p, u);
                after(p, u, false);
        }
}

/* scratch.dx, the gradient of the block's output, becomes that of `middle`. */
static void network_back(const struct network *g, const struct network_pass *p, unsigned block)
{
        const struct network_block *b = &g->blocks[block];
        const size_t flat = g->rows * g->model.hidden;
        struct norm n2 = norm_of(g, b->ln2, b->mean2, b->rstd2);
        float *dx = g->scratch.dx, *d = g->scratch.d1, *wide = g->scratch.wide;

        g->ops->copy(d, dx, flat);
        drop_stream(g, p, SITE_DOWN + SITES_OF_BLOCK * block, d);
        linear_back(g, b->down, b->gelu, d, wide, false);
        g->ops->gelu_back(b->wide, wide, 4 * flat);
        linear_back(g, b->up, b->ln2_out, wide, d, false);
        g->ops->norm_back(&n2, b->middle, d, dx, grad(g, b->ln2), grad(g, b->ln2 + 1));
}

/* And that of `middle` becomes that of the block's input. `wide` has room for three streams. */
static void attention_back(const struct network *g, const struct network_pass *p, unsigned block)
{
        const struct network_block *b = &g->blocks[block];
        const size_t flat = g->rows * g->model.hidden;
        struct norm n1 = norm_of(g, b->ln1, b->mean1, b->rstd1);
        float *dx = g->scratch.dx, *d = g->scratch.d1, *dmixed = g->scratch.d2;
        float *dq = g->scratch.wide, *dk = dq + flat, *dv = dk + flat;
        float *square = g->scratch.attention;

        g->ops->copy(d, dx, flat);
        drop_stream(g, p, SITE_PROJ + SITES_OF_BLOCK * block, d);
        linear_back(g, b->proj, b->mixed, d, dmixed, false);
        square_to_heads(g, GRADIENT_B, dropped_attention(g, p, block), true, dmixed, dv);
        heads_to_square(g, GRADIENT_A, dmixed, b->v, square);
        drop_attention(g, p, block, square);
        g->ops->softmax_back(b->attention, square, g->batch * g->model.heads, g->model.block,
                             !network_sees(g), attention_scale(g));
        square_to_heads(g, GRADIENT_A, square, false, b->k, dq);
        square_to_heads(g, GRADIENT_A, square, true, b->q, dk);
        linear_back(g, b->value, b->ln1_out, dv, d, false);
        linear_back(g, b->query, b->ln1_out, dq, d, true);
        linear_back(g, b->key, b->ln1_out, dk, d, true);
        g->ops->norm_back(&n1, b->x, d, dx, grad(g, b->ln1), grad(g, b->ln1 + 1));
}

static void unit_backward(struct network *g, const struct network_pass *p, size_t unit)
{
        const size_t layers = g->model.layers;
        float *dx = g->scratch.dx;

        if (unit == layers + 2) {
                if (network_sees(g)) /* of what is no class nothing comes back */
                        g->ops->zero(g->scratch.d1, g->rows * g->model.hidden);
                linear_back_of(g, head(g), network_sees(g), answers(g), g->last_out, g->logits,
                               g->scratch.d1, false);
        } else if (unit == layers + 1) {
                struct norm n = norm_of(g, last_norm(g), g->last_mean, g->last_rstd);
                g->ops->zero(dx, g->rows * g->model.hidden);
                g->ops->norm_back(&n, g->last, g->scratch.d1, dx, grad(g, last_norm(g)),
                                  grad(g, last_norm(g) + 1));
        } else if (unit) {
                if (g->stash == NETWORK_STASH_COPY)
                        await_copy(g, unit);
                if (g->stash == NETWORK_STASH_INPUT)
                        block_forward(g, p, (unsigned)unit - 1, *network_stream(g, unit + 1));
                network_back(g, p, (unsigned)unit - 1);
                attention_back(g, p, (unsigned)unit - 1);
                if (g->stash == NETWORK_STASH_COPY)
                        note_error(g, g->ops->mark(&turn_of(g, unit)->used));
        } else if (network_sees(g)) {
                see_back(g, p, dx);
        } else {
                drop_stream(g, p, SITE_EMBEDDING, dx);
                g->ops->embed_back(dx, grad(g, TOKENS), grad(g, POSITIONS), p->tokens, g->rows,
                                   g->model.block, g->model.hidden);
        }
}

void network_backward(struct network *g, const struct network_pass *p)
{
        for (size_t u = g->end; u-- > g->from;) {
                before(p, u, true);
                if (!signal_came())
                        unit_backward(g, p, u);
                after(p, u, true);
                if (p->complete)
                        p->complete(p->arg, u);
        }
}
