/* SPDX-License-Identifier: Apache-2.0 */
/* train.c: the scenario "train": a GPT that learns, under data parallelism.
 *
 * Steps are real: forward, backward, the gradients' average, the optimizer. What is measured is one
 * step and its parts. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/cleanup.h"
#include "bench/core/clock.h"
#include "bench/core/cpu.h"
#include "bench/core/dev.h"
#include "bench/core/job_log.h"
#include "bench/core/progress.h"
#include "bench/core/run.h"
#include "bench/data/preflight.h"
#include "bench/format/format.h"
#include "bench/scenario/train/train_delay.h"
#include "bench/scenario/train/train_keys.h"
#include "bench/scenario/train/train_resume.h"
#include "bench/scenario/train/train_save.h"
#include "bench/scenario/train/train_table.h"
#include "bench/train/replicas.h"
#include "bench/train/train_state.h"

#include "base/banned.h"

struct train_job {
        const struct run *run;
        const struct keys *k;
        struct train_setup setup;
        struct train_data data;
        struct coll nccl;  /* with backend=nccl */
        struct coll *coll; /* which averages gradients */
        struct replicas replicas;
        unsigned threads;
        struct train_step *warmup, *step;
        bool *busy;    /* the steps beside which a save was under way */
        double *delay; /* of all ranks */
        struct train_saves saves;
        struct trace trace; /* with profile */
        uint64_t resumed;   /* steps that were done before */
        double oldest;      /* seconds, of rank 0 */
        double build;       /* seconds until the model was there */
        double built;       /* bytes of memory that were taken then */
        struct train_facts facts;
};

/* How many saves a job makes. */
static size_t planned(const struct keys *k)
{
        return k->train_save == TRAIN_SAVE_OFF ? 0 : k->steps / k->steps_per_save;
}

/* Bytes of the copy that a rank has of the state: its share, or, where rank 0 alone has all of it,
 * that of one of this machine's ranks. */
static uint64_t copy_bytes(const struct keys *k, const struct coll *c, uint64_t state)
{
        if (!planned(k))
                return 0;
        return state / (k->format == FORMAT_DCP ? c->ranks : c->host_ranks) + 1;
}

/* At most what any number of ranks may be multiplied by. */
static uint64_t times(uint64_t bytes, uint64_t n)
{
        const uint64_t most = (uint64_t)NETWORK_BYTES_MAX;
        uint64_t all;
        return __builtin_mul_overflow(bytes, n, &all) || all > most ? most : all;
}

/* What a job is, and what of memory a rank of it wants. */
static void say_plan(FILE *dry, const struct keys *k, const struct train_setup *s,
                     const struct coll *c, uint64_t memory, uint64_t staged)
{
        const uint64_t passes = replicas_pass_bytes(s), text = train_data_bytes(k->train_data);

        fprintf(dry,
                "would train %s, %llu parameters, for %llu steps on %u rank%s: %.4g operations a "
                "step and rank (%.4g as the suite counts them)\n"
                "  memory of a rank: %.3f GB: model %.3f, passes %.3f, saves %.3f, text %.3f\n",
                s->model.name, (unsigned long long)model_params(&s->model),
                (unsigned long long)(k->warmup_steps + k->steps), c->ranks, c->ranks > 1 ? "s" : "",
                network_flop(&s->model, s->batch), network_flop_suite(&s->model, s->batch),
                (double)memory / 1e9, (double)(memory - passes - staged - text) / 1e9,
                (double)passes / 1e9, (double)staged / 1e9, (double)text / 1e9);
}

