/* SPDX-License-Identifier: Apache-2.0 */
/* math.c: the arithmetic of training on a GPU beside that of the host: each function of the table
 * on the same numbers, and models that learn on both. Prints TAP. Linked with tests/gpu/emulated it
 * runs the same kernels on the processor. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/core/dev.h"
#include "bench/core/keys.h"
#include "bench/train/math/random.h"
#include "bench/train/patches.h"
#include "bench/train/replicas.h"
#include "tests/lib/other_rank.h"
#include "tests/lib/small_gpt.h"
#ifdef EMULATED
#include <cuda_runtime.h>
#endif

#include "base/banned.h"

static const struct math_ops *const host = &math_host, *const device = &math_cuda;
static int cases, failures;

static void result(bool right, const char *text)
{
        printf("%sok %d - %s\n", right ? "" : "not ", ++cases, text);
        failures += !right;
}

/* A line for a person, where something is not as it should be. */
#define DIAG(...) (printf("# " __VA_ARGS__), putchar('\n'))

static void need(int err, const char *what)
{
        if (!err)
                return;
        printf("Bail out! %s: %s\n", what, strerror(-err));
        exit(1);
}

/* --- each function --- */

enum { BUFFERS = 6 };
struct shape {
        size_t rows, block, n; /* rows are a multiple of the block */
};
struct memory {
        float *v[BUFFERS];
        int32_t *token;
};
struct op {
        const char *name;
        void (*run)(const struct math_ops *o, const struct shape *s, const struct memory *m);
        double tolerance; /* of the largest number of a buffer */
};

static size_t all(const struct shape *s)
{
        return s->rows * s->n;
}

static void run_add(const struct math_ops *o, const struct shape *s, const struct memory *m)
{
        o->add(m->v[0], m->v[1], all(s));
        o->copy(m->v[2], m->v[0], all(s) - 1);
        o->zero(m->v[3] + 1, all(s) - 1);
}
static void run_drop(const struct math_ops *o, const struct shape *s, const struct memory *m)
{
        const struct dropout d = {.key = 77, .first = 1234567, .p = 0.3F}, none = {0};
        o->drop(m->v[0], all(s), &d);
        o->drop(m->v[1], all(s), &none);
        o->draw(m->v[2], all(s), 77, 1234567, 0.02F);
}
static void run_rows(const struct math_ops *o, const struct shape *s, const struct memory *m)
{
        o->add_rows(m->v[0], m->v[1], s->rows, s->n);
        o->sum_rows(m->v[2], m->v[3], s->rows, s->n);
}
static void run_embed(const struct math_ops *o, const struct shape *s, const struct memory *m)
{
        o->embed(m->v[0], m->v[1], m->v[2], m->token, s->rows, s->block, s->n);
        o->embed_back(m->v[3], m->v[4], m->v[5], m->token, s->rows, s->block, s->n);
}
static void run_place(const struct math_ops *o, const struct shape *s, const struct memory *m)
{
        o->place(m->v[0], m->v[1], m->v[1] + s->n, m->v[2], s->rows, s->block, s->n);
        o->place_back(m->v[0], m->v[3], m->v[4], m->v[5], s->rows, s->block, s->n);
}
static void run_norm(const struct math_ops *o, const struct shape *s, const struct memory *m)
{
        const struct norm n = {s->rows,           s->n, m->v[1], m->v[1] + s->n, m->v[5],
                               m->v[5] + s->rows, 1e-5F};
        o->norm(&n, m->v[0], m->v[2]);
        o->norm_back(&n, m->v[0], m->v[2], m->v[3], m->v[4], m->v[4] + s->n);
}
static void run_gelu(const struct math_ops *o, const struct shape *s, const struct memory *m)
{
        o->gelu(m->v[0], m->v[1], all(s));
        o->gelu_back(m->v[0], m->v[2], all(s));
}
static void run_softmax(const struct math_ops *o, const struct shape *s, const struct memory *m)
{
        for (unsigned causal = 0; causal < 2; causal++) {
                o->softmax(m->v[2 * causal], s->rows / s->block, s->block, causal, 0.7F);
                o->softmax_back(m->v[2 * causal], m->v[2 * causal + 1], s->rows / s->block,
                                s->block, causal, 0.7F);
        }
}
static void run_loss(const struct math_ops *o, const struct shape *s, const struct memory *m)
{
        o->loss_entropy(m->v[0], m->token, s->rows, s->n, 0.5F, m->v[1]);
        o->loss_sum(m->v[2], all(s), 0.25F, m->v[3]);
}
/* What is infinite or no number is found where it is, and is gone when buffers are compared. */
static void run_overflow(const struct math_ops *o, const struct shape *s, const struct memory *m)
{
        float *const last = m->v[0] + all(s) - 1;

        o->find_overflow(m->v[0], all(s), m->v[1]);
        o->sgd(last, m->v[2], 1, INFINITY);
        o->find_overflow(m->v[0], all(s) - 1, m->v[1]);
        o->find_overflow(m->v[0], all(s), m->v[1] + 1);
        o->zero(last, 1);
        o->sgd(m->v[0], m->v[2], 1, NAN);
        o->find_overflow(m->v[0], all(s), m->v[1] + 2);
        o->zero(m->v[0], 1);
        o->find_overflow(m->v[0], all(s), m->v[1] + 3);
}
static void run_sgd(const struct math_ops *o, const struct shape *s, const struct memory *m)
{
        o->sgd(m->v[0], m->v[1], all(s), 0.01F);
}
static void run_adamw(const struct math_ops *o, const struct shape *s, const struct memory *m)
{
        struct adam a = {.lr = 0.001, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .decay = 0.01};

        o->zero(m->v[2], all(s));
        o->zero(m->v[3], all(s));
        for (a.step = 1; a.step < 4; a.step++)
                o->adamw(m->v[0], m->v[1], m->v[2], m->v[3], all(s), &a);
}

