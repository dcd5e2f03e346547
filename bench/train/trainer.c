/* SPDX-License-Identifier: Apache-2.0 */
/* trainer.c: see trainer.h. */
#include "bench/train/trainer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "bench/core/clock.h"
#include "bench/core/signal_cleanup.h"

#include "base/banned.h"

/* Gradients are averaged so many bytes at a time, as torch's DistributedDataParallel does. */
enum { BUCKET = 25 << 20 };

uint64_t trainer_bytes(const struct train_setup *s, unsigned ranks)
{
        uint64_t state = gpt_bytes_state(&s->model);
        if (s->sharded)
                return fsdp_bytes(&s->model, ranks, s->adamw ? 4 : 2) +
                       gpt_bytes_activations(&s->model, s->batch);
        return state * (s->adamw ? 2 : 1) + gpt_bytes_activations(&s->model, s->batch) +
               (ranks > 1 ? BUCKET : 0);
}

/* Whether whole gradients are averaged. */
static bool averages(const struct trainer *t)
{
        return t->coll->ranks > 1 && !t->setup.sharded;
}

static int take_memory(struct trainer *t)
{
        const struct math_ops *ops = t->setup.ops;
        const size_t state = t->n * sizeof(float), row = t->gpt.rows * sizeof(int32_t);
        struct {
                size_t n;
                void **to;
        } const want[] = {{t->setup.adamw ? state : 0, (void **)&t->m},
                          {t->setup.adamw ? state : 0, (void **)&t->v},
                          {row, (void **)&t->tokens},
                          {row, (void **)&t->targets},
                          {sizeof(float), (void **)&t->loss}};
        int err = 0;

        for (size_t i = 0; i < sizeof want / sizeof want[0] && !err; i++)
                if (want[i].n)
                        err = ops->alloc(want[i].n, want[i].to);
        t->host_tokens = malloc(2 * row);
        t->bucket = averages(t) ? malloc(BUCKET) : NULL;
        return !err && (!t->host_tokens || (averages(t) && !t->bucket)) ? -ENOMEM : err;
}

struct fsdp_part trainer_part(const struct trainer *t, size_t tensor)
{
        const struct gpt_tensor *x = &t->gpt.tensors[tensor];
        return t->setup.sharded ? fsdp_part(&t->fsdp, tensor)
                                : (struct fsdp_part){.n = x->n, .off = x->off};
}

/* The first weights. */
static int draw(struct trainer *t)
{
        size_t most = 0;
        int err = 0;

        for (size_t i = 0; i < t->gpt.ntensors; i++)
                most = trainer_part(t, i).n > most ? trainer_part(t, i).n : most;
        CLEANUP(freep) float *host = malloc((most + 1) * sizeof *host);
        if (!host)
                return -ENOMEM;
        for (size_t i = 0; i < t->gpt.ntensors && !err; i++) {
                struct fsdp_part p = trainer_part(t, i);
                gpt_draw(&t->gpt, t->setup.seed, i, p.first, p.n, host);
                err = t->setup.ops->put(t->params + p.off, host, p.n * sizeof *host);
        }
        return err;
}

int trainer_init(struct trainer *t, const struct train_setup *s, struct coll *c)
{
        *t = (struct trainer){.setup = *s, .coll = c};
        int err = gpt_init(&t->gpt, s->ops, &s->model, s->batch, !s->sharded);
        if (!err && s->sharded)
                err = fsdp_init(&t->fsdp, &t->gpt, c);
        t->params = s->sharded ? t->fsdp.params : t->gpt.params;
        t->grads = s->sharded ? t->fsdp.grads : t->gpt.grads;
        t->n = s->sharded ? t->fsdp.n : t->gpt.nparams;
        if (!err)
                err = take_memory(t);
        return err ? err : draw(t);
}

void trainer_release(struct trainer *t)
{
        if (t->setup.ops) {
                t->setup.ops->release(t->m);
                t->setup.ops->release(t->v);
                t->setup.ops->release(t->tokens);
                t->setup.ops->release(t->targets);
                t->setup.ops->release(t->loss);
        }
        fsdp_release(&t->fsdp);
        gpt_release(&t->gpt);
        free(t->host_tokens);
        free(t->bucket);
        *t = (struct trainer){0};
}

static uint64_t first_sample(const struct trainer *t)
{
        return (uint64_t)t->coll->rank * t->setup.batch;
}

static int put_samples(struct trainer *t)
{
        const struct model *m = &t->setup.model;
        const size_t rows = t->gpt.rows;

        for (size_t i = 0; i < t->setup.batch; i++)
                train_data_sample(t->setup.data, t->setup.seed, t->step, first_sample(t) + i,
                                  m->vocab, m->block, t->host_tokens + i * m->block,
                                  t->host_tokens + rows + i * m->block);
        int err = t->setup.ops->put(t->tokens, t->host_tokens, rows * sizeof(int32_t));
        return err ? err
                   : t->setup.ops->put(t->targets, t->host_tokens + rows, rows * sizeof(int32_t));
}

