/* SPDX-License-Identifier: Apache-2.0 */
/* trainer.c: see trainer.h. */
#include "bench/train/trainer.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "bench/core/clock.h"
#include "bench/core/signal_cleanup.h"
#include "bench/train/patches.h"

#include "base/banned.h"

static struct pipe_shape shape_of(const struct train_setup *s)
{
        return (struct pipe_shape){.batch = s->batch,
                                   .stash = s->stash,
                                   .device = s->device,
                                   .devices = s->devices ? s->devices : 1,
                                   .stages = s->stages ? s->stages : 1,
                                   .chunks = s->chunks ? s->chunks : 1};
}

const char *trainer_mode(const struct train_setup *s)
{
        return s->sharded ? "fsdp" : s->stages ? "pdp" : "ddp";
}

const char *trainer_activation(const struct train_setup *s)
{
        static const char *const words[] = {[NETWORK_STASH_ALL] = "noop",
                                            [NETWORK_STASH_INPUT] = "checkpoint",
                                            [NETWORK_STASH_COPY] = "offload"};
        return words[s->stash];
}

uint64_t trainer_pass_bytes(const struct train_setup *s)
{
        const struct pipe_shape shape = shape_of(s);
        return pipe_bytes(&s->model, &shape);
}

/* How many runs it has. */
static unsigned runs_of(const struct train_setup *s)
{
        return s->adamw ? 4 : 2;
}

uint64_t trainer_host_bytes(const struct train_setup *s, unsigned ranks)
{
        const struct pipe_shape shape = shape_of(s);
        const uint64_t runs = s->offloaded ? fsdp_run_bytes(&s->model, ranks, runs_of(s)) : 0;
        size_t first;

        return runs + (s->stash == NETWORK_STASH_COPY
                               ? network_bytes_copies(&s->model, pipe_samples(&shape, 0, &first), 0,
                                                      network_units(&s->model))
                               : 0);
}

uint64_t trainer_bytes(const struct train_setup *s, unsigned ranks)
{
        const uint64_t state = network_bytes_state(&s->model), passes = trainer_pass_bytes(s);

        if (s->sharded)
                return fsdp_bytes(&s->model, ranks, runs_of(s), s->prefetch) + passes;
        const bool sees = s->model.family == MODEL_CLASSIFIER;
        const uint64_t images = sees ? s->batch * IMAGE_ELEMENTS * sizeof(float) : 0;
        return state * (s->adamw ? 2 : 1) + passes + images + (ranks > 1 ? REDUCER_BUCKET : 0);
}

/* Whether whole gradients are averaged. */
static bool averages(const struct trainer *t)
{
        return t->coll->ranks > 1 && !t->setup.sharded;
}

const struct network *trainer_model(const struct trainer *t)
{
        return &t->pipe.stage[0].net;
}

const struct math_ops *trainer_home(const struct trainer *t)
{
        return t->setup.offloaded ? &math_host : t->setup.ops;
}

/* This thread turns to the device of a stage. */
static void turn_to(const struct trainer *t, unsigned stage)
{
        t->setup.ops->use(t->pipe.stage[stage].device);
}

/* For the devices of all stages; then it is back at the first. */
static int wait_for_all(const struct trainer *t)
{
        int err = 0;

        for (unsigned i = t->pipe.shape.stages; i-- > 0;) {
                turn_to(t, i);
                int one = t->setup.ops->wait();
                err = err ? err : one;
        }
        return err;
}

/* The runs of a stage, whose weights and gradients stand already. */
static int take_runs(struct trainer *t, unsigned stage)
{
        const struct math_ops *ops = trainer_home(t);
        const struct network *g = &t->pipe.stage[stage].net;
        const struct network_unit own = network_own(g);
        struct trainer_runs *r = &t->runs[stage];

        *r = (struct trainer_runs){.params = g->params,
                                   .grads = g->grads,
                                   .n = own.elements,
                                   .off = g->tensors[own.first].off};
        if (t->setup.sharded) {
                r->params = t->fsdp.params;
                r->grads = t->fsdp.grads;
                r->n = t->fsdp.n;
        }
        int err = t->setup.half ? ops->alloc(sizeof(float), (void **)&r->overflow) : 0;
        if (!err && t->setup.adamw)
                err = ops->alloc(r->n * sizeof(float), (void **)&r->m);
        if (!err && t->setup.adamw)
                err = ops->alloc(r->n * sizeof(float), (void **)&r->v);
        return err;
}