static const struct op ops[] = {
        {"add, copy, zero", run_add, 0},
        {"what is drawn, and dropout's masks", run_drop, 1e-6},
        {"rows and a vector", run_rows, 1e-5},
        {"the embedding of tokens", run_embed, 1e-5},
        {"the embedding of patches", run_place, 1e-5},
        {"LayerNorm", run_norm, 2e-5},
        {"GELU", run_gelu, 1e-6},
        {"softmax, whole and causal", run_softmax, 2e-6},
        {"losses and their gradients", run_loss, 1e-5},
        {"gradients that are none", run_overflow, 0},
        {"SGD", run_sgd, 1e-6},
        {"AdamW", run_adamw, 2e-5},
};

/* The values that both begin with, and the tokens; `room` elements a buffer. */
static void begin(const struct math_ops *o, size_t room, unsigned vocab, struct memory *m)
{
        float *x = malloc(room * sizeof *x);
        int32_t *t = malloc(room * sizeof *t);

        need(x && t ? 0 : -12, "memory");
        for (size_t b = 0; b < BUFFERS; b++) {
                for (size_t i = 0; i < room; i++)
                        x[i] = (float)random_normal(b + 1, i);
                need(o->alloc(room * sizeof *x, (void **)&m->v[b]), "alloc");
                need(o->put(m->v[b], x, room * sizeof *x), "put");
        }
        for (size_t i = 0; i < room; i++)
                t[i] = (int32_t)random_below(9, i, vocab);
        need(o->alloc(room * sizeof *t, (void **)&m->token), "alloc");
        need(o->put(m->token, t, room * sizeof *t), "put");
        free(x);
        free(t);
}

static void end(const struct math_ops *o, struct memory *m)
{
        for (size_t b = 0; b < BUFFERS; b++)
                o->release(m->v[b]);
        o->release(m->token);
}

/* Whether n numbers of the device are those of the host, to a share of the largest. */
static bool near_to(const float *on_device, const float *want, size_t n, double tolerance)
{
        float *got = malloc(n * sizeof *got);
        double most = 0, off = 0;
        size_t worst = 0;

        need(got ? device->get(got, on_device, n * sizeof *got) : -12, "get");
        for (size_t i = 0; i < n; i++) {
                const double d = fabs((double)got[i] - (double)want[i]);
                most = fmax(most, fabs((double)want[i]));
                if (!(d <= off)) {
                        off = d;
                        worst = i;
                }
        }
        const bool right = off <= tolerance * most;
        if (!right)
                DIAG("element %zu of %zu: %g, not %g (%g of the largest)", worst, n,
                     (double)got[worst], (double)want[worst], off / most);
        free(got);
        return right;
}

