/* SPDX-License-Identifier: Apache-2.0 */
/* async_state.c: see async_state.h. */
#include "bench/scenario/async/async_state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/core/copies.h"
#include "bench/core/cpu.h"
#include "bench/core/dev.h"
#include "bench/data/model_keys.h"
#include "bench/scenario/train/train_keys.h"
#include "bench/train/math/blas.h"
#include "bench/train/train_state.h"

#include "base/banned.h"

/* Why a model is not trained; NULL: it can be. */
static const char *hindrance(const struct keys *k, const struct model *m)
{
        if (m->family != MODEL_GPT)
                return "only GPTs are trained: give one of gpt-mini to gpt-1t";
        if (k->device == DEVICE_EMULATED)
                return "an emulated device trains nothing: give device=cuda, or device=host";
        return blas_built() ? NULL : "this build has no OpenBLAS: build with libopenblas-dev";
}

int async_state_choose(const struct keys *k, bool *trains, struct train_setup *out, char *why,
                       size_t nwhy)
{
        struct keys mine = *k; /* borrows the strings */
        struct model m;
        int err = model_choose(k, &m, why, nwhy);

        *trains = false;
        if (err || k->async_state == STATE_PATTERN)
                return err;
        const char *stands = hindrance(k, &m);
        if (stands && k->async_state == STATE_TRAINED) {
                snprintf(why, nwhy, "async.state=trained: %s, or leave it out", stands);
                return -EINVAL;
        }
        if (stands)
                return 0;
        *trains = true;
        mine.train_mode = MODE_FSDP;
        mine.train_optimizer = k->optimizer ? OPTIMIZER_ADAMW : OPTIMIZER_SGD;
        return train_setup(&mine, out, why, nwhy);
}

static int begin_training(struct async_state *s, struct train_setup *setup, char *why, size_t nwhy)
{
        const struct coll *c = s->coll;
        const unsigned cores = cpu_cores() / c->host_ranks;

        setup->data = &s->noise;
        int err = math_choose(1, cores ? cores : 1, &setup->ops, why, nwhy);
        return err ? err : trainer_init(&s->trainer, setup, s->coll);
}

static int make_pattern(struct async_state *s, bool optimizer)
{
        struct coll *c = s->coll;
        struct payload *p = &s->payload;
        bool held;

        int err = shard_plan(&s->model, optimizer, SHARD_ROWS, c->rank, c->ranks, &p->shard);
        p->shard.seed = s->seed;
        payload_init(p, true);
        err = coll_agree(c, err);
        if (!err) /* on the device if it has room */
                err = payload_choose(c, p->shard.size, HOLD_ON, &held);
        if (!err)
                err = payload_hold(p);
        return err ? err : payload_fill(p);
}

int async_state_init(struct async_state *s, const struct run *r, const struct keys *k)
{
        struct train_setup setup;
        char why[512] = "";

        *s = (struct async_state){.coll = r->coll, .seed = k->seed};
        int err = async_state_choose(k, &s->trains, &setup, why, sizeof why);
        if (!err)
                err = model_choose(k, &s->model, why, sizeof why);
        if (!err)
                err = s->trains ? begin_training(s, &setup, why, sizeof why)
                                : make_pattern(s, k->optimizer);
        if (err == -ENOMEM && !*why)
                snprintf(why, sizeof why, "out of memory: give a smaller model= or size=");
        return run_agree(r, err, *why ? why : strerror(-err));
}

void async_state_release(struct async_state *s)
{
        if (s->trains)
                trainer_release(&s->trainer);
        payload_release(&s->payload);
        *s = (struct async_state){0};
}

int async_state_step(struct async_state *s)
{
        struct train_step ignored;

        if (s->trains) {
                const int err = trainer_step(&s->trainer, &ignored);
                s->step = s->trainer.step;
                return err;
        }
        s->payload.shard.seed = s->seed + ++s->step;
        return coll_agree(s->coll, payload_fill(&s->payload));
}

/* Where the pattern begins, on the device or in the host's memory. */
static const char *pattern(const struct payload *p)
{
        return p->dev.ops ? p->dev.mem : p->data.mem;
}

static int get_pattern(void *arg, void *to, const void *from, size_t n)
{
        struct payload *p = arg;

        if (p->dev.ops)
                return p->data.fill(p, (uint64_t)((const char *)from - pattern(p)), to, n);
        copies_host(to, from, n);
        return 0;
}

int async_state_source(struct async_state *s, struct train_source *out)
{
        struct payload *p = &s->payload;

        *out = (struct train_source){.get = train_state_get, .arg = &s->trainer};
        if (s->trains)
                return train_state_list(&out->shard, &s->trainer, 1, s->coll, TRAIN_SHARE_DEALT);
        *out = (struct train_source){.get = get_pattern, .arg = p};
        out->shard.v = calloc(p->shard.n + 1, sizeof *out->shard.v);
        if (!out->shard.v)
                return -ENOMEM;
        for (size_t i = 0; i < p->shard.n; i++) {
                out->shard.v[i] = p->shard.v[i];
                out->shard.v[i].held = pattern(p) + p->shard.v[i].off;
        }
        out->shard.n = p->shard.n;
        out->shard.size = p->shard.size;
        return 0;
}
