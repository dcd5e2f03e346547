/* SPDX-License-Identifier: Apache-2.0 */
/* test_train.c: the gradients of training beside numerical differentiation, and what must not
 * depend on how samples are dealt to ranks. */
#include "tests/lib/unit.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/train/math/random.h"
#include "bench/train/trainer.h"
#include "tests/lib/unit_train.h"

#include "base/banned.h"

enum { MOST = 8192 };
static const struct math_ops *ops = &math_host;
static struct coll alone;

static void setup(void)
{
        alone = one_rank();
        open_math();
}

/* Values of about 1, the same for the same `site`. */
static void draw(float *x, size_t n, uint64_t site)
{
        for (size_t i = 0; i < n; i++)
                x[i] = (float)random_normal(random_key(7, RANDOM_WEIGHTS, 0, site), i);
}

static double dot(const float *a, const float *b, size_t n)
{
        double sum = 0;
        for (size_t i = 0; i < n; i++)
                sum += (double)a[i] * (double)b[i];
        return sum;
}

static void near_to(double got, double want, double tolerance, const char *what)
{
        ck_assert_msg(fabs(got - want) <= tolerance * (fabs(want) + 0.02), "%s: %g, not %g", what,
                      got, want);
}

/* --- one layer each --- */

/* The derivative of a weighted sum of its outputs, in a random direction. */

enum { ROWS = 12, BLOCK = 6, WIDTH = 10 };
struct layer {
        const char *name;
        size_t nin, nout;
        void (*forward)(const float *in, float *out);
        void (*back)(const float *in, const float *dout, float *din);
};

static const int32_t tokens[ROWS] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8};

/* in: x, weight, bias */
static struct norm norm_of(const float *in)
{
        static float mean[ROWS], rstd[ROWS];
        return (struct norm){ROWS, WIDTH, in + ROWS * WIDTH, in + (ROWS + 1) * WIDTH, mean,
                             rstd, 1e-5F};
}
static void norm_forward(const float *in, float *out)
{
        struct norm n = norm_of(in);
        ops->norm(&n, in, out);
}
static void norm_back(const float *in, const float *dout, float *din)
{
        struct norm n = norm_of(in);
        float out[ROWS * WIDTH];
        ops->norm(&n, in, out);
        ops->norm_back(&n, in, dout, din, din + ROWS * WIDTH, din + (ROWS + 1) * WIDTH);
}

static void gelu_forward(const float *in, float *out)
{
        ops->gelu(in, out, ROWS * WIDTH);
}
static void gelu_back(const float *in, const float *dout, float *din)
{
        memcpy(din, dout, ROWS * WIDTH * sizeof *din);
        ops->gelu_back(in, din, ROWS * WIDTH);
}

/* in: rows, of which two are classes; class, bias, positions */
enum { PLACED = ROWS * WIDTH };
static void place_forward(const float *in, float *out)
{
        memcpy(out, in, PLACED * sizeof *out);
        ops->place(out, in + PLACED, in + PLACED + WIDTH, in + PLACED + 2 * WIDTH, ROWS, BLOCK,
                   WIDTH);
}
static void place_back(const float *in, const float *dout, float *din)
{
        (void)in;
        memcpy(din, dout, PLACED * sizeof *din);
        for (size_t r = 0; r < ROWS; r += BLOCK)
                memset(din + r * WIDTH, 0, WIDTH * sizeof *din); /* overwritten by the class */
        ops->place_back(dout, din + PLACED, din + PLACED + WIDTH, din + PLACED + 2 * WIDTH, ROWS,
                        BLOCK, WIDTH);
}

static void whole_forward(const float *in, float *out)
{
        memcpy(out, in, (size_t)ROWS * BLOCK * sizeof *out);
        ops->softmax(out, ROWS / BLOCK, BLOCK, false, 0.7F);
}
static void whole_back(const float *in, const float *dout, float *din)
{
        float y[ROWS * BLOCK];
        whole_forward(in, y);
        memcpy(din, dout, sizeof y);
        ops->softmax_back(y, din, ROWS / BLOCK, BLOCK, false, 0.7F);
}