static void compare_op(const struct op *op, const struct shape *s)
{
        const size_t room = 2 * (s->rows + s->block) * (s->n + s->block);
        struct memory a, b;
        char text[128];

        begin(host, room, (unsigned)s->n, &a);
        begin(device, room, (unsigned)s->n, &b);
        op->run(host, s, &a);
        op->run(device, s, &b);
        bool right = !device->wait();
        for (size_t i = 0; i < BUFFERS; i++)
                right &= near_to(b.v[i], a.v[i], room, op->tolerance);
        snprintf(text, sizeof text, "%s: %zu rows of %zu in blocks of %zu", op->name, s->rows, s->n,
                 s->block);
        result(right, text);
        end(host, &a);
        end(device, &b);
}

/* --- products --- */

static void compare_product(const struct product *p, const char *text)
{
        enum { ROOM = 20000 };
        struct memory a, b;

        begin(host, ROOM, 1, &a);
        begin(device, ROOM, 1, &b);
        host->product(p, a.v[0], a.v[1], a.v[2]);
        device->product(p, b.v[0], b.v[1], b.v[2]);
        const bool right = !device->wait();
        result(near_to(b.v[2], a.v[2], ROOM, 1e-5) && right, text);
        end(host, &a);
        end(device, &b);
}

static void compare_products(void)
{
        struct product p = {.m = 19, .n = 23, .k = 37, .alpha = 0.5F, .ldc = 24};
        struct product heads = {.b_turned = true,
                                .m = 16,
                                .n = 16,
                                .k = 12,
                                .alpha = 1,
                                .lda = 36,
                                .ldb = 36,
                                .ldc = 16,
                                .outer = {4, 16 * 36, 16 * 36, 3 * 256},
                                .inner = {3, 12, 12, 256}};
        struct product heads_of_16 = {.m = 16,
                                      .n = 6,
                                      .k = 16,
                                      .alpha = 1,
                                      .lda = 16,
                                      .ldb = 24,
                                      .ldc = 24,
                                      .outer = {3, 4 * 256, 16 * 24, 16 * 24},
                                      .inner = {4, 256, 6, 6}};
        char text[128];

        for (unsigned i = 0; i < 16; i++) {
                p.a_turned = i & 1;
                p.b_turned = i & 2;
                p.beta = i & 4 ? 1 : 0;
                p.half = i & 8;
                p.lda = p.a_turned ? 20 : 40;
                p.ldb = p.b_turned ? 38 : 24;
                p.a_grows = 64;
                snprintf(text, sizeof text, "a product of %s: %s times %s%s",
                         p.half ? "halves" : "floats", p.a_turned ? "turned" : "plain",
                         p.b_turned ? "turned" : "plain", p.beta > 0 ? ", added" : "");
                compare_product(&p, text);
        }
        for (unsigned i = 0; i < 2; i++) { /* no head begins on 16 bytes, but each row does */
                heads_of_16.half = i;
                compare_product(&heads_of_16, i ? "heads of 6 elements, in halves of 16 tokens"
                                                : "heads of 6 elements, 16 tokens");
        }
        for (unsigned i = 0; i < 2; i++) {
                heads.half = i;
                heads.b_grows = 16;
                compare_product(&heads, i ? "heads of samples, of halves" : "heads of samples");
        }
}

/* --- models that learn --- */

#ifdef EMULATED
enum { STEPS = 2, BATCH = 2 };
#else
enum { STEPS = 3, BATCH = 4 };
#endif

static const struct math_ops *learning; /* where */

/* Losses of STEPS steps, and at their end the first tensor and the loss scale. */
static void learn(const struct math_ops *o, const struct train_setup *like, struct coll *c,
                  double loss[STEPS], float last[64], struct loss_scale *scale)
{
        const struct train_data noise = {0};
        struct train_setup s = *like;
        const bool sees = s.model.family == MODEL_CLASSIFIER;
        const size_t image = IMAGE_ELEMENTS * BATCH;
        unsigned char *rgb = calloc(image, 1);
        const int32_t label[] = {1, 0, 3, 2};
        struct replicas r;
        size_t fed;

        for (size_t i = 0; rgb && i < image; i++)
                rgb[i] = (unsigned char)random_below(3, i, 256);
        s.ops = learning = o;
        s.data = sees ? NULL : &noise;
        need(rgb ? replicas_init(&r, &s, c) : -12, "a trainer");
        for (unsigned i = 0; i < STEPS; i++) {
                struct train_step step;
                if (sees)
                        need(trainer_feed(r.v, rgb, label, BATCH, &fed), "images");
                need(replicas_step(&r, &step), "a step");
                loss[i] = step.loss;
        }
        need(replicas_compare(&r), "the same weights");
        *scale = r.v->scale;
        need(trainer_home(r.v)->get(last, trainer_part(r.v, 1).weight, 64 * sizeof *last),
             "weights");
        replicas_release(&r);
        free(rgb);
}