static int take_memory(struct trainer *t)
{
        const struct math_ops *ops = t->setup.ops;
        const bool sees = network_sees(trainer_model(t));
        const size_t tokens = t->setup.batch * (sees ? 1 : t->setup.model.block);
        const size_t patches = sees ? t->setup.batch * IMAGE_ELEMENTS : 0;
        const unsigned last = t->pipe.shape.stages - 1;
        const struct {
                unsigned stage; /* which reads it */
                size_t n;
                void **to;
        } want[] = {{0, tokens * sizeof(int32_t), (void **)&t->tokens},
                    {last, tokens * sizeof(int32_t), (void **)&t->targets},
                    {0, patches * sizeof(float), (void **)&t->patches},
                    {last, t->pipe.shape.chunks * sizeof(float), (void **)&t->loss}};
        int err = 0;

        t->runs = calloc(t->pipe.shape.stages, sizeof *t->runs);
        t->host_tokens = calloc(2 * tokens, sizeof *t->host_tokens);
        t->host_patches = sees ? malloc(IMAGE_ELEMENTS * sizeof(float)) : NULL;
        if (!t->runs || !t->host_tokens || (sees && !t->host_patches))
                return -ENOMEM;
        for (unsigned i = 0; i < t->pipe.shape.stages && !err; i++) {
                turn_to(t, i);
                err = take_runs(t, i);
        }
        for (size_t i = 0; i < sizeof want / sizeof want[0] && !err; i++) {
                turn_to(t, want[i].stage);
                err = ops->alloc(want[i].n, want[i].to);
        }
        turn_to(t, 0);
        return err;
}

static unsigned stage_of(const struct trainer *t, size_t tensor)
{
        const size_t off = trainer_model(t)->tensors[tensor].off;
        unsigned stage = 0;

        while (stage + 1 < t->pipe.shape.stages && off >= t->runs[stage + 1].off)
                stage++;
        return stage;
}

struct trainer_part trainer_part(const struct trainer *t, size_t tensor)
{
        const struct network_tensor *x = &trainer_model(t)->tensors[tensor];
        struct fsdp_part p = {.n = x->n, .off = x->off};

        if (t->setup.sharded)
                p = fsdp_part(&t->fsdp, tensor);
        const struct trainer_runs *r = &t->runs[stage_of(t, tensor)];
        const size_t at = p.off - r->off;
        return (struct trainer_part){.first = p.first,
                                     .n = p.n,
                                     .weight = r->params + at,
                                     .m = r->m ? r->m + at : NULL,
                                     .v = r->v ? r->v + at : NULL};
}

/* The first weights. */
static int draw(struct trainer *t)
{
        struct network g = *trainer_model(t);
        int err = 0;

        g.ops = trainer_home(t);
        for (size_t i = 0; i < g.ntensors && !err; i++) {
                const struct trainer_part p = trainer_part(t, i);
                turn_to(t, stage_of(t, i));
                err = network_draw(&g, t->setup.seed, i, p.first, p.n, p.weight);
        }
        const int waited = wait_for_all(t);
        return err ? err : waited;
}

/* For the next step. */
static void set_halves(struct trainer *t)
{
        for (unsigned i = 0; i < t->pipe.shape.stages; i++) {
                t->pipe.stage[i].net.half = t->setup.half;
                t->pipe.stage[i].net.grows = t->scale.factor;
        }
}