static void softmax_forward(const float *in, float *out)
{
        memcpy(out, in, (size_t)ROWS * BLOCK * sizeof *out);
        ops->softmax(out, ROWS / BLOCK, BLOCK, true, 0.7F);
}
static void softmax_back(const float *in, const float *dout, float *din)
{
        float y[ROWS * BLOCK];
        softmax_forward(in, y);
        memcpy(din, dout, sizeof y);
        ops->softmax_back(y, din, ROWS / BLOCK, BLOCK, true, 0.7F);
}

/* in: table, positions */
static void embed_forward(const float *in, float *out)
{
        ops->embed(out, in, in + 10 * WIDTH, tokens, ROWS, BLOCK, WIDTH);
}
static void embed_back(const float *in, const float *dout, float *din)
{
        (void)in;
        ops->embed_back(dout, din, din + 10 * WIDTH, tokens, ROWS, BLOCK, WIDTH);
}

static void drop_forward(const float *in, float *out)
{
        const struct dropout d = {.key = 5, .first = 77, .p = 0.3F};
        memcpy(out, in, ROWS * WIDTH * sizeof *out);
        ops->drop(out, ROWS * WIDTH, &d);
}
static void drop_back(const float *in, const float *dout, float *din)
{
        (void)in;
        drop_forward(dout, din);
}

static void entropy_forward(const float *in, float *out)
{
        float x[ROWS * WIDTH];
        memcpy(x, in, sizeof x);
        ops->loss_entropy(x, tokens, ROWS, WIDTH, 1, out);
}
static void entropy_back(const float *in, const float *dout, float *din)
{
        float loss;
        memcpy(din, in, ROWS * WIDTH * sizeof *din);
        ops->loss_entropy(din, tokens, ROWS, WIDTH, *dout, &loss);
}

static void sum_forward(const float *in, float *out)
{
        float x[ROWS * WIDTH];
        memcpy(x, in, sizeof x);
        ops->loss_sum(x, ROWS * WIDTH, 1, out);
}
static void sum_back(const float *in, const float *dout, float *din)
{
        float loss;
        memcpy(din, in, ROWS * WIDTH * sizeof *din);
        ops->loss_sum(din, ROWS * WIDTH, *dout, &loss);
}

/* in: x (ROWS x WIDTH), matrix (BLOCK x WIDTH), bias */
static void linear_forward(const float *in, float *out)
{
        const struct product p = {.b_turned = true,
                                  .m = ROWS,
                                  .n = BLOCK,
                                  .k = WIDTH,
                                  .alpha = 1,
                                  .lda = WIDTH,
                                  .ldb = WIDTH,
                                  .ldc = BLOCK};
        ops->product(&p, in, in + ROWS * WIDTH, out);
        ops->add_rows(out, in + (ROWS + BLOCK) * WIDTH, ROWS, BLOCK);
}
static void linear_back(const float *in, const float *dout, float *din)
{
        const struct product dx = {.m = ROWS,
                                   .n = WIDTH,
                                   .k = BLOCK,
                                   .alpha = 1,
                                   .lda = BLOCK,
                                   .ldb = WIDTH,
                                   .ldc = WIDTH};
        const struct product dw = {.a_turned = true,
                                   .m = BLOCK,
                                   .n = WIDTH,
                                   .k = ROWS,
                                   .alpha = 1,
                                   .beta = 1,
                                   .lda = BLOCK,
                                   .ldb = WIDTH,
                                   .ldc = WIDTH};
        ops->product(&dx, dout, in + ROWS * WIDTH, din);
        ops->product(&dw, dout, in, din + ROWS * WIDTH);
        ops->sum_rows(dout, din + (ROWS + BLOCK) * WIDTH, ROWS, BLOCK);
}

static const struct layer layers[] = {
        {"LayerNorm", (ROWS + 2) * WIDTH, ROWS *WIDTH, norm_forward, norm_back},
        {"GELU", ROWS *WIDTH, ROWS *WIDTH, gelu_forward, gelu_back},
        {"softmax", ROWS *BLOCK, ROWS *BLOCK, softmax_forward, softmax_back},
        {"softmax of whole rows", ROWS *BLOCK, ROWS *BLOCK, whole_forward, whole_back},
        {"patches in their places", PLACED + (2 + BLOCK) * WIDTH, PLACED, place_forward,
         place_back},
        {"embedding", (10 + BLOCK) * WIDTH, ROWS *WIDTH, embed_forward, embed_back},
        {"dropout", ROWS *WIDTH, ROWS *WIDTH, drop_forward, drop_back},
        {"cross entropy", ROWS *WIDTH, 1, entropy_forward, entropy_back},
        {"sum of the logits", ROWS *WIDTH, 1, sum_forward, sum_back},
        {"linear", (ROWS + BLOCK) * WIDTH + BLOCK, ROWS *BLOCK, linear_forward, linear_back},
};