/* The gradient of the loss is divided by the number of ranks, so that their sum is the average. */
static void make_loss(struct trainer *t)
{
        const struct math_ops *ops = t->setup.ops;
        const struct gpt *g = &t->gpt;
        float share = 1 / (float)t->coll->ranks;

        if (t->setup.entropy)
                ops->loss_entropy(g->logits, t->targets, g->rows, g->model.vocab, share, t->loss);
        else
                ops->loss_sum(g->logits, g->rows * g->model.vocab, share, t->loss);
}

static int forward(struct trainer *t, const struct gpt_pass *pass, float *loss)
{
        gpt_forward(&t->gpt, pass);
        make_loss(t);
        int err = t->setup.ops->wait();
        return err ? err : t->setup.ops->get(loss, t->loss, sizeof *loss);
}

static int backward(struct trainer *t, const struct gpt_pass *pass)
{
        gpt_backward(&t->gpt, pass);
        return t->setup.ops->wait();
}

/* Gradients become the sum of all ranks', and the loss their mean. Collective: a rank whose own
 * work failed comes here too, and one whose device fails on the way stays to the end. */
static int reduce(struct trainer *t, float *loss, int err)
{
        struct coll *c = t->coll;
        const size_t most = BUCKET / sizeof(float);
        int own = 0;

        err = coll_agree(c, err);
        if (err || c->ranks == 1)
                return err;
        err = c->ops->sum(c, loss, 1);
        *loss /= (float)c->ranks;
        if (t->setup.sharded) /* they are what each rank has of them */
                return err;
        for (size_t at = 0; at < t->gpt.nparams && !err; at += most) {
                size_t n = t->gpt.nparams - at < most ? t->gpt.nparams - at : most;
                float *grads = t->gpt.grads + at;
                if (!own)
                        own = t->setup.ops->get(t->bucket, grads, n * sizeof(float));
                err = c->ops->sum(c, t->bucket, n);
                if (!own)
                        own = t->setup.ops->put(grads, t->bucket, n * sizeof(float));
        }
        return err ? err : coll_agree(c, own);
}

int trainer_compare(struct trainer *t)
{
        const size_t most = BUCKET / sizeof(float);
        uint32_t crc = 0;
        int err = 0;

        if (t->coll->ranks == 1 || t->setup.sharded)
                return 0;
        for (size_t at = 0; at < t->gpt.nparams && !err; at += most) {
                size_t n = t->gpt.nparams - at < most ? t->gpt.nparams - at : most;
                err = t->setup.ops->get(t->bucket, t->gpt.params + at, n * sizeof(float));
                crc = crc32c(crc, t->bucket, n * sizeof(float));
        }
        double range[] = {crc, -(double)crc};
        err = coll_agree(t->coll, err);
        if (!err)
                err = t->coll->ops->max(t->coll, range, 2);
        return err ? err : range[0] == -range[1] ? 0 : -EBADMSG;
}

static int update(struct trainer *t)
{
        const struct math_ops *ops = t->setup.ops;
        const struct adam a = {.lr = t->setup.lr,
                               .beta1 = 0.9,
                               .beta2 = 0.999,
                               .epsilon = 1e-8,
                               .decay = 0.01,
                               .step = t->step + 1};

        if (t->setup.adamw)
                ops->adamw(t->params, t->grads, t->m, t->v, t->n, &a);
        else
                ops->sgd(t->params, t->grads, t->n, (float)t->setup.lr);
        return ops->wait();
}

static int zero_grads(struct trainer *t)
{
        t->setup.ops->zero(t->grads, t->n);
        return t->setup.ops->wait();
}

/* Both passes. Where ranks meet in them, one whose own work failed goes through them to the end. */
static int compute(struct trainer *t, struct train_step *out, float *loss)
{
        const bool meets = t->setup.sharded;
        struct gpt_pass pass = {.seed = t->setup.seed,
                                .step = t->step,
                                .first = first_sample(t),
                                .dropout = t->setup.dropout,
                                .tokens = t->tokens};
        if (meets) {
                pass.before = fsdp_before;
                pass.after = fsdp_after;
                pass.arg = &t->fsdp;
        }
        int err = put_samples(t), next = 0;
        uint64_t mark = clock_ns();
        if (!err || meets)
                next = forward(t, &pass, loss);
        err = err ? err : next;
        out->forward = clock_lap(&mark);
        if (!err || meets)
                next = backward(t, &pass);
        err = err ? err : next ? next : t->fsdp.err;
        out->backward = clock_lap(&mark);
        return !err && signal_came() ? -ECANCELED : err;
}

int trainer_step(struct trainer *t, struct train_step *out)
{
        float loss = 0;
        uint64_t begin = clock_ns();
        int err = compute(t, out, &loss);
        uint64_t mark = clock_ns();

        err = reduce(t, &loss, err);
        out->reduce = clock_lap(&mark);
        if (!err)
                err = update(t);
        out->update = clock_lap(&mark);
        if (!err)
                err = zero_grads(t);
        out->zero = clock_lap(&mark);
        out->total = clock_s(clock_ns() - begin);
        out->loss = (double)loss;
        t->step += !err;
        return err;
}
