/* SPDX-License-Identifier: Apache-2.0 */
/* train_state.c: see train_state.h. */
#include "bench/train/train_state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#include "base/banned.h"

/* What is kept for each tensor. */
enum { GROUPS = 3 };
static const char *const prefixes[GROUPS] = {"", "exp_avg.", "exp_avg_sq."};
/* `step`, and then what a job without halves has only where one with them came before. */
enum { NUMBERS = 4 };
static const char *const numbers[NUMBERS] = {"step", "scaler.scale", "scaler._growth_tracker",
                                             "scaler.skipped"};

static unsigned groups_of(const struct train_setup *s)
{
        return s->adamw ? GROUPS : 1;
}

uint64_t train_state_bytes(const struct train_setup *s)
{
        return network_bytes_state(&s->model) / 2 * groups_of(s) +
               (s->half ? NUMBERS : 1) * sizeof(float);
}

/* What the trainer has of a tensor, in one of its runs. */
static void add_part(struct shard *to, const char *prefix, const struct network_tensor *x,
                     const struct trainer_part *part, const float *values)
{
        struct shard_piece *p = &to->v[to->n];

        if (!part->n)
                return;
        *p = (struct shard_piece){.id = ++to->n,
                                  .off = to->size,
                                  .tensor_off = part->first * sizeof(float),
                                  .len = part->n * sizeof(float),
                                  .rows = x->rows,
                                  .cols = x->cols,
                                  .elem = sizeof(float),
                                  .lead = x->lead,
                                  .kernel = x->kernel,
                                  .held = (const char *)values};
        snprintf(p->name, sizeof p->name, "%s%s", prefix, x->name);
        to->size += p->len;
}

static void add_number(struct shard *to, const char *name)
{
        struct shard_piece *p = &to->v[to->n];

        *p = (struct shard_piece){.id = ++to->n,
                                  .off = to->size,
                                  .len = sizeof(float),
                                  .rows = 1,
                                  .cols = 1,
                                  .elem = sizeof(float)};
        snprintf(p->name, sizeof p->name, "%s", name);
        to->size += p->len;
}

static void add_numbers(struct shard *to, bool scaler)
{
        for (size_t i = 0; i < (scaler ? NUMBERS : 1); i++)
                add_number(to, numbers[i]);
}

float train_state_number(const void *trainer, const char *name)
{
        const struct trainer *t = trainer;

        if (!strcmp(name, "scaler.scale"))
                return t->scale.factor;
        if (!strcmp(name, "scaler._growth_tracker"))
                return (float)t->scale.good;
        return (float)(!strcmp(name, "scaler.skipped") ? t->scale.skipped : t->step);
}

bool train_state_optional(const char *name)
{
        return strncmp(name, "scaler.", strlen("scaler.")) == 0;
}

bool train_state_moment(const char *name)
{
        for (size_t i = 1; i < GROUPS; i++)
                if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
                        return true;
        return false;
}

static void add_parts(struct shard *to, const struct trainer *t, unsigned groups)
{
        const struct network *g = trainer_model(t);

        for (unsigned i = 0; i < groups; i++)
                for (size_t k = 0; k < g->ntensors; k++) {
                        const struct trainer_part p = trainer_part(t, k);
                        const float *const values[GROUPS] = {p.weight, p.m, p.v};
                        add_part(to, prefixes[i], &g->tensors[k], &p, values[i]);
                }
}

static int list_trained(struct shard *to, const struct trainer *v, unsigned n, unsigned groups,
                        bool with_numbers, bool scaler)
{
        to->v = calloc(n * groups * trainer_model(v)->ntensors + NUMBERS, sizeof *to->v);
        if (!to->v)
                return -ENOMEM;
        for (unsigned i = 0; i < n; i++)
                add_parts(to, &v[i], groups);
        if (with_numbers)
                add_numbers(to, scaler);
        return 0;
}

int train_state_list(struct shard *out, const struct trainer *v, unsigned n,
                     const struct coll *ranks, enum train_share share)
{
        CLEANUP(shard_release) struct shard all = {0};
        const bool dealt = share == TRAIN_SHARE_DEALT, divided = dealt && v->setup.sharded;

        *out = (struct shard){0};
        const bool weights = share == TRAIN_SHARE_WEIGHTS;
        int err = list_trained(&all, v, divided ? n : 1, weights ? 1 : groups_of(&v->setup),
                               !weights && (!divided || ranks->rank == 0),
                               share == TRAIN_SHARE_LOADED || v->setup.half || v->scale.skipped);
        if (!err && dealt && !divided)
                return shard_deal(&all, ranks->rank, ranks->ranks, out);
        if (!err) {
                *out = all;
                all = (struct shard){0};
        }
        return err;
}

int train_state_get(void *arg, void *to, const void *from, size_t n)
{
        const struct trainer *t = arg;
        return trainer_home(t)->get(to, from, n);
}

int train_state_init(struct train_state *s, const struct trainer *t)
{
        *s = (struct train_state){0};
        int err = train_state_list(&s->trained, t, 1, t->coll, TRAIN_SHARE_LOADED);
        s->bytes = s->trained.size;
        if (!err && !(s->host = calloc(1, s->bytes + !s->bytes)))
                err = -ENOMEM;
        return err;
}

void train_state_release(struct train_state *s)
{
        shard_release(&s->trained);
        free(s->host);
        *s = (struct train_state){0};
}

/* 0 for what the save lacked. */
static float loaded(const struct train_state *s, const char *name)
{
        for (size_t i = 0; i < s->trained.n; i++)
                if (!strcmp(s->trained.v[i].name, name))
                        return s->host[s->trained.v[i].off / sizeof(float)];
        return 0;
}

/* A whole number from 0 to below `end`. */
static bool counts(float v, float end)
{
        return v >= 0 && v < end && v == (float)(uint64_t)v;
}

static int put_numbers(const struct train_state *s, struct trainer *t)
{
        const float step = loaded(s, "step"), factor = loaded(s, "scaler.scale");
        const float good = loaded(s, "scaler._growth_tracker");
        const float skipped = loaded(s, "scaler.skipped");

        if (!counts(step, TRAIN_STEPS_MAX) || !counts(good, LOSS_SCALE_EVERY) ||
            !counts(skipped, step + 1) || (factor != 0 && !loss_scale_may_be(factor)))
                return -EBADMSG;
        if (factor != 0 && !t->scale.fixed) {
                t->scale.factor = factor;
                t->scale.good = (uint32_t)good;
        }
        t->scale.skipped = (uint64_t)skipped;
        t->step = (uint64_t)step;
        return 0;
}

int train_state_put(const struct train_state *s, struct trainer *t)
{
        int err = put_numbers(s, t);

        for (size_t i = 0; i < s->trained.n && !err; i++) {
                const struct shard_piece *p = &s->trained.v[i];
                if (p->held)
                        err = trainer_home(t)->put((void *)(uintptr_t)p->held,
                                                   (const char *)s->host + p->off, p->len);
        }
        return err;
}