START_TEST(each_layer_has_the_gradient_of_numerical_differentiation)
{
        const struct layer *l = &layers[_i];
        const float step = 1e-2F;
        float in[MOST], direction[MOST], weights[MOST], moved[MOST], out[MOST], din[MOST] = {0};
        double at[2];

        draw(in, l->nin, 1);
        draw(weights, l->nout, 2);
        l->back(in, weights, din);
        for (uint64_t way = 0; way < 8; way++) {
                draw(direction, l->nin, 10 + way);
                for (int side = 0; side < 2; side++) {
                        for (size_t i = 0; i < l->nin; i++)
                                moved[i] = in[i] + (side ? step : -step) * direction[i];
                        l->forward(moved, out);
                        at[side] = dot(out, weights, l->nout);
                }
                near_to(dot(din, direction, l->nin), (at[1] - at[0]) / (2 * (double)step), 5e-3,
                        l->name);
        }
}
END_TEST

START_TEST(what_is_multiplied_as_halves_is_the_nearest_of_them)
{
        static const struct {
                float x, half;
        } cases[] = {
                {1, 1},
                {0x1.002p0F, 1}, /* half way to the next, which is odd */
                {0x1.006p0F, 0x1.008p0F},
                {-0x1.0021p0F, -0x1.004p0F},
                {0x1.ffep0F, 2},
                {65504, 65504},
                {65519, 65504},
                {65520, INFINITY},
                {-INFINITY, -INFINITY},
                {0x1p-14F, 0x1p-14F},
                {0x1.ffep-15F, 0x1p-14F},
                {0x1p-24F, 0x1p-24F},
                {0x1p-25F, 0},
                {0x1.8p-25F, 0x1p-24F},
                {-0x1.8p-24F, -0x1p-23F},
                {0x1p-126F, 0},
        };
        const struct product one = {
                .half = true, .m = 1, .n = 1, .k = 1, .alpha = 1, .lda = 1, .ldb = 1, .ldc = 1};
        struct product grown = one;
        const float unit = 1, tiny_one = 0x1p-30F;
        float got;

        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
                ops->product(&one, &cases[i].x, &unit, &got);
                ck_assert_msg(got == cases[i].half, "%a: %a", (double)cases[i].x, (double)got);
        }
        ops->product(&one, &tiny_one, &unit, &got);
        ck_assert_float_eq(got, 0);
        grown.a_grows = 0x1p20F; /* and is divided out */
        ops->product(&grown, &tiny_one, &unit, &got);
        ck_assert_float_eq(got, tiny_one);
        const float none = NAN;
        ops->product(&one, &none, &unit, &got);
        ck_assert(isnan(got));
}
END_TEST

/* --- a whole model --- */

static const struct model tiny = SMALL_GPT(2, 2, 12, 17, 5);
static const struct train_data noise;

static struct train_setup tiny_setup(size_t batch)
{
        return (struct train_setup){.ops = ops,
                                    .model = tiny,
                                    .batch = batch,
                                    .seed = 3,
                                    .dropout = 0.2F,
                                    .entropy = true,
                                    .lr = 0.1,
                                    .data = &noise};
}

/* The loss of the trainer's weights on the same tokens with the same dropout. */
static double loss_of(struct trainer *t, const int32_t *in, const int32_t *next)
{
        const struct network_pass pass = {.seed = 3, .step = 9, .dropout = 0.2F, .tokens = in};
        float loss;
        network_forward(&t->pipe.stage[0].net, &pass);
        ops->loss_entropy(t->pipe.stage[0].net.logits, next, t->pipe.stage[0].net.rows, tiny.vocab,
                          1, &loss);
        return (double)loss;
}