/* As NCCL sums and gathers, in memory of the first device; the other rank has the same. */
static void look_at_first(const void *mem)
{
#ifdef EMULATED
        if (learning == device)
                need(emulated_device_of(mem) == 0 ? 0 : -EXDEV, "memory of NCCL's device");
#else
        (void)mem;
#endif
}

static int scatter_there(struct coll *c, float *all, float *mine, size_t n, void *behind, int *own)
{
        float *x = malloc(n * sizeof *x);

        (void)own;
        look_at_first(all);
        look_at_first(mine);
        need(x ? learning->get_behind(x, all, n * sizeof *x, behind) : -12, "a unit");
        (void)scatter_both(c, x, x, n);
        need(learning->put_beside(mine, x, n * sizeof *x), "a unit");
        free(x);
        return 0;
}

static int gather_there(struct coll *c, const float *mine, size_t n, float *all, int *own)
{
        float *x = malloc(n * sizeof *x);

        (void)own;
        look_at_first(all);
        look_at_first(mine);
        need(x ? learning->get_behind(x, mine, n * sizeof *x, NULL) : -12, "a unit");
        for (unsigned i = 0; i < c->ranks; i++)
                need(learning->put_beside(all + i * n, x, n * sizeof *x), "a unit");
        free(x);
        return 0;
}

static int sum_there(struct coll *c, float *mem, size_t n, void *behind, int *own)
{
        float *x = malloc(n * sizeof *x);

        (void)own;
        look_at_first(mem);
        need(x ? learning->get_behind(x, mem, n * sizeof *x, behind) : -12, "a bucket");
        (void)sum_both(c, x, n);
        need(learning->put_beside(mem, x, n * sizeof *x), "a bucket");
        free(x);
        return 0;
}