static int train_plan(const struct run *r, const struct keys *k, FILE *dry, char *why, size_t nwhy)
{
        struct train_setup s;
        int err = train_setup(k, &s, why, nwhy);

        if (err)
                return err;
        const struct coll *c = r->coll;
        const uint64_t state = train_state_bytes(&s), saves = planned(k);
        const bool stages = saves || *k->resume;
        /* what is read to go on is gone before the first save */
        uint64_t staged = copy_bytes(k, c, state);
        if (*k->resume)
                staged = s.sharded ? state / c->ranks + 1 : state;
        const uint64_t model = replicas_bytes(&s, c->ranks);
        const uint64_t beside = staged + train_data_bytes(k->train_data);
        const struct preflight n = {
                .still = !stages,
                .moved = times(state, saves + (!*k->resume ? 0
                                               : s.sharded ? 1
                                                           : c->ranks)),
                .stored = times(state, saves), /* they go when all are done */
                .memory = (k->device == DEVICE_CUDA ? replicas_host_bytes(&s, c->ranks) : model) +
                          beside,
        };
        size_t count;
        err = k->train_save == TRAIN_SAVE_OFF ? 0 : train_saves_count(k, &count, why, nwhy);
        if (err)
                return err;
        if (s.sharded && saves && k->format != FORMAT_DCP) {
                snprintf(
                        why, nwhy,
                        "train.mode=fsdp: no rank has the whole state for a file: give format=dcp");
                return -EINVAL;
        }
        if (k->device == DEVICE_EMULATED) {
                snprintf(why, nwhy,
                         "device=emulated: train works on a GPU or on the host: give "
                         "device=cuda, or device=host");
                return -EINVAL;
        }
        if (k->disk_gds != DISK_GDS_OFF) {
                snprintf(why, nwhy, "disk.gds: train saves from memory of the host: leave it out");
                return -EINVAL;
        }
        if (dry)
                say_plan(dry, k, &s, c, model + beside, staged);
        return stages ? preflight_check(r, k, &n, dry, why, nwhy)
                      : preflight_check_at(r, &n, NULL, dry, why, nwhy);
}

static int prepare(struct train_job *j, char *why, size_t nwhy)
{
        struct coll *c = j->run->coll;
        const struct keys *k = j->k;

        int err = train_setup(k, &j->setup, why, nwhy);
        j->threads = cpu_cores() / c->host_ranks /
                     (j->setup.stages ? j->setup.stages : replicas_count(&j->setup));
        j->threads += !j->threads;
        j->setup.data = &j->data;
        if (!err && k->profile)
                err = trace_init(&j->trace);
        j->setup.trace = k->profile ? &j->trace : NULL;
        if (!err)
                err = math_choose(j->setup.devices, j->threads, &j->setup.ops, why, nwhy);
        if (!err)
                err = train_data_open(&j->data, k->train_data, j->setup.model.vocab,
                                      j->setup.model.block, why, nwhy);
        j->warmup = calloc(k->warmup_steps + 1, sizeof *j->warmup);
        j->step = calloc(k->steps, sizeof *j->step);
        j->busy = calloc(k->steps, sizeof *j->busy);
        j->delay = calloc(c->ranks, sizeof *j->delay);
        return !err && (!j->warmup || !j->step || !j->busy || !j->delay) ? -ENOMEM : err;
}

/* Collective. */
static int begin(struct train_job *j)
{
        struct coll *c = j->run->coll;
        char why[512] = "out of memory: give a smaller model= or batch_size=";
        bool in = false;
        int err = 0;

        j->coll = c;
        if (j->k->backend == BACKEND_NCCL) {
                err = c->ops->split(c, c->ranks, &j->nccl, &in);
                if (!err)
                        err = coll_carry(&j->nccl, true, why, sizeof why);
                err = run_agree(j->run, err, why);
                if (err)
                        return err;
                j->coll = &j->nccl;
        }
        uint64_t mark = clock_ns();
        err = replicas_init(&j->replicas, &j->setup, j->coll);
        j->build = clock_lap(&mark);
        j->built = (double)j->setup.ops->taken();
        return run_agree(j->run, err, err == -ENOMEM ? why : strerror(-err));
}

