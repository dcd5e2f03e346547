/* SPDX-License-Identifier: Apache-2.0 */
/* lightning.c: the file of Lightning's Trainer.save_checkpoint(), as dump_checkpoint() of
 * lightning/pytorch/trainer/connectors/checkpoint_connector.py makes its dictionary: a trainer
 * that was given a module whose network is `self.model`, with Adam, after one epoch of one step.
 * Without the optimizer's state the trainer has made no step. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "bench/format/pickle.h"
#include "bench/format/torch.h"

#include "base/banned.h"

#define LIGHTNING_VERSION "2.6.0"  /* whose loops these are; later ones take them */
#define NETWORK           "model." /* what a module calls the network it trains */

/* How a tensor of a group is called where Adam knows it. */
static const char *group_of(const struct shard_piece *p, const char **rest)
{
        static const char *const groups[] = {"exp_avg_sq", "exp_avg", "master"};
        for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++) {
                size_t n = strlen(groups[i]);
                if (!strncmp(p->name, groups[i], n) && p->name[n] == '.') {
                        *rest = p->name + n + 1;
                        return groups[i];
                }
        }
        *rest = p->name;
        return NULL;
}

static void entry_int(struct buf *b, const char *key, uint64_t v)
{
        pickle_string(b, key);
        pickle_int(b, v);
}

/* --- loops --- */

enum progress {
        EMPTY,     /* a state of nothing */
        READY,     /* counts of ready and completed */
        PROCESSED, /* of ready, started, processed and completed */
        BATCHES,   /* these, and whether it was the last one */
        STEPPED,   /* how many batches stepped */
        OPTIMIZER  /* of its steps, and of its gradients */
};

static const struct {
        const char *loop, *key;
        enum progress kind;
        bool moves; /* counts what a fit does */
} loop_state[] = {
        {"fit_loop", "state_dict", EMPTY, false},
        {"fit_loop", "epoch_loop.state_dict", STEPPED, true},
        {"fit_loop", "epoch_loop.batch_progress", BATCHES, true},
        {"fit_loop", "epoch_loop.scheduler_progress", READY, false},
        {"fit_loop", "epoch_loop.automatic_optimization.state_dict", EMPTY, false},
        {"fit_loop", "epoch_loop.automatic_optimization.optim_progress", OPTIMIZER, true},
        {"fit_loop", "epoch_loop.manual_optimization.state_dict", EMPTY, false},
        {"fit_loop", "epoch_loop.manual_optimization.optim_step_progress", READY, false},
        {"fit_loop", "epoch_loop.val_loop.state_dict", EMPTY, false},
        {"fit_loop", "epoch_loop.val_loop.batch_progress", BATCHES, false},
        {"fit_loop", "epoch_progress", PROCESSED, true},
        {"validate_loop", "state_dict", EMPTY, false},
        {"validate_loop", "batch_progress", BATCHES, false},
        {"test_loop", "state_dict", EMPTY, false},
        {"test_loop", "batch_progress", BATCHES, false},
        {"predict_loop", "state_dict", EMPTY, false},
        {"predict_loop", "batch_progress", PROCESSED, false},
};
enum { LOOP_STATES = sizeof loop_state / sizeof loop_state[0] };

/* "total" and "current", alike; `words` are as many of the four as there are. */
static void add_counts(struct buf *b, const char *const *words, uint64_t n)
{
        static const char *const spans[] = {"total", "current"};
        for (size_t s = 0; s < 2; s++) {
                pickle_string(b, spans[s]);
                pickle_empty_dict(b);
                pickle_mark(b);
                for (const char *const *w = words; *w; w++)
                        entry_int(b, *w, n);
                pickle_set_items(b);
        }
}

static const char *const ready[] = {"ready", "completed", NULL};
static const char *const started[] = {"ready", "started", "completed", NULL};
static const char *const processed[] = {"ready", "started", "processed", "completed", NULL};

static void add_optimizer_progress(struct buf *b, uint64_t n)
{
        pickle_string(b, "optimizer");
        pickle_empty_dict(b);
        pickle_mark(b);
        pickle_string(b, "step");
        pickle_empty_dict(b);
        pickle_mark(b);
        add_counts(b, ready, n);
        pickle_set_items(b);
        pickle_string(b, "zero_grad");
        pickle_empty_dict(b);
        pickle_mark(b);
        add_counts(b, started, n);
        pickle_set_items(b);
        pickle_set_items(b);
}

static void add_progress(struct buf *b, enum progress kind, uint64_t n)
{
        pickle_empty_dict(b);
        pickle_mark(b);
        switch (kind) {
        case EMPTY:
                break;
        case READY:
                add_counts(b, ready, n);
                break;
        case PROCESSED:
        case BATCHES:
                add_counts(b, processed, n);
                break;
        case STEPPED:
                entry_int(b, "_batches_that_stepped", n);
                break;
        case OPTIMIZER:
                add_optimizer_progress(b, n);
                break;
        }
        if (kind == BATCHES) {
                pickle_string(b, "is_last_batch");
                pickle_bool(b, n > 0);
        }
        pickle_set_items(b);
}

static void add_loops(struct buf *b, uint64_t steps)
{
        pickle_string(b, "loops");
        pickle_empty_dict(b);
        pickle_mark(b);
        for (size_t i = 0; i < LOOP_STATES; i++) {
                bool first = !i || strcmp(loop_state[i].loop, loop_state[i - 1].loop) != 0;
                bool last = i + 1 == LOOP_STATES ||
                            strcmp(loop_state[i].loop, loop_state[i + 1].loop) != 0;
                if (first) {
                        pickle_string(b, loop_state[i].loop);
                        pickle_empty_dict(b);
                        pickle_mark(b);
                }
                pickle_string(b, loop_state[i].key);
                add_progress(b, loop_state[i].kind, loop_state[i].moves ? steps : 0);
                if (last)
                        pickle_set_items(b);
        }
        pickle_set_items(b);
}