START_TEST(each_tensor_of_a_model_has_the_gradient_of_numerical_differentiation)
{
        const struct network_pass pass = {.seed = 3, .step = 9, .dropout = 0.2F};
        struct train_setup s = tiny_setup(3);
        struct trainer t;
        int32_t in[15], next[15];
        float direction[MOST];

        ck_assert_int_eq(trainer_init(&t, &s, &alone), 0);
        for (unsigned i = 0; i < 3; i++)
                train_data_sample(&noise, 1, 1, i, tiny.vocab, tiny.block, in + 5 * i,
                                  next + 5 * i);
        ck_assert_uint_eq(t.pipe.stage[0].net.nparams, model_params(&tiny));
        ck_assert_uint_lt(t.pipe.stage[0].net.nparams, MOST);
        for (size_t i = 0; i < t.pipe.stage[0].net.ntensors;
             i++) /* small weights would have small gradients */
                for (size_t e = 0; t.pipe.stage[0].net.tensors[i].cols > 1 &&
                                   e < t.pipe.stage[0].net.tensors[i].n;
                     e++)
                        t.pipe.stage[0].net.params[t.pipe.stage[0].net.tensors[i].off + e] *= 10;
        loss_of(&t, in, next);
        struct network_pass with = pass;
        with.tokens = in;
        network_backward(&t.pipe.stage[0].net, &with);
        for (size_t i = 0; i < t.pipe.stage[0].net.ntensors; i++) {
                const struct network_tensor *x = &t.pipe.stage[0].net.tensors[i];
                float *w = t.pipe.stage[0].net.params + x->off;
                double at[2], step = 2e-3;
                draw(direction, x->n, i);
                /* mostly along the gradient, where the loss changes by more than it is rounded */
                float big = (float)(1 / sqrt(dot(t.pipe.stage[0].net.grads + x->off,
                                                 t.pipe.stage[0].net.grads + x->off, x->n) +
                                             1e-12));
                for (size_t e = 0; e < x->n; e++)
                        direction[e] =
                                direction[e] * 0.1F + t.pipe.stage[0].net.grads[x->off + e] * big;
                for (int side = 0; side < 2; side++) {
                        for (size_t e = 0; e < x->n; e++)
                                w[e] += (float)(side ? 2 * step : -step) * direction[e];
                        at[side] = loss_of(&t, in, next);
                }
                for (size_t e = 0; e < x->n; e++)
                        w[e] -= (float)step * direction[e];
                near_to(dot(t.pipe.stage[0].net.grads + x->off, direction, x->n),
                        (at[1] - at[0]) / (2 * step), 2e-2, x->name);
        }
        trainer_release(&t);
}
END_TEST

START_TEST(dropout_and_samples_do_not_depend_on_the_rank_that_has_them)
{
        const struct dropout all = {.key = 1, .first = 0, .p = 0.5F};
        const struct dropout part = {.key = 1, .first = 30, .p = 0.5F};
        float a[100], b[70];
        size_t kept = 0;

        for (size_t i = 0; i < 100; i++)
                a[i] = 1;
        memcpy(b, a, sizeof b);
        ops->drop(a, 100, &all);
        ops->drop(b, 70, &part);
        ck_assert_mem_eq(a + 30, b, sizeof b);
        for (size_t i = 0; i < 100; i++)
                kept += a[i] > 0;
        ck_assert_uint_ge(kept, 30);
        ck_assert_uint_le(kept, 70);
}
END_TEST