/* The seconds become those of the slowest rank of each step. */
static int slowest(struct train_job *j, struct train_step *v, size_t n)
{
        int err = 0;

        for (size_t i = 0; i < n && !err; i++) {
                double s[] = {v[i].forward, v[i].backward, v[i].reduce,
                              v[i].update,  v[i].zero,     v[i].total};
                err = j->run->coll->ops->max(j->run->coll, s, sizeof s / sizeof s[0]);
                v[i] = (struct train_step){.forward = s[0],
                                           .backward = s[1],
                                           .reduce = s[2],
                                           .update = s[3],
                                           .zero = s[4],
                                           .total = s[5],
                                           .loss = v[i].loss,
                                           .skipped = v[i].skipped};
        }
        return err;
}

/* The loss is no number; `first` says of the first step at all. */
static void say_loss(const struct train_job *j, bool first)
{
        const unsigned long long step = j->replicas.v->step;

        if (first && *j->k->resume)
                run_error(j->run,
                          "step %llu: the loss is no number with the weights of resume=%s: name an "
                          "earlier save",
                          step, j->k->resume);
        else
                run_error(j->run, "step %llu: the loss is no number any more: give a smaller lr",
                          step);
}

/* Whether a step is printed, too: of many each so many'th alone, so that lines end somewhere. */
static bool says_step(const struct train_job *j)
{
        enum { LINES = 200 };
        const uint64_t done = j->replicas.v->step - j->resumed;
        const uint64_t all = j->k->warmup_steps + j->k->steps;

        return j->k->progress && !j->run->coll->rank && done % ((all + LINES - 1) / LINES) == 0;
}

static void log_step(const struct train_job *j, const struct train_step *s, bool says)
{
        const struct trainer *t = j->replicas.v;
        const unsigned long long step = t->step;
        char text[256];

        snprintf(
                text, sizeof text,
                "step %llu: loss %.6g, %.4f s (forward %.4f, backward %.4f, reduce %.4f, optimizer "
                "%.4f, zero_grad %.4f)",
                step, s->loss, s->total, s->forward, s->backward, s->reduce, s->update, s->zero);
        job_log(JOB_LOG_INFO, "%s", text);
        if (says)
                progress_line(text);
        if (s->skipped)
                job_log(JOB_LOG_INFO,
                        "step %llu: a gradient was too large for a half: no weight has changed, "
                        "and the loss scale is %g",
                        step, (double)t->scale.factor);
}

/* With `saves` after every so many of them. */
static int do_steps(struct train_job *j, struct train_step *v, size_t n, bool saves)
{
        int err = 0;

        for (size_t i = 0; i < n && !err; i++) {
                if (saves)
                        j->busy[i] = j->saves.phase != TRAIN_IDLE;
                err = replicas_step(&j->replicas, &v[i]);
                if (err && err != -ECANCELED && j->run->coll->rank == 0) /* all ranks have it */
                        run_error(j->run, "step %llu: %s",
                                  (unsigned long long)j->replicas.v->step + 1, strerror(-err));
                if (!err)
                        log_step(j, &v[i], says_step(j));
                /* a sum has no lower bound: lowering it ends nowhere */
                if (!err && j->setup.entropy && !isfinite(v[i].loss)) {
                        err = -ERANGE;
                        if (j->run->coll->rank == 0)
                                say_loss(j, j->replicas.v->step == j->resumed + 1);
                }
                if (!err && saves)
                        err = train_saves_advance(&j->saves, false);
                if (!err && saves && (i + 1) % j->k->steps_per_save == 0)
                        err = train_saves_add(&j->saves, j->replicas.v->step);
        }
        return err;
}