/* --- tensors --- */

/* The number of steps of a parameter: a float32 without dimensions, of its own storage. */
static const unsigned char one_step[] = {0, 0, 0x80, 0x3f};

/* Entries data/0 and on: weights, then Adam's of each parameter, the steps before the moments. */
struct entries {
        const struct shard *s;
        struct torch_entry *v;
        size_t n;
};

static size_t add_entry(struct entries *e, const struct shard_piece *p)
{
        e->v[e->n] = (struct torch_entry){.piece = p, .text = one_step, .len = sizeof one_step};
        return e->n++;
}

static void add_weights(struct buf *b, struct entries *e)
{
        char name[sizeof e->s->v->name + sizeof NETWORK];
        const char *rest;

        pickle_string(b, "state_dict");
        pickle_global(b, "collections", "OrderedDict");
        pickle_tuple_of(b, 0);
        pickle_call(b);
        pickle_mark(b);
        for (size_t i = 0; i < e->s->n; i++) {
                const struct shard_piece *p = &e->s->v[i];
                if (group_of(p, &rest))
                        continue;
                snprintf(name, sizeof name, NETWORK "%s", rest);
                pickle_string(b, name);
                torch_pickle_tensor(b, p, add_entry(e, p));
        }
        pickle_set_items(b);
}

/* The state of a parameter: its step and what follows its weight in the shard. */
static void add_state(struct buf *b, struct entries *e, const struct shard_piece *weight,
                      uint64_t index)
{
        const struct shard_piece *end = e->s->v + e->s->n;
        const char *group, *rest;

        pickle_int(b, index);
        pickle_empty_dict(b);
        pickle_mark(b);
        pickle_string(b, "step");
        torch_pickle_scalar(b, add_entry(e, NULL));
        for (const struct shard_piece *p = weight + 1; p < end && (group = group_of(p, &rest));
             p++) {
                pickle_string(b, group);
                torch_pickle_tensor(b, p, add_entry(e, p));
        }
        pickle_set_items(b);
}

/* Adam's arguments, as PyTorch has them unless somebody says otherwise. */
static void add_param_group(struct buf *b, uint64_t params)
{
        static const char *const off[] = {"amsgrad", "maximize", "capturable", "differentiable",
                                          "decoupled_weight_decay"};
        static const char *const none[] = {"foreach", "fused"};

        pickle_empty_dict(b);
        pickle_mark(b);
        pickle_string(b, "lr");
        pickle_float(b, 0.001);
        pickle_string(b, "betas");
        pickle_float(b, 0.9);
        pickle_float(b, 0.999);
        pickle_tuple_of(b, 2);
        pickle_string(b, "eps");
        pickle_float(b, 1e-8);
        entry_int(b, "weight_decay", 0);
        for (size_t i = 0; i < sizeof off / sizeof off[0]; i++) {
                pickle_string(b, off[i]);
                pickle_bool(b, false);
        }
        for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
                pickle_string(b, none[i]);
                pickle_none(b);
        }
        pickle_string(b, "params");
        pickle_empty_list(b);
        pickle_mark(b);
        for (uint64_t i = 0; i < params; i++)
                pickle_int(b, i);
        pickle_append_all(b);
        pickle_set_items(b);
}

/* [{"state": ..., "param_groups": [...]}] */
static void add_optimizer(struct buf *b, struct entries *e, bool stepped)
{
        uint64_t params = 0;
        const char *rest;

        pickle_string(b, "optimizer_states");
        pickle_empty_list(b);
        pickle_mark(b);
        pickle_empty_dict(b);
        pickle_mark(b);
        pickle_string(b, "state");
        pickle_empty_dict(b);
        pickle_mark(b);
        for (size_t i = 0; i < e->s->n; i++)
                if (!group_of(&e->s->v[i], &rest)) {
                        if (stepped)
                                add_state(b, e, &e->s->v[i], params);
                        params++;
                }
        pickle_set_items(b);
        pickle_string(b, "param_groups");
        pickle_empty_list(b);
        pickle_mark(b);
        add_param_group(b, params);
        pickle_append_all(b);
        pickle_set_items(b);
        pickle_append_all(b);
}

static bool has_state(const struct shard *s)
{
        const char *rest;
        for (size_t i = 0; i < s->n; i++)
                if (group_of(&s->v[i], &rest))
                        return true;
        return false;
}

int lightning_wrap(struct shard *s)
{
        CLEANUP(buf_release) struct buf b = BUF_INIT;
        CLEANUP(layout_release) struct layout l = LAYOUT_INIT;
        CLEANUP(freep) struct torch_entry *v = calloc(2 * s->n + 1, sizeof *v);
        struct entries e = {.s = s, .v = v};
        bool stepped = has_state(s);

        if (!v)
                return -ENOMEM;
        pickle_begin(&b);
        pickle_empty_dict(&b);
        pickle_mark(&b);
        entry_int(&b, "epoch", stepped);
        entry_int(&b, "global_step", stepped);
        pickle_string(&b, "pytorch-lightning_version");
        pickle_string(&b, LIGHTNING_VERSION);
        add_weights(&b, &e);
        add_loops(&b, stepped);
        pickle_string(&b, "callbacks");
        pickle_empty_dict(&b);
        add_optimizer(&b, &e, stepped);
        pickle_string(&b, "lr_schedulers");
        pickle_empty_list(&b);
        pickle_set_items(&b);
        pickle_end(&b);
        torch_archive(&l, s, &b, v, e.n);
        return layout_take(&l, s);
}
