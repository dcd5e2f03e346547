/* SPDX-License-Identifier: Apache-2.0 */
/* async.c: the scenario "async": training goes on while a checkpoint is written.
 *
 * A step changes the state (async_state.h), and then works for the rest of step_time: a fixed
 * amount of work, measured at the start on the idle machine, so that what the writing takes from a
 * step shows. At a save the step waits for the save before, if that is still under way (never two
 * at once), copies its shard to a staging buffer, hands that to a writer and goes on
 * (train_save.h). Blocked is the wait and the copy: counting from when the step wanted to save, not
 * from when it could, is what keeps a slow storage from hiding its own queue. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/cleanup.h"
#include "bench/core/clock.h"
#include "bench/core/dev.h"
#include "bench/core/job_log.h"
#include "bench/core/run.h"
#include "bench/core/signal_cleanup.h"
#include "bench/data/model_keys.h"
#include "bench/data/preflight.h"
#include "bench/format/format.h"
#include "bench/measure/stats.h"
#include "bench/scenario/async/async.h"
#include "bench/scenario/async/async_state.h"
#include "bench/scenario/async/async_table.h"
#include "bench/scenario/train/train_save.h"
#include "bench/train/train_state.h"

#include "base/banned.h"

struct async_job {
        const struct run *run;
        const struct keys *k;
        struct async_state state;
        const struct dev_ops *worker; /* the device that does the steps' work; NULL: a core */
        uint64_t work;                /* units of a step */
        double *idle, *busy;          /* seconds of steps without and with a save under way */
        size_t nidle, nbusy;
        double fit;  /* seconds of all steps, to the end of the last save */
        double peak; /* bytes of memory, of training alone */
        struct train_saves saves;
};

/* --- the work of a step --- */

static uint64_t work_of(uint64_t units)
{
        volatile uint64_t kept;
        uint64_t x = units + 1;
        for (uint64_t i = 0; i < units * 1000; i++) {
                x ^= x << 13;
                x ^= x >> 7;
                x ^= x << 17;
        }
        kept = x;
        return kept;
}

static int do_work(const struct async_job *j, uint64_t units)
{
        if (j->worker)
                return j->worker->work(units);
        work_of(units);
        return 0;
}

/* How many units last for what the step leaves of step_time: from the fastest of a few tries, when
 * nothing else is to do. */
static int measure_work(struct async_job *j)
{
        enum { CORE_UNITS = 2000, DEVICE_UNITS = 8, TRIES = 5 };
        const uint64_t units = j->worker ? DEVICE_UNITS : CORE_UNITS;
        uint64_t best = UINT64_MAX, own = UINT64_MAX;
        int err = 0;

        for (int i = 0; i < TRIES && !err; i++) {
                uint64_t begin = clock_ns();
                err = do_work(j, units);
                uint64_t took = clock_ns() - begin;
                best = took < best ? took : best;
        }
        err = coll_agree(j->run->coll, err);
        const uint64_t wanted = j->k->step_time * 1000000;
        for (int i = 0; i < 2 && !err; i++) {
                uint64_t begin = clock_ns();
                err = async_state_step(&j->state);
                uint64_t took = clock_ns() - begin;
                own = took < own ? took : own;
        }
        const uint64_t rest = own < wanted ? wanted - own : 0;
        j->work = (uint64_t)((double)rest / (double)(best ? best : 1) * (double)units);
        if (!err && !rest)
                job_log(JOB_LOG_INFO, "a step takes %.4f s, which is more than step_time",
                        clock_s(own));
        return err;
}

/* --- a job --- */

static int step(struct async_job *j)
{
        const bool under_way = j->saves.phase != TRAIN_IDLE;
        uint64_t begin = clock_ns();
        int err = async_state_step(&j->state);

        if (err && err != -ECANCELED && j->run->coll->rank == 0) /* all ranks have it */
                run_error(j->run, "step %llu: %s", (unsigned long long)j->state.step + 1,
                          strerror(-err));
        if (!err)
                err = do_work(j, j->work);
        const double took = clock_s(clock_ns() - begin);
        if (under_way)
                j->busy[j->nbusy++] = took;
        else
                j->idle[j->nidle++] = took;
        return coll_agree(j->run->coll, !err && signal_came() ? -ECANCELED : err);
}