enum { SUMMED_THERE = 8, BESIDE_ANOTHER = 16 }; /* the first */
#define GPT SMALL_GPT(2, 3, 48, 96, 20)
#define VIT SMALL_VIT(1, 2, 16, 10)
/* two places for what its blocks stash are too few */
#define DEEP SMALL_GPT(4, 2, 16, 40, 8)
/* its head is more than the first bucket */
#define WIDE SMALL_GPT(1, 3, 96, 3000, 4)
static const struct {
        const char *name;
        struct train_setup s;
} models[] = {
        {"ddp beside another rank, summed on the device",
         {.model = WIDE, .entropy = true, .lr = 5}},
        {"ddp on two devices beside another rank, summed on the first",
         {.model = GPT, .entropy = true, .devices = 2}},
        {"fsdp beside another rank, gathered on the device",
         {.model = GPT, .entropy = true, .sharded = true, .prefetch = FSDP_POSTHOOK}},
        {"fsdp on two devices beside another rank, gathered on the first",
         {.model = GPT, .entropy = true, .sharded = true, .devices = 2}},
        {"fsdp beside another rank, kept by the host and gathered on the device",
         {.model = GPT, .entropy = true, .sharded = true, .offloaded = true, .adamw = true}},
        {"fsdp on two devices beside another rank, kept by the host and gathered on the first",
         {.model = GPT,
          .entropy = true,
          .sharded = true,
          .offloaded = true,
          .devices = 2,
          .prefetch = FSDP_PREHOOK}},
        {"pdp on two devices beside another rank, summed on the first",
         {.model = WIDE, .entropy = true, .stages = 2, .chunks = 2, .devices = 2}},
        {"pdp on two devices, averaged on the first behind the passes",
         {.model = GPT, .entropy = true, .stages = 3, .devices = 2, .apart = true, .adamw = true}},
        {"ddp beside another rank", {.model = WIDE, .entropy = true, .lr = 5}},
        {"pdp beside another rank", {.model = GPT, .entropy = true, .stages = 2, .chunks = 2}},
        {"pdp on two devices beside another rank",
         {.model = GPT, .entropy = true, .stages = 2, .chunks = 2, .devices = 2}},
        {"pdp on two devices, averaged behind the passes",
         {.model = GPT, .entropy = true, .stages = 2, .chunks = 2, .devices = 2, .apart = true}},
        {"fsdp beside another rank", {.model = GPT, .entropy = true, .sharded = true}},
        {"fsdp beside another rank, units gathered early",
         {.model = GPT, .entropy = true, .sharded = true, .prefetch = FSDP_PREHOOK}},
        {"fsdp beside another rank, units gathered late",
         {.model = GPT, .entropy = true, .sharded = true, .prefetch = FSDP_POSTHOOK}},
        {"fsdp beside another rank, kept by the host",
         {.model = GPT,
          .entropy = true,
          .sharded = true,
          .offloaded = true,
          .adamw = true,
          .prefetch = FSDP_POSTHOOK}},
        {"ddp", {.model = GPT, .entropy = true}},
        {"ddp, the sum of the logits", {.model = GPT}},
        {"ddp, with AdamW", {.model = GPT, .entropy = true, .adamw = true}},
        {"ddp, blocks computed anew",
         {.model = GPT, .entropy = true, .stash = NETWORK_STASH_INPUT}},
        {"ddp, blocks copied to the host",
         {.model = GPT, .entropy = true, .stash = NETWORK_STASH_COPY}},
        {"ddp, four blocks copied to the host",
         {.model = DEEP, .entropy = true, .stash = NETWORK_STASH_COPY}},
        {"ddp on two devices, four blocks copied to the host",
         {.model = DEEP, .entropy = true, .stash = NETWORK_STASH_COPY, .devices = 2}},
        {"fsdp", {.model = GPT, .entropy = true, .sharded = true}},
        {"fsdp, kept by the host",
         {.model = GPT, .entropy = true, .sharded = true, .offloaded = true}},
        {"fsdp on two devices, kept by the host, in halves that overflow",
         {.model = GPT, .half = true, .sharded = true, .offloaded = true, .devices = 2}},
        {"pdp", {.model = GPT, .entropy = true, .stages = 2, .chunks = 2}},
        {"ddp on two devices", {.model = GPT, .entropy = true, .devices = 2}},
        {"ddp on two devices, with AdamW",
         {.model = GPT, .entropy = true, .adamw = true, .devices = 2}},
        {"fsdp on two devices", {.model = GPT, .entropy = true, .sharded = true, .devices = 2}},
        {"fsdp on two devices, units gathered early",
         {.model = GPT, .entropy = true, .sharded = true, .prefetch = FSDP_PREHOOK, .devices = 2}},
        {"pdp on two devices",
         {.model = GPT, .entropy = true, .stages = 3, .chunks = 2, .devices = 2}},
        {"a vision transformer", {.model = VIT, .entropy = true}},
        {"ddp, in halves", {.model = GPT, .entropy = true, .half = true}},
        {"ddp, in halves that overflow", {.model = GPT, .half = true}},
        {"ddp on two devices, in halves that overflow",
         {.model = GPT, .half = true, .adamw = true, .devices = 2}},
        {"fsdp on two devices, in halves that overflow",
         {.model = GPT, .half = true, .sharded = true, .devices = 2}},
        {"pdp on two devices, in halves that overflow",
         {.model = GPT, .half = true, .stages = 3, .chunks = 2, .devices = 2}},
        {"a vision transformer, in halves", {.model = VIT, .entropy = true, .half = true}},
};