/* What the first of two ranks computes, and the second, add up to what one computes. */
START_TEST(halves_of_a_batch_have_the_gradient_of_the_whole)
{
        struct train_setup s = tiny_setup(4), half = tiny_setup(2);
        struct trainer all, part;
        int32_t in[20], next[20];

        for (unsigned i = 0; i < 4; i++)
                train_data_sample(&noise, 1, 1, i, tiny.vocab, tiny.block, in + 5 * i,
                                  next + 5 * i);
        ck_assert_int_eq(trainer_init(&all, &s, &alone), 0);
        ck_assert_int_eq(trainer_init(&part, &half, &alone), 0);
        struct network_pass pass = {.seed = 3, .step = 9, .dropout = 0.2F, .tokens = in};
        float loss;
        network_forward(&all.pipe.stage[0].net, &pass);
        ops->loss_entropy(all.pipe.stage[0].net.logits, next, 20, tiny.vocab, 1, &loss);
        network_backward(&all.pipe.stage[0].net, &pass);
        for (unsigned i = 0; i < 2; i++) {
                pass.first = 2 * i;
                pass.tokens = in + 10 * i;
                network_forward(&part.pipe.stage[0].net, &pass);
                ops->loss_entropy(part.pipe.stage[0].net.logits, next + 10 * i, 10, tiny.vocab,
                                  0.5F, &loss);
                network_backward(&part.pipe.stage[0].net, &pass);
        }
        for (size_t i = 0; i < all.pipe.stage[0].net.nparams; i++)
                ck_assert_float_le(
                        fabsf(all.pipe.stage[0].net.grads[i] - part.pipe.stage[0].net.grads[i]),
                        1e-6F);
        trainer_release(&all);
        trainer_release(&part);
}
END_TEST

START_TEST(steps_are_the_same_bits_when_they_are_repeated)
{
        struct train_setup s = tiny_setup(4);
        struct trainer a, b;
        struct train_step x, y;

        s.adamw = true;
        s.lr = 0.01;
        ck_assert_int_eq(trainer_init(&a, &s, &alone), 0);
        ck_assert_int_eq(trainer_init(&b, &s, &alone), 0);
        for (int i = 0; i < 5; i++) {
                ck_assert_int_eq(trainer_step(&a, &x), 0);
                ck_assert_int_eq(trainer_step(&b, &y), 0);
                ck_assert_double_eq(x.loss, y.loss);
        }
        ck_assert_mem_eq(a.pipe.stage[0].net.params, b.pipe.stage[0].net.params,
                         a.pipe.stage[0].net.nparams * sizeof(float));
        trainer_release(&a);
        trainer_release(&b);
}
END_TEST

/* How often ranks would meet, and a device that fails. */
static unsigned met;
static int count_gather(struct coll *c, const void *mine, size_t n, void *all)
{
        met++;
        return coll_none.gather(c, mine, n, all);
}
static int count_scatter(struct coll *c, float *all, float *mine, size_t n)
{
        met++;
        return coll_none.sum_scatter(c, all, mine, n);
}
static int fail_to_move(void *to, const void *from, size_t n)
{
        (void)to;
        (void)from;
        (void)n;
        return -EIO;
}
static int fail_to_get(void *to, const void *from, size_t n, void *mark)
{
        (void)mark;
        return fail_to_move(to, from, n);
}
static int fail_to_reach(void *mark)
{
        (void)mark;
        return -EIO;
}

START_TEST(a_rank_whose_device_fails_meets_the_others_as_often_as_they_meet)
{
        struct coll_ops counts = coll_none;
        struct math_ops broken = *ops;
        struct coll c = alone;
        struct train_setup s = tiny_setup(2);
        struct trainer t;
        struct train_step step;

        counts.gather = count_gather;
        counts.sum_scatter = count_scatter;
        c.ops = &counts;
        s.sharded = true;
        s.ops = &broken;
        const unsigned units = tiny.layers + 3;
        for (unsigned i = 0; i < 5; i++) {
                broken = *ops;
                ck_assert_int_eq(trainer_init(&t, &s, &c), 0);
                met = 0;
                ck_assert_int_eq(trainer_step(&t, &step), 0);
                ck_assert_uint_eq(met, 3 * units);
                if (i == 0)
                        broken.get_behind = fail_to_get;
                else if (i == 1)
                        broken.get_queued = fail_to_move;
                else if (i == 2)
                        broken.put_queued = fail_to_move;
                else if (i == 3)
                        broken.put_beside = fail_to_move;
                else
                        broken.reach = fail_to_reach;
                met = 0;
                ck_assert_int_eq(trainer_step(&t, &step), -EIO);
                ck_assert_uint_eq(met, 3 * units);
                trainer_release(&t);
        }
}
END_TEST