static int train(struct train_job *j)
{
        struct coll *c = j->run->coll;
        const struct keys *k = j->k;

        replicas_weigh(&j->replicas, true);
        int err = do_steps(j, j->warmup, k->warmup_steps, false);
        replicas_weigh(&j->replicas, false);
        if (!err)
                err = c->ops->barrier(c);
        trace_begin(&j->trace);
        uint64_t begin = clock_ns();
        if (!err)
                err = do_steps(j, j->step, k->steps, planned(k) > 0);
        uint64_t end = clock_ns();
        if (!err)
                err = train_saves_advance(&j->saves, true);
        double delay = clock_s(end - begin) - j->saves.noted;
        for (size_t i = 0; i < j->saves.n; i++)
                delay -= j->saves.v[i].blocked;
        delay /= (double)k->steps;
        j->oldest = train_saves_oldest(&j->saves, begin, end);
        if (!err)
                err = train_saves_slowest(&j->saves);
        if (!err)
                err = c->ops->gather(c, &delay, sizeof delay, j->delay);
        if (!err)
                err = slowest(j, j->step, k->steps);
        if (!err && (err = replicas_compare(&j->replicas)) == -EBADMSG && c->rank == 0)
                run_error(j->run, "the ranks have come to different weights: their machines do not "
                                  "compute alike");
        return err;
}

/* The trace, if it is wanted. */
static int write_trace(struct train_job *j)
{
        char path[PATH_MAX + 64];
        size_t lost = 0;

        if (!j->k->profile)
                return 0;
        snprintf(path, sizeof path, "%s/%zu/trace.json", j->run->dir, j->run->job);
        int err = trace_write(&j->trace, j->run->coll, path, &lost);
        if (err && err != -ECANCELED && j->run->coll->rank == 0)
                run_error(j->run, "%s: %s: give out= a directory with room", path, strerror(-err));
        if (lost)
                job_log(JOB_LOG_WARNING,
                        "trace.json lacks the last %zu parts of steps: give fewer steps", lost);
        return err;
}

static double peak_bytes(void)
{
        struct rusage u;
        return getrusage(RUSAGE_SELF, &u) ? 0 : (double)u.ru_maxrss * 1024;
}

/* The text beside the results, of a job of which nothing failed. Collective. */
static int write_delay(const struct train_job *j)
{
        const struct run *r = j->run;
        char dir[PATH_MAX + 32];

        snprintf(dir, sizeof dir, "%s/%zu", r->dir, r->job);
        int err = r->coll->rank ? 0 : train_delay_write(&j->facts, dir);
        if (err)
                run_error(r, "%s: %s: give out= a directory with room", dir, strerror(-err));
        return coll_agree(r->coll, err);
}

/* What is one rank's so far becomes that of the one that has most. */
static int of_all(const struct train_job *j, struct train_facts *f)
{
        for (size_t i = 0; i < f->nwarmup; i++) {
                const struct train_held *h = &j->warmup[i].held;
                f->held.forward = fmax(f->held.forward, h->forward);
                f->held.backward = fmax(f->held.backward, h->backward);
                f->held.update = fmax(f->held.update, h->update);
                f->held.zero = fmax(f->held.zero, h->zero);
        }
        double *const of[] = {&f->peak,          &f->device_peak, &f->staged,
                              &f->build,         &f->built,       &f->held.forward,
                              &f->held.backward, &f->held.update, &f->held.zero};
        double v[sizeof of / sizeof of[0]];
        for (size_t i = 0; i < sizeof of / sizeof of[0]; i++)
                v[i] = *of[i];
        int err = j->run->coll->ops->max(j->run->coll, v, sizeof of / sizeof of[0]);
        for (size_t i = 0; i < sizeof of / sizeof of[0]; i++)
                *of[i] = v[i];
        return err;
}