int trainer_init(struct trainer *t, const struct train_setup *s, struct coll *c)
{
        const struct pipe_shape shape = shape_of(s);

        *t = (struct trainer){
                .setup = *s, .coll = c, .samples = s->batch, .share = 1 / (float)c->ranks};
        int err = pipe_init(&t->pipe, s->ops, &s->model, &shape, !s->sharded);
        if (!err)
                err = coll_queue_init(&t->queue, c,
                                      s->sharded ? s->prefetch != FSDP_NOOP : !s->apart);
        if (!err && s->sharded)
                err = fsdp_init(&t->fsdp, &t->pipe.stage[0].net, trainer_home(t), s->device, c,
                                &t->queue, s->prefetch);
        if (!err && averages(t))
                err = reducer_init(&t->reducer, &t->pipe, c, &t->queue);
        t->fsdp.trace = t->reducer.trace = s->trace;
        t->scale = loss_scale_begin(s->loss_scale);
        if (!err)
                set_halves(t);
        if (!err)
                err = take_memory(t);
        return err ? err : draw(t);
}

void trainer_release(struct trainer *t)
{
        const struct math_ops *ops = t->setup.ops, *home = trainer_home(t);

        for (unsigned i = 0; t->runs && i < t->pipe.shape.stages; i++) {
                home->release(t->runs[i].overflow);
                home->release(t->runs[i].m);
                home->release(t->runs[i].v);
        }
        if (ops) {
                ops->release(t->tokens);
                ops->release(t->targets);
                ops->release(t->patches);
                ops->release(t->loss);
        }
        coll_queue_release(&t->queue);
        reducer_release(&t->reducer);
        fsdp_release(&t->fsdp);
        pipe_release(&t->pipe);
        free(t->runs);
        free(t->host_tokens);
        free(t->host_patches);
        *t = (struct trainer){0};
}

static uint64_t first_sample(const struct trainer *t)
{
        return (uint64_t)t->coll->rank * t->setup.batch;
}

static int put_samples(struct trainer *t)
{
        const struct model *m = &t->setup.model;
        const size_t rows = t->setup.batch * m->block;

        for (size_t i = 0; i < t->setup.batch; i++)
                train_data_sample(t->setup.data, t->setup.seed, t->step, first_sample(t) + i,
                                  m->vocab, m->block, t->host_tokens + i * m->block,
                                  t->host_tokens + rows + i * m->block);
        int err = t->setup.ops->put(t->tokens, t->host_tokens, rows * sizeof(int32_t));
        return err ? err
                   : t->setup.ops->put(t->targets, t->host_tokens + rows, rows * sizeof(int32_t));
}

static int put_images(struct trainer *t, const unsigned char *rgb, const int32_t *label, size_t n)
{
        const struct math_ops *ops = t->setup.ops;
        int err = ops->put(t->targets, label, n * sizeof *label);

        for (size_t i = 0; i < n && !err; i++) {
                patches_make(rgb + i * IMAGE_ELEMENTS, t->host_patches);
                err = ops->put(t->patches + i * IMAGE_ELEMENTS, t->host_patches,
                               IMAGE_ELEMENTS * sizeof(float));
        }
        return err;
}

int trainer_feed(struct trainer *t, const unsigned char *rgb, const int32_t *label, size_t n,
                 size_t *all)
{
        float sum = (float)n;
        int err = coll_agree(t->coll, n ? put_images(t, rgb, label, n) : 0);

        if (!err && t->coll->ranks > 1)
                err = t->coll->ops->sum(t->coll, &sum, 1);
        t->samples = n;
        t->pipe.shape.batch = n;
        t->share = sum > 0 ? (float)n / sum : 0;
        *all = (size_t)sum;
        return err;
}

/* The gradient of the loss counts by what the rank has of all samples, so that the ranks' sum is
 * the average; and a mean over a micro-batch by what it has of the rank's. */