static double peak_bytes(void)
{
        struct rusage u;
        return getrusage(RUSAGE_SELF, &u) ? 0 : (double)u.ru_maxrss * 1024;
}

static int train(struct async_job *j)
{
        uint64_t fit = clock_ns();
        int err = 0;

        for (uint64_t i = 1; i <= j->k->steps && !err; i++) {
                err = step(j);
                if (!err)
                        err = train_saves_advance(&j->saves, false);
                if (!err && i % j->k->steps_per_save == 0)
                        err = train_saves_add(&j->saves, j->state.step);
        }
        if (!err)
                err = train_saves_advance(&j->saves, true);
        j->fit = clock_s(clock_ns() - fit) - j->saves.noted;
        j->peak = peak_bytes();
        return err;
}

/* Bytes of the state of all ranks. */
static uint64_t state_bytes(const struct keys *k, const struct model *m, bool trains,
                            const struct train_setup *setup)
{
        return trains ? train_state_bytes(setup)
                      : model_params(m) * model_param_bytes(m, k->optimizer);
}

int async_plan(const struct run *r, const struct keys *k, FILE *dry, char *why, size_t nwhy)
{
        const unsigned ranks = r->coll->ranks;
        struct train_setup setup;
        struct model m;
        char size[BYTES_TEXT];
        size_t saves;
        bool trains;

        if (!io_find(k->storage, why, nwhy) || model_choose(k, &m, why, nwhy) ||
            async_state_choose(k, &trains, &setup, why, nwhy) ||
            train_saves_count(k, &saves, why, nwhy))
                return -EINVAL;
        if (k->disk_gds != DISK_GDS_OFF) {
                snprintf(why, nwhy,
                         "disk.gds: async saves from staging memory of the host: leave it out");
                return -EINVAL;
        }
        const uint64_t bytes = state_bytes(k, &m, trains, &setup);
        if (dry)
                fprintf(dry,
                        "would %s %s for %llu step%s of %.3f s or more on %u rank%s and save %s "
                        "every %llu step%s to %s\n",
                        trains ? "train" : "change a pattern of the shape of", m.name,
                        (unsigned long long)k->steps, k->steps > 1 ? "s" : "",
                        (double)k->step_time / 1e3, ranks, ranks > 1 ? "s" : "",
                        bytes_text(bytes, size), (unsigned long long)k->steps_per_save,
                        k->steps_per_save > 1 ? "s" : "", k->storage);
        const struct preflight n = {
                .moved = bytes * saves,
                .stored = bytes * saves, /* they go when all are done */
                .shards = trains ? 0 : bytes / ranks,
                /* the copy, and what is trained */
                .memory = bytes / ranks + (trains ? trainer_bytes(&setup, ranks) : 0),
        };
        return preflight_check(r, k, &n, dry, why, nwhy);
}

/* The device that does the work of steps. */
static int choose_worker(struct async_job *j)
{
        j->worker = j->k->async_work == WORK_HOST ? NULL : dev_get();
        const bool lacks = j->k->async_work == WORK_DEVICE && !j->worker;
        return run_agree(j->run, lacks ? -EINVAL : 0,
                         "async.work=device: no device is in use: give device=cuda, or "
                         "async.work=host");
}

static int begin_saves(struct async_job *j)
{
        const struct keys *k = j->k;
        const bool waits = k->strategy != STRATEGY_AUTO && k->strategy != STRATEGY_ASYNC;
        const struct train_how how = {.sync = waits,
                                      .each = true,
                                      .stage = {.pins = k->staging != STAGING_PAGEABLE,
                                                .cached = k->staging == STAGING_CACHED,
                                                .shared = k->async_writer == WRITER_PROCESS}};
        struct train_source from;
        int err = async_state_source(&j->state, &from);

        err = run_agree(j->run, err, strerror(-err));
        if (!err)
                err = train_saves_begin(&j->saves, j->run, k, &how, k->steps / k->steps_per_save,
                                        &from);
        shard_release(&from.shard);
        return err;
}