START_TEST(the_operations_of_the_smallest_published_model_are_counted_as_published)
{
        near_to(network_flop_suite(model_find("gpt-small"), 10), 9.120e11, 1e-3, "operations");
        /* without the blocks' second forward pass: products of 12 h^2 weights, and of all tokens */
        const struct model *m = model_find("gpt-small");
        double tokens_of_step = 10.0 * m->block, h = m->hidden;
        double again = tokens_of_step * m->layers * (2 * 12 * h * h + 4 * m->block * h);
        near_to(network_flop(m, 10), 9.120e11 - again, 1e-3, "operations");
}
END_TEST

START_TEST(the_bytes_of_no_shape_overflow)
{
        const struct model vast = {.name = "vast",
                                   .family = MODEL_GPT,
                                   .layers = 100000,
                                   .heads = 65536,
                                   .kv_heads = 65536,
                                   .hidden = 1048576,
                                   .ffn = 4194304,
                                   .vocab = 16777216,
                                   .block = 16777216};
        ck_assert_double_eq(
                (double)network_bytes_activations(&vast, 1000000, 0, 5, NETWORK_STASH_ALL),
                NETWORK_BYTES_MAX);
        ck_assert_double_eq((double)network_bytes_state(&vast), NETWORK_BYTES_MAX);
}
END_TEST

START_TEST(a_rank_with_a_part_takes_no_more_memory_than_is_planned)
{
        static const struct model shapes[] = {SMALL_GPT(1, 2, 12, 18, 5),
                                              SMALL_GPT(1, 2, 12, 18, 600)};
        const unsigned ranks[] = {1, 2, 6};

        for (int i = 0; i < 12; i++) {
                const enum fsdp_prefetch prefetch = i < 6 ? FSDP_NOOP : FSDP_POSTHOOK;
                struct coll c = {.ops = &coll_none, .ranks = ranks[i % 3]};
                const struct model *m = &shapes[i / 3 % 2];
                struct coll_queue q;
                struct network g;
                struct fsdp f;
                size_t room = 0, whole = 0;

                ck_assert_int_eq(network_init_stage(&g, ops, m, 1, 0, network_units(m),
                                                    NETWORK_STASH_ALL, false),
                                 0);
                ck_assert_int_eq(fsdp_init(&f, &g, g.ops, 0, &c, &q, prefetch), 0);
                for (size_t k = 0; k < network_units(&g.model); k++) {
                        struct network_unit u = network_unit(&g, k);
                        size_t end = u.first + u.n;
                        size_t n = (end < g.ntensors ? f.at[end] : f.n) - f.at[u.first];
                        room = n > room ? n : room;
                        whole = u.elements > whole ? u.elements : whole;
                }
                size_t sent = c.ranks * room, own = c.ranks > 1 ? 2 * sent : 0; /* MPI's */
                size_t places = i < 6 ? 1 : 3;
                ck_assert_uint_ge(fsdp_bytes(m, c.ranks, 4, prefetch),
                                  (4 * f.n + 2 * whole + places * (room + sent) + own) *
                                          sizeof(float));
                fsdp_release(&f);
                network_release(&g);
        }
}
END_TEST

int main(void)
{
        if (skips_without_openblas())
                return EXIT_SUCCESS;
        Suite *s = suite_create("train");
        TCase *tc = tcase_create("train");
        tcase_add_checked_fixture(tc, setup, NULL);
        tcase_add_loop_test(tc, each_layer_has_the_gradient_of_numerical_differentiation, 0,
                            (int)(sizeof layers / sizeof layers[0]));
        tcase_add_test(tc, what_is_multiplied_as_halves_is_the_nearest_of_them);
        tcase_add_test(tc, each_tensor_of_a_model_has_the_gradient_of_numerical_differentiation);
        tcase_add_test(tc, dropout_and_samples_do_not_depend_on_the_rank_that_has_them);
        tcase_add_test(tc, halves_of_a_batch_have_the_gradient_of_the_whole);
        tcase_add_test(tc, steps_are_the_same_bits_when_they_are_repeated);
        tcase_add_test(tc, a_rank_whose_device_fails_meets_the_others_as_often_as_they_meet);
        tcase_add_test(tc, the_operations_of_the_smallest_published_model_are_counted_as_published);
        tcase_add_test(tc, a_rank_with_a_part_takes_no_more_memory_than_is_planned);
        tcase_add_test(tc, the_bytes_of_no_shape_overflow);
        suite_add_tcase(s, tc);
        return unit_main(s);
}