static void make_loss(void *arg, const struct network *g, unsigned chunk, size_t first)
{
        const struct trainer *t = arg;
        const struct math_ops *ops = t->setup.ops;
        const float share = t->share;
        const float part = (float)((double)g->batch / (double)t->samples);

        if (t->setup.entropy)
                ops->loss_entropy(g->logits, t->targets + first * (network_answers(g) / g->batch),
                                  network_answers(g), g->model.vocab, share * part,
                                  t->loss + chunk);
        else
                ops->loss_sum(g->logits, network_answers(g) * g->model.vocab, share,
                              t->loss + chunk);
}

/* Of all samples of this rank. */
static int get_loss(const struct trainer *t, float *loss)
{
        const struct pipe_shape *s = &t->pipe.shape;
        size_t first;
        double sum = 0;
        int err = 0;

        for (unsigned i = 0; i < pipe_chunks(s) && !err; i++) {
                const double samples = (double)pipe_samples(s, i, &first);
                float one = 0;
                err = t->setup.ops->get(&one, t->loss + i, sizeof one);
                sum += (double)one * (t->setup.entropy ? samples / (double)s->batch : 1);
        }
        *loss = (float)sum;
        return err;
}

static int forward(struct trainer *t, const struct pipe_pass *pass, float *loss)
{
        int err = pipe_forward(&t->pipe, pass);
        return err ? err : get_loss(t, loss);
}

/* *any is not 0 if a gradient of this rank, summed, is infinite or no number. */
static int find_overflow(const struct trainer *t, float *any)
{
        const struct math_ops *ops = trainer_home(t);
        int err = 0;

        for (unsigned i = t->pipe.shape.stages; i-- > 0 && !err;) {
                const struct trainer_runs *r = &t->runs[i];
                float one = 0;
                turn_to(t, i);
                ops->zero(r->overflow, 1);
                ops->find_overflow(r->grads, r->n, r->overflow);
                err = ops->get(&one, r->overflow, sizeof one);
                *any += one;
        }
        turn_to(t, 0);
        return err;
}

/* Gradients become the sum of all ranks', and the loss their mean; with halves, *overflow is not 0
 * if there is a gradient in any rank that is no number. Collective: a rank whose own work failed
 * comes here too. */
static int reduce(struct trainer *t, float *loss, float *overflow, int err)
{
        struct coll *c = t->coll;
        int own = 0, apart = averages(t) ? reducer_end(&t->reducer, &own) : 0;

        if (apart)
                return apart;
        err = err ? err : own;
        if (!err && t->setup.half)
                err = find_overflow(t, overflow);
        err = coll_agree(c, err);
        if (err || c->ranks == 1)
                return err;
        float sum[] = {*loss * t->share, *overflow};
        err = c->ops->sum(c, sum, t->setup.half ? 2 : 1);
        *loss = sum[0];
        *overflow = sum[1];
        return err;
}

static int checksum_run(struct trainer *t, const struct trainer_runs *r, uint32_t *crc)
{
        const size_t most = REDUCER_BUCKET / sizeof(float);
        int err = 0;

        for (size_t at = 0; at < r->n && !err; at += most) {
                size_t n = r->n - at < most ? r->n - at : most;
                err = t->setup.ops->get(t->reducer.host, r->params + at, n * sizeof(float));
                *crc = crc32c(*crc, t->reducer.host, n * sizeof(float));
        }
        return err;
}

int trainer_compare(struct trainer *t)
{
        uint32_t crc = 0;
        int err = 0;

        if (t->coll->ranks == 1 || t->setup.sharded)
                return 0;
        for (unsigned i = 0; i < t->pipe.shape.stages && !err; i++)
                err = checksum_run(t, &t->runs[i], &crc);
        double range[] = {crc, -(double)crc};
        err = coll_agree(t->coll, err);
        if (!err)
                err = t->coll->ops->max(t->coll, range, 2);
        return err ? err : range[0] == -range[1] ? 0 : -EBADMSG;
}