/* What training has in memory, and room for what is measured. */
static int prepare(struct async_job *j)
{
        const struct keys *k = j->k;

        j->idle = calloc(k->steps, sizeof *j->idle);
        j->busy = calloc(k->steps, sizeof *j->busy);
        int err = run_agree(j->run, j->idle && j->busy ? 0 : -ENOMEM,
                            "out of memory: give fewer steps");
        if (!err)
                err = choose_worker(j);
        if (!err)
                err = async_state_init(&j->state, j->run, k);
        if (!err)
                err = measure_work(j);
        return err ? err : begin_saves(j);
}

static double seconds_of_steps(const struct async_job *j)
{
        double sum = 0;
        for (size_t i = 0; i < j->nidle; i++)
                sum += j->idle[i];
        for (size_t i = 0; i < j->nbusy; i++)
                sum += j->busy[i];
        return sum;
}

/* The seconds of all saves, and what they were of. */
static int take_saves(struct async_job *j, struct async_facts *f)
{
        struct async_save *v = calloc(j->saves.n + 1, sizeof *v);

        if (!v)
                return -ENOMEM;
        for (size_t i = 0; i < j->saves.n; i++) {
                const struct train_saved *s = &j->saves.v[i];
                v[i] = (struct async_save){.blocked = s->blocked,
                                           .waited = s->waited,
                                           .staged = s->copy,
                                           .durable = s->durable,
                                           .visible = s->visible};
        }
        f->save = v;
        f->saves = j->saves.n;
        f->bytes = (double)j->saves.copy.size;
        f->suffix = j->saves.dir;
        return 0;
}

static int report(struct async_job *j, struct json *job)
{
        struct coll *c = j->run->coll;
        struct async_facts f = {0};
        struct stats idle, busy;

        if (stats_of(j->idle, j->nidle, &idle) || stats_of(j->busy, j->nbusy, &busy))
                return coll_agree(c, -ENOMEM);
        f.step_idle = j->nidle ? idle.median : (double)j->k->step_time / 1e3;
        f.step_busy = j->nbusy ? busy.median : f.step_idle;
        int err = train_saves_slowest(&j->saves); /* a save blocks as long as its slowest rank */
        double most[] = {f.step_idle,          f.step_busy, j->peak,
                         j->saves.writer_peak, j->fit,      seconds_of_steps(j)};
        if (!err)
                err = c->ops->max(c, most, sizeof most / sizeof most[0]);
        f.steps = most[5];
        f.fit = most[4];
        f.step_idle = most[0];
        f.step_busy = most[1];
        f.peak = most[2];
        f.writer_peak = most[3];
        f.work = j->worker ? j->worker->name : "host";
        f.state = j->state.trains ? "trained" : "pattern";
        f.model = j->state.model.name;
        f.ranks = c->ranks;
        int own = err ? 0 : take_saves(j, &f);
        if (!err && !own && job)
                own = async_json(&f, job);
        free((void *)(uintptr_t)f.save);
        return coll_agree(c, err ? err : own);
}

static void async_end(struct async_job *j)
{
        async_state_release(&j->state);
        free(j->idle);
        free(j->busy);
}

int async_job(const struct run *r, const struct keys *k, struct json *job)
{
        struct async_job j = {.run = r, .k = k};

        int err = prepare(&j);
        if (!err)
                err = r->coll->ops->barrier(r->coll);
        if (!err)
                err = train(&j);
        if (!err)
                err = train_saves_verify(&j.saves);
        if (!err)
                err = report(&j, job);
        int gone = train_saves_end(&j.saves);
        async_end(&j);
        return coll_agree(r->coll, err ? err : gone);
}

/* A checkpoint of all ranks together. */
static const char *const defaults[] = {"format=dcp", NULL};

const struct scenario scenario_async = {
        .name = "async",
        .text = "Training steps with one save in flight: how long each save blocks, and what it "
                "costs "
                "the steps.",
        .many_ranks = true,
        .device = true,
        .formats = FORMATS_OF_SHARDS | 1U << FORMAT_DCP,
        .defaults = defaults,
        .plan = async_plan,
        .job = async_job,
        .table = async_table,
        .says = async_says,
        .page = async_page,
};