static int report(struct train_job *j, struct json *job)
{
        struct coll *c = j->run->coll;
        j->facts = (struct train_facts){.setup = &j->setup,
                                        .ranks = c->ranks,
                                        .carrier = j->coll->ops->name,
                                        .threads = j->threads,
                                        .chunks = pipe_chunks(&j->replicas.v->pipe.shape),
                                        .math = j->setup.ops->version(),
                                        .warmup = j->warmup,
                                        .step = j->step,
                                        .nwarmup = j->k->warmup_steps,
                                        .nsteps = j->k->steps,
                                        .first = j->replicas.v->step - j->k->steps + 1,
                                        .delay = j->delay,
                                        .save = j->saves.v,
                                        .nsaves = j->saves.n,
                                        .bytes = j->saves.bytes,
                                        .staged = (double)j->saves.copy.size,
                                        .oldest = j->oldest,
                                        .busy = j->busy,
                                        .suffix = j->saves.dir,
                                        .loss_scale = j->replicas.v->scale.factor,
                                        .build = j->build,
                                        .built = j->built,
                                        .peak = peak_bytes(),
                                        .device_peak = (double)j->setup.ops->peak()};

        int err = of_all(j, &j->facts);
        if (!err && job)
                err = train_json(&j->facts, job);
        return coll_agree(c, err);
}

/* With format=dcp each rank writes its share, with the others rank 0 all. */
static int begin_saves(struct train_job *j)
{
        const struct keys *k = j->k;
        const bool dealt = k->format == FORMAT_DCP;
        const struct train_how how = {.sync = k->train_save == TRAIN_SAVE_SYNC,
                                      .stage.cached = true,
                                      .stage.pins = dev_get() != NULL};
        struct train_source from = {
                .get = train_state_get, .number = train_state_number, .arg = j->replicas.v};
        int err = 0;

        if (planned(k) && (dealt || j->run->coll->rank == 0))
                err = train_state_list(&from.shard, j->replicas.v, j->replicas.n, j->run->coll,
                                       dealt ? TRAIN_SHARE_DEALT : TRAIN_SHARE_ALL);
        err = run_agree(j->run, err, "out of memory: give a smaller model=");
        if (!err)
                err = train_saves_begin(&j->saves, j->run, k, &how, planned(k), &from);
        j->saves.trace = j->setup.trace;
        shard_release(&from.shard);
        return err;
}

static int train_job(const struct run *r, const struct keys *k, struct json *job)
{
        struct train_job j = {.run = r, .k = k};
        char why[512] = "";

        int err = prepare(&j, why, sizeof why);
        if (err == -ENOMEM && !*why)
                snprintf(why, sizeof why, "out of memory: give a smaller model= or batch_size=");
        err = run_agree(r, err, *why ? why : strerror(-err));
        if (!err)
                err = begin(&j);
        if (!err && *k->resume)
                err = train_resume(r, k, &j.replicas);
        if (!err)
                j.resumed = j.replicas.v->step;
        if (!err)
                err = begin_saves(&j);
        if (!err)
                err = train(&j);
        if (!err)
                err = report(&j, job);
        if (!err)
                err = write_trace(&j);
        if (!err)
                err = train_saves_verify(&j.saves);
        int gone = train_saves_end(&j.saves);
        j.facts.save = NULL; /* with them */
        j.facts.nsaves = 0;
        err = coll_agree(r->coll, err ? err : gone);
        if (!err)
                err = write_delay(&j);
        replicas_release(&j.replicas);
        if (j.nccl.ops)
                j.nccl.ops->drop(&j.nccl);
        train_data_release(&j.data);
        trace_release(&j.trace);
        free(j.warmup);
        free(j.step);
        free(j.busy);
        free(j.delay);
        return err;
}

static const char *const defaults[] = {"model=gpt-small", "steps=4", "format=torch", NULL};

const struct scenario scenario_train = {
        .name = "train",
        .text = "A GPT that learns, on each rank with samples of its own: what a step costs.",
        .many_ranks = true,
        .device = true,
        .carries = true,
        .formats = 1U << FORMAT_SAFETENSORS | 1U << FORMAT_TORCH | 1U << FORMAT_DCP,
        .flags = train_flags,
        .fixed = train_fixed,
        .defaults = defaults,
        .resolve_keys = train_resolve_keys,
        .plan = train_plan,
        .job = train_job,
        .table = train_table,
        .says = train_says,
        .page = train_page,
};