static void compare_models(void)
{
        struct coll_ops carrier;
        struct coll alone = {.ops = &coll_none, .ranks = 1, .host_ranks = 1};
        struct coll two = other_rank(&carrier);

        for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
                struct train_setup s = models[i].s;
                double want[STEPS], got[STEPS];
                float want_last[64], got_last[64], *put = NULL;
                struct loss_scale want_scale, got_scale;
                struct coll *ranks = i < BESIDE_ANOTHER ? &two : &alone;
                bool right = true;
                char text[128];

                carrier.sum_device = i < SUMMED_THERE ? sum_there : NULL;
                carrier.scatter_device = i < SUMMED_THERE ? scatter_there : NULL;
                carrier.gather_device = i < SUMMED_THERE ? gather_there : NULL;
                s.batch = BATCH;
                s.seed = 5;
                s.lr = s.lr > 0 ? s.lr : s.adamw ? 0.001 : s.entropy ? 0.1 : 1e-4;
                s.dropout = s.model.family == MODEL_CLASSIFIER ? 0 : 0.1F;
                /* what is added up of both signs is nearer to 0 than its parts */
                const double near = !s.half ? 1e-4 : s.entropy ? 2e-4 : 1e-3;
                learn(host, &s, ranks, want, want_last, &want_scale);
                learn(device, &s, ranks, got, got_last, &got_scale);
                right &= got_scale.skipped == want_scale.skipped &&
                         (got_scale.skipped > 0) == (s.half && !s.entropy);
                for (unsigned k = 0; k < STEPS; k++)
                        right &= fabs(got[k] - want[k]) <= near * fabs(want[k]);
                if (!right)
                        for (unsigned k = 0; k < STEPS; k++)
                                DIAG("step %u: loss %.8g, not %.8g", k + 1, got[k], want[k]);
                need(device->alloc(sizeof got_last, (void **)&put), "alloc");
                need(device->put(put, got_last, sizeof got_last), "put");
                right &= near_to(put, want_last, 64, s.half ? 2e-3 : s.adamw ? 2e-3 : 1e-4);
                device->release(put);
                snprintf(text, sizeof text, "losses and weights of %d steps: %s", STEPS,
                         models[i].name);
                result(right, text);
        }
}

#ifdef EMULATED
/* As the jobs of a sweep try it, one after the other: there are 64 streams and no more. */
static void open_in_vain(void)
{
        char why[512];
        bool right = true;

        emulated_no_cublas = true;
        for (unsigned i = 0; i < 64; i++)
                right &= device->open(2, 1, why, sizeof why) < 0 && strstr(why, "cuBLAS");
        emulated_no_cublas = false;
        result(right, "a device that cannot be opened is given back");
}

/* As two jobs of a sweep, the first of which begins with the second device. */
static void open_from_another(void)
{
        char why[512];
        int now = -1;

        need(cudaSetDevice(1), "the second device");
        bool right = !device->open(2, 1, why, sizeof why);
        right &= !cudaGetDevice(&now) && now == 1;
        need(cudaSetDevice(0), "the first device");
        right &= !device->open(2, 1, why, sizeof why);
        right &= !cudaGetDevice(&now) && now == 0;
        emulated_no_cublas = true; /* what failed leaves the thread where it was, too */
        need(cudaSetDevice(1), "the second device");
        right &= device->open(2, 1, why, sizeof why) < 0;
        right &= !cudaGetDevice(&now) && now == 1;
        emulated_no_cublas = false;
        need(cudaSetDevice(0), "the first device");
        result(right, "devices end where they began, and the thread's stays");
}
#endif

int main(void)
{
        static const struct shape shapes[] = {{6, 3, 5},
                                              {64, 32, 48},
                                              {195, 65, 77},
#ifndef EMULATED
                                              {1280, 128, 768},
                                              {512, 512, 3072}
#endif
        };
        char why[512] = "";

        setvbuf(stdout, NULL, _IOLBF, 0);
#ifndef EMULATED
        struct keys k = {.device = DEVICE_CUDA, .hold = HOLD_ON};
        if (dev_use(&k, 0, why, sizeof why)) {
                printf("1..0 # SKIP %s\n", why);
                return 0;
        }
#endif
#ifdef EMULATED
        open_in_vain();
        open_from_another();
#endif
        if (host->open(2, 1, why, sizeof why) || device->open(2, 1, why, sizeof why)) {
                printf("1..0 # SKIP %s\n", why);
                return 0;
        }
        DIAG("%s beside %s", device->version(), host->version());
        for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
                for (size_t k2 = 0; k2 < sizeof shapes / sizeof shapes[0]; k2++)
                        compare_op(&ops[i], &shapes[k2]);
        compare_products();
        compare_models();
        result(device->peak() > 0, "the most memory that was taken is known");
        printf("1..%d\n", cases);
        return failures != 0;
}
