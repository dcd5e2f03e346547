/* SPDX-License-Identifier: Apache-2.0 */
/* train_steps OPTIMIZER LOSS LR: four steps of a small model, with LOSS overflow ten, for
 * train_torch.py to repeat: of a GPT, or with OPTIMIZER adam, of a vision transformer, whose last
 * step has a sample less. LOSS halves is the cross entropy, and LOSS overflow the sum, with
 * products of halves.
 *
 * Writes to the current directory, as floats and 32-bit integers: tensors (a text: name, rows,
 * columns), weights.0, tokens (or images, as bytes) and targets of all steps, logits and grads of
 * the first, weights.1, weights.4 behind the last, and scale, a text: the last loss scale, and how
 * many steps were skipped. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/train/math/random.h"
#include "bench/train/patches.h"
#include "bench/train/trainer.h"
#include "tests/lib/small_gpt.h"

#include "base/banned.h"

enum { BATCH = 3, STEPS = 4, OVERFLOW_STEPS = 10 };
static const struct model shape = SMALL_GPT(3, 4, 64, 101, 24);
static const struct model vision = SMALL_VIT(2, 4, 64, 11);

static void check(int err, const char *what)
{
        if (!err)
                return;
        fprintf(stderr, "train_steps: %s: %s\n", what, strerror(-err));
        exit(1);
}

static void write_all(const char *name, const char *mode, const void *p, size_t n)
{
        FILE *f = fopen(name, mode);
        if (!f || fwrite(p, 1, n, f) != n || fclose(f))
                check(-errno, name);
}

static void write_weights(const struct trainer *t, const char *name)
{
        write_all(name, "wb", t->pipe.stage[0].net.params,
                  t->pipe.stage[0].net.nparams * sizeof(float));
}

static void write_scale(const struct loss_scale *s)
{
        char text[64];
        const int n = snprintf(text, sizeof text, "%g %llu\n", (double)s->factor,
                               (unsigned long long)s->skipped);
        write_all("scale", "wb", text, (size_t)n);
}

static void write_tensors(const struct network *g)
{
        FILE *f = fopen("tensors", "w");
        for (size_t i = 0; f && i < g->ntensors; i++)
                fprintf(f, "%s %zu %zu\n", g->tensors[i].name, g->tensors[i].rows,
                        g->tensors[i].cols);
        if (!f || fclose(f))
                check(-errno, "tensors");
}

/* Writes the logits of a pass, and the gradients of its loss. */
static void write_pass(struct network *g, const struct train_setup *s,
                       const struct network_pass *pass, const int32_t *targets)
{
        const size_t answers = network_answers(g);
        float loss;

        network_forward(g, pass);
        write_all("logits", "wb", g->logits, answers * g->model.vocab * sizeof(float));
        if (s->entropy)
                s->ops->loss_entropy(g->logits, targets, answers, g->model.vocab, 1, &loss);
        else
                s->ops->loss_sum(g->logits, answers * g->model.vocab, 1, &loss);
        network_backward(g, pass);
        write_all("grads", "wb", g->grads, g->nparams * sizeof(float));
        s->ops->zero(g->grads, g->nparams);
}

/* The samples of a step are fed, and written. */
static void feed(struct trainer *t, uint64_t step)
{
        static unsigned char rgb[BATCH * IMAGE_ELEMENTS];
        const size_t n = step + 1 == STEPS ? BATCH - 1 : BATCH;
        const uint64_t key = random_key(5, RANDOM_TOKENS, step, 0);
        int32_t label[BATCH];
        size_t all;

        for (size_t i = 0; i < n * IMAGE_ELEMENTS; i++) /* smooth enough to tell images apart */
                rgb[i] = (unsigned char)(random_bits(key, i / 2000) >> 56);
        for (size_t i = 0; i < n; i++)
                label[i] = (int32_t)random_below(key, i, vision.vocab);
        check(trainer_feed(t, rgb, label, n, &all), "samples");
        write_all("images", "ab", rgb, n * IMAGE_ELEMENTS);
        write_all("targets", "ab", label, n * sizeof *label);
}

static void write_first_of_images(struct trainer *t)
{
        feed(t, 0);
        const struct network_pass pass = {.patches = t->patches};
        write_pass(&t->pipe.stage[0].net, &t->setup, &pass, t->targets);
}

/* Logits and gradients of the first step, which is then taken. */
static void write_first(struct trainer *t)
{
        const struct train_setup *s = &t->setup;
        const size_t n = shape.block;
        int32_t tokens[BATCH * 24], targets[BATCH * 24];

        for (size_t i = 0; i < BATCH; i++)
                train_data_sample(s->data, s->seed, 0, i, shape.vocab, shape.block, tokens + i * n,
                                  targets + i * n);
        const struct network_pass pass = {.seed = s->seed, .dropout = s->dropout, .tokens = tokens};
        write_pass(&t->pipe.stage[0].net, s, &pass, targets);
}

static void write_tokens(const struct trainer *t)
{
        const size_t rows = t->pipe.stage[0].net.rows;

        write_all("tokens", "ab", t->host_tokens, rows * sizeof(int32_t));
        write_all("targets", "ab", t->host_tokens + rows, rows * sizeof(int32_t));
}

int main(int argc, char **argv)
{
        static const struct train_data noise;
        struct coll alone = {.ops = &coll_none, .ranks = 1, .host_ranks = 1};
        struct trainer t;
        struct train_step step;
        char why[256];

        if (argc != 4)
                check(-EINVAL, "arguments");
        const bool images = !strcmp(argv[1], "adam"), overflows = !strcmp(argv[2], "overflow");
        const struct train_setup s = {.ops = &math_host,
                                      .model = images ? vision : shape,
                                      .batch = BATCH,
                                      .seed = 11,
                                      .adamw = images || !strcmp(argv[1], "adamw"),
                                      .undecayed = images,
                                      .entropy = strcmp(argv[2], "sum") != 0 && !overflows,
                                      .half = overflows || !strcmp(argv[2], "halves"),
                                      .lr = strtod(argv[3], NULL),
                                      .data = images ? NULL : &noise};
        check(s.ops->open(1, 1, why, sizeof why), "OpenBLAS");
        check(trainer_init(&t, &s, &alone), "memory");
        write_tensors(&t.pipe.stage[0].net);
        write_weights(&t, "weights.0");
        if (images)
                write_first_of_images(&t);
        else
                write_first(&t);
        for (int i = 0; i < (overflows ? OVERFLOW_STEPS : STEPS); i++) {
                if (images && i)
                        feed(&t, (uint64_t)i);
                check(trainer_step(&t, &step), "step");
                if (!images)
                        write_tokens(&t);
                if (i == 0)
                        write_weights(&t, "weights.1");
        }
        write_weights(&t, "weights.4");
        write_scale(&t.scale);
        trainer_release(&t);
        return 0;
}