static int update(struct trainer *t)
{
        const struct math_ops *ops = trainer_home(t);
        const struct adam a = {.lr = t->setup.lr,
                               .beta1 = 0.9,
                               .beta2 = 0.999,
                               .epsilon = 1e-8,
                               .decay = t->setup.undecayed ? 0 : 0.01,
                               .step = t->step + 1 - t->scale.skipped};

        for (unsigned i = 0; i < t->pipe.shape.stages; i++) {
                const struct trainer_runs *r = &t->runs[i];
                turn_to(t, i);
                if (t->setup.adamw)
                        ops->adamw(r->params, r->grads, r->m, r->v, r->n, &a);
                else
                        ops->sgd(r->params, r->grads, r->n, (float)t->setup.lr);
        }
        return wait_for_all(t);
}

static int zero_grads(struct trainer *t)
{
        for (unsigned i = 0; i < t->pipe.shape.stages; i++) {
                turn_to(t, i);
                trainer_home(t)->zero(t->runs[i].grads, t->runs[i].n);
        }
        return wait_for_all(t);
}

/* Seconds since *mark, which becomes now. */
static double lap(const struct trainer *t, enum trace_what what, uint64_t *mark)
{
        const uint64_t begin = *mark;
        const double seconds = clock_lap(mark);

        trace_add(t->setup.trace, what, trace_steps(t->setup.device), begin, *mark, t->step + 1);
        return seconds;
}

static double weigh(const struct trainer *t)
{
        return t->weighs ? (double)t->setup.ops->taken() : 0;
}

/* Both passes. Where ranks meet in them, one whose own work failed goes through them to the end. */
static int compute(struct trainer *t, struct train_step *out, float *loss)
{
        const bool meets = t->setup.sharded, idle = !t->samples;
        struct pipe_pass pass = {.net = {.seed = t->setup.seed,
                                         .step = t->step,
                                         .first = first_sample(t),
                                         .dropout = t->setup.dropout,
                                         .tokens = t->setup.data ? t->tokens : NULL,
                                         .patches = t->patches},
                                 .loss = make_loss,
                                 .arg = t,
                                 .trace = t->setup.stages ? t->setup.trace : NULL};
        if (meets) {
                pass.net.before = fsdp_before;
                pass.net.after = fsdp_after;
                pass.net.arg = &t->fsdp;
        } else if (averages(t)) {
                pass.net.complete = reducer_complete;
                pass.net.arg = &t->reducer;
                reducer_begin(&t->reducer);
        }
        set_halves(t);
        int err = t->setup.data ? put_samples(t) : 0, next = 0;
        uint64_t mark = clock_ns();
        if (!idle && (!err || meets))
                next = forward(t, &pass, loss);
        err = err ? err : next;
        out->forward = lap(t, TRACE_FORWARD, &mark);
        out->held.forward = weigh(t);
        if (!idle && (!err || meets))
                next = pipe_backward(&t->pipe, &pass);
        err = err ? err : next ? next : t->fsdp.err;
        out->backward = lap(t, TRACE_BACKWARD, &mark);
        out->held.backward = weigh(t);
        return !err && signal_came() ? -ECANCELED : err;
}

int trainer_step(struct trainer *t, struct train_step *out)
{
        float loss = 0, overflow = 0;
        uint64_t begin = clock_ns();
        int err = compute(t, out, &loss);
        uint64_t mark = clock_ns();

        err = reduce(t, &loss, &overflow, err);
        out->skipped = !err && overflow != 0;
        out->reduce = lap(t, TRACE_REDUCE, &mark);
        const bool together = !err && t->coll->ranks > 1;
        if (!err && !out->skipped)
                err = update(t);
        out->update = lap(t, TRACE_OPTIMIZER, &mark);
        out->held.update = weigh(t);
        if (!err)
                err = zero_grads(t);
        out->zero = lap(t, TRACE_ZERO_GRAD, &mark);
        out->held.zero = weigh(t);
        if (together) /* or the others would wait in the next step for a rank whose device failed */
                err = coll_agree(t->coll, err);
        out->total = lap(t, TRACE_STEP, &begin);
        out->loss = (double)loss;
        if (!err && t->setup.half)
                loss_scale_note(&t->scale, out->skipped);
        t->step += !err;
        return err;
}
