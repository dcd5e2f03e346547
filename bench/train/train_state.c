/* SPDX-License-Identifier: Apache-2.0 */
/* train_state.c: see train_state.h. */
#include "bench/train/train_state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

/* What is kept for each tensor. */
static unsigned groups_of(const struct train_setup *s)
{
        return s->adamw ? 3 : 1;
}
static const char *const prefixes[] = {"", "exp_avg.", "exp_avg_sq."};

uint64_t train_state_bytes(const struct train_setup *s)
{
        return gpt_bytes_state(&s->model) / 2 * groups_of(s) + sizeof(float);
}

static void add_piece(struct train_state *s, const char *prefix, const char *name, size_t rows,
                      size_t cols, size_t at)
{
        struct shard *shard = &s->shard;
        struct shard_piece *p = &shard->v[shard->n++];

        *p = (struct shard_piece){.id = shard->n,
                                  .off = shard->size,
                                  .len = rows * cols * sizeof(float),
                                  .rows = rows,
                                  .cols = cols,
                                  .elem = sizeof(float),
                                  .held = (const char *)(s->host + at)};
        snprintf(p->name, sizeof p->name, "%s%s", prefix, name);
        shard->size += p->len;
}

/* The tensors alone; pos_emb has one more dimension in torch. */
static int list_tensors(struct train_state *s, const struct trainer *t)
{
        const struct gpt *g = &t->gpt;
        const unsigned groups = groups_of(&t->setup);

        shard_release(&s->shard);
        s->shard.v = calloc(groups * g->ntensors + 1, sizeof *s->shard.v);
        if (!s->shard.v)
                return -ENOMEM;
        for (unsigned i = 0; i < groups; i++)
                for (size_t k = 0; k < g->ntensors; k++) {
                        const struct gpt_tensor *x = &g->tensors[k];
                        add_piece(s, prefixes[i], x->name, x->rows, x->cols,
                                  i * g->nparams + x->off);
                        s->shard.v[s->shard.n - 1].lead = !strcmp(x->name, "emb_stem.pos_emb");
                }
        add_piece(s, "", "step", 1, 1, groups * g->nparams);
        return 0;
}

int train_state_init(struct train_state *s, const struct trainer *t)
{
        *s = (struct train_state){.n = groups_of(&t->setup) * t->gpt.nparams + 1};
        s->host = calloc(s->n, sizeof *s->host);
        return s->host ? list_tensors(s, t) : -ENOMEM;
}

void train_state_release(struct train_state *s)
{
        shard_release(&s->shard);
        free(s->host);
        *s = (struct train_state){0};
}

int train_state_take(struct train_state *s, const struct trainer *t)
{
        const float *const from[] = {t->gpt.params, t->m, t->v};
        const size_t n = t->gpt.nparams;
        int err = t->step < TRAIN_STEPS_MAX ? 0 : -EOVERFLOW;

        for (unsigned i = 0; i < groups_of(&t->setup) && !err; i++)
                err = t->setup.ops->get(s->host + i * n, from[i], n * sizeof(float));
        s->host[s->n - 1] = (float)t->step;
        return err ? err : list_tensors(s, t);
}

int train_state_put(const struct train_state *s, struct trainer *t)
{
        float *const to[] = {t->gpt.params, t->m, t->v};
        const size_t n = t->gpt.nparams;
        const float step = s->host[s->n - 1];
        int err = 0;

        if (!(step >= 0 && step < TRAIN_STEPS_MAX) || step != (float)(uint64_t)step)
                return -EBADMSG;
        for (unsigned i = 0; i < groups_of(&t->setup) && !err; i++)
                err = t->setup.ops->put(to[i], s->host + i * n, n * sizeof(float));
        t->step = (uint64_t)step;
        return err;
}
