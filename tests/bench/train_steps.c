/* SPDX-License-Identifier: Apache-2.0 */
/* train_steps OPTIMIZER LOSS LR: four steps of a small model, for train_torch.py to repeat.
 *
 * Writes to the current directory, as floats and 32-bit integers: tensors (a text: name, rows,
 * columns), weights.0, tokens and targets of all steps, logits and grads of the first, weights.1
 * and weights.4. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/train/trainer.h"
#include "tests/lib/small_gpt.h"

#include "base/banned.h"

enum { BATCH = 3, STEPS = 4 };
static const struct model shape = SMALL_GPT(3, 4, 64, 101, 24);

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

static void write_tensors(const struct network *g)
{
        FILE *f = fopen("tensors", "w");
        for (size_t i = 0; f && i < g->ntensors; i++)
                fprintf(f, "%s %zu %zu\n", g->tensors[i].name, g->tensors[i].rows,
                        g->tensors[i].cols);
        if (!f || fclose(f))
                check(-errno, "tensors");
}

/* Logits and gradients of the first step, which is then taken. */
static void write_first(struct trainer *t)
{
        struct network *g = &t->pipe.stage[0].net;
        const struct train_setup *s = &t->setup;
        const size_t n = shape.block;
        int32_t tokens[BATCH * 24], targets[BATCH * 24];
        float loss;

        for (size_t i = 0; i < BATCH; i++)
                train_data_sample(s->data, s->seed, 0, i, shape.vocab, shape.block, tokens + i * n,
                                  targets + i * n);
        const struct network_pass pass = {.seed = s->seed, .dropout = s->dropout, .tokens = tokens};
        network_forward(g, &pass);
        write_all("logits", "wb", g->logits, g->rows * shape.vocab * sizeof(float));
        if (s->entropy)
                s->ops->loss_entropy(g->logits, targets, g->rows, shape.vocab, 1, &loss);
        else
                s->ops->loss_sum(g->logits, g->rows * shape.vocab, 1, &loss);
        network_backward(g, &pass);
        write_all("grads", "wb", g->grads, g->nparams * sizeof(float));
        s->ops->zero(g->grads, g->nparams);
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
        const struct train_setup s = {.ops = &math_host,
                                      .model = shape,
                                      .batch = BATCH,
                                      .seed = 11,
                                      .adamw = !strcmp(argv[1], "adamw"),
                                      .entropy = !strcmp(argv[2], "cross_entropy"),
                                      .lr = strtod(argv[3], NULL),
                                      .data = &noise};
        check(s.ops->open(1, why, sizeof why), "OpenBLAS");
        check(trainer_init(&t, &s, &alone), "memory");
        write_tensors(&t.pipe.stage[0].net);
        write_weights(&t, "weights.0");
        write_first(&t);
        for (int i = 0; i < STEPS; i++) {
                check(trainer_step(&t, &step), "step");
                write_all("tokens", "ab", t.host_tokens,
                          t.pipe.stage[0].net.rows * sizeof(int32_t));
                write_all("targets", "ab", t.host_tokens + t.pipe.stage[0].net.rows,
                          t.pipe.stage[0].net.rows * sizeof(int32_t));
                if (i == 0)
                        write_weights(&t, "weights.1");
        }
        write_weights(&t, "weights.4");
        trainer_release(&t);
        return 0;
}
