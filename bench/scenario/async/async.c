/* SPDX-License-Identifier: Apache-2.0 */
/* async.c: the scenario "async": training goes on while a checkpoint is written.
 *
 * A step is a fixed amount of work, measured at the start to last step_time on the idle machine, so
 * that what the writing takes from it shows. At a save the step waits for the save before, if that
 * is still under way (never two at once), copies the shard to a staging buffer, hands that to a
 * writer and goes on. Blocked is the wait and the copy: counting from when the step wanted to save,
 * not from when it could, is what keeps a slow storage from hiding its own queue. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/cleanup.h"
#include "bench/core/clock.h"
#include "bench/core/job_log.h"
#include "bench/core/dev.h"
#include "bench/format/format.h"
#include "bench/data/run_name.h"
#include "bench/data/model_keys.h"
#include "bench/data/preflight.h"
#include "bench/data/payload.h"
#include "bench/core/run.h"
#include "bench/scenario/async/async.h"
#include "bench/scenario/async/async_table.h"
#include "bench/scenario/async/async_writer.h"
#include "bench/core/signal_cleanup.h"
#include "bench/measure/timed.h"

#include "base/banned.h"

struct async_job {
        const struct run *run;
        const struct keys *k;
        const struct io_storage *storage;
        struct model model;
        struct payload payload; /* held: what training has in memory */
        struct timed timed;
        char dir[FRESH_NAME_MAX];
        const struct dev_ops *worker; /* the device that does the steps' work; NULL: a core */
        uint64_t work;                /* units of a step */
        struct async_save *saves;
        double *idle, *busy; /* seconds of steps without and with a save under way */
        size_t nsaves, nidle, nbusy;
        double fit; /* seconds of all steps, to the end of the last save */
        double writer_peak;
        struct async_writer writer;
        struct stage stage;
        struct flight { /* the save under way */
                pthread_t thread;
                bool running;
                atomic_bool done;
                struct async_save *save;
                char name[64];
                struct async_wrote wrote;
        } flight;
};

/* --- the work of a step
 * --------------------------------------------------------------------------------------- */

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

/* How many units last step_time: from the fastest of a few tries, when nothing else is to do. */
static int measure_work(struct async_job *j)
{
        enum { CORE_UNITS = 2000, DEVICE_UNITS = 8, TRIES = 5 };
        const uint64_t units = j->worker ? DEVICE_UNITS : CORE_UNITS;
        uint64_t best = UINT64_MAX;
        int err = 0;

        for (int i = 0; i < TRIES && !err; i++) {
                uint64_t begin = clock_ns();
                err = do_work(j, units);
                uint64_t took = clock_ns() - begin;
                best = took < best ? took : best;
        }
        j->work = (uint64_t)((double)(j->k->step_time * 1000000) / (double)(best ? best : 1) *
                             (double)units) +
                  1;
        return err;
}

/* --- a save ---------------------------------------------------------------------------------- */

static void *write_staged(void *arg)
{
        struct async_job *j = arg;
        struct flight *f = &j->flight;

        async_write(&j->writer, f->name, &j->stage, j->payload.data.size, &f->wrote);
        f->save->durable = clock_s(f->wrote.durable_ns - f->save->wanted_ns);
        f->save->visible = clock_s(f->wrote.visible_ns - f->save->wanted_ns);
        atomic_store(&f->done, true);
        return NULL;
}

/* Waits for the save under way, if there is one, and gives its staging memory back. */
static int wait_writer(struct async_job *j)
{
        struct flight *f = &j->flight;
        if (!f->running)
                return 0;
        pthread_join(f->thread, NULL);
        f->running = false;
        stage_give(&j->stage);
        if (j->writer.child.pid && f->wrote.peak > j->writer_peak)
                j->writer_peak = f->wrote.peak;
        if (!f->wrote.err)
                job_log(JOB_LOG_INFO, "save of %s: blocked for %.4f s, visible after %.4f s",
                        f->name, f->save->blocked, f->save->visible);
        else if (f->wrote.err != -ECANCELED)
                run_error(j->run, "save of %s: %s", f->name, f->wrote.why);
        return f->wrote.err;
}

static void name_save(const struct async_job *j, size_t i, char out[64])
{
        snprintf(out, 64, "step-%05zu-%05u-of-%05u%s", i, j->run->coll->rank, j->run->coll->ranks,
                 formats[j->k->format].ending);
}

/* Copies the shard out of the way of the steps to come. */
static int stage_shard(struct async_job *j)
{
        int err = stage_take(&j->stage);
        if (!err)
                err = payload_copy_out(&j->payload, j->stage.p);
        if (err)
                run_error(j->run,
                          "staging of %zu bytes: %s: give async.staging=pageable, or raise "
                          "ulimit -l",
                          j->stage.size, strerror(-err));
        return err;
}

static int begin_save(struct async_job *j)
{
        struct flight *f = &j->flight;
        struct async_save *save = &j->saves[j->nsaves];

        save->wanted_ns = clock_ns();
        int err = wait_writer(j);
        uint64_t waited = clock_ns();
        if (!err)
                err = stage_shard(j);
        if (err)
                return err;
        save->waited = clock_s(waited - save->wanted_ns);
        save->staged = clock_s(clock_ns() - waited);
        save->blocked = clock_s(clock_ns() - save->wanted_ns);
        f->save = save;
        name_save(j, j->nsaves, f->name);
        atomic_store(&f->done, false);
        err = -pthread_create(&f->thread, NULL, write_staged, j);
        if (err)
                run_error(j->run, "save of %s: no thread: %s", f->name, strerror(-err));
        f->running = !err;
        j->nsaves += !err;
        return err;
}

/* --- a job
 * ----------------------------------------------------------------------------------------------------
 */

/* Steps that wait for their saves: the whole of one blocks. */
static int end_save(struct async_job *j)
{
        bool waits = j->k->strategy != STRATEGY_AUTO && j->k->strategy != STRATEGY_ASYNC;
        if (!waits)
                return 0;
        struct async_save *save = &j->saves[j->nsaves - 1];
        int err = wait_writer(j);
        save->blocked = clock_s(clock_ns() - save->wanted_ns);
        return err;
}

static int train(struct async_job *j)
{
        uint64_t fit = clock_ns();
        int err = 0;
        for (uint64_t i = 1; i <= j->k->steps && !err; i++) {
                bool under_way = j->flight.running && !atomic_load(&j->flight.done);
                uint64_t begin = clock_ns();
                err = do_work(j, j->work);
                double took = clock_s(clock_ns() - begin);
                if (under_way)
                        j->busy[j->nbusy++] = took;
                else
                        j->idle[j->nidle++] = took;
                bool saves = i % j->k->steps_per_save == 0;
                if (!err && signal_came())
                        err = -ECANCELED;
                if (!err && saves)
                        err = begin_save(j);
                if (!err && saves)
                        err = end_save(j);
        }
        int last = wait_writer(j);
        j->fit = clock_s(clock_ns() - fit);
        return coll_agree(j->run->coll, err ? err : last);
}

int async_plan(const struct run *r, const struct keys *k, FILE *dry, char *why, size_t nwhy)
{
        struct model m;
        if (!io_find(k->storage, why, nwhy) || model_choose(k, &m, why, nwhy))
                return -EINVAL;
        if (k->steps < k->steps_per_save) {
                snprintf(why, nwhy, "steps=%llu with a save every %llu saves nothing: give more",
                         (unsigned long long)k->steps, (unsigned long long)k->steps_per_save);
                return -EINVAL;
        }
        if (k->disk_gds != DISK_GDS_OFF) {
                snprintf(why, nwhy,
                         "disk.gds: async saves from staging memory of the host: leave it out");
                return -EINVAL;
        }
        if (dry)
                fprintf(dry,
                        "would train %llu steps of %.3f s on %u ranks and save %.3f GB every %llu "
                        "steps to %s\n",
                        (unsigned long long)k->steps, (double)k->step_time / 1e3, r->coll->ranks,
                        (double)(model_params(&m) * model_param_bytes(&m, k->optimizer)) / 1e9,
                        (unsigned long long)k->steps_per_save, k->storage);
        uint64_t bytes = model_params(&m) * model_param_bytes(&m, k->optimizer);
        uint64_t saves = k->steps / k->steps_per_save;
        const struct preflight n = {
                .moved = bytes * saves,
                .stored = bytes * saves,          /* they go when all are done */
                .shards = bytes / r->coll->ranks, /* what is trained */
                .memory = bytes / r->coll->ranks, /* its copy */
        };
        return preflight_check(r, k, &n, dry, why, nwhy);
}

/* The device that does the work of steps. */
static int choose_worker(struct async_job *j, char *why, size_t nwhy)
{
        j->worker = j->k->async_work == WORK_HOST ? NULL : dev_get();
        if (j->k->async_work != WORK_DEVICE || j->worker)
                return 0;
        snprintf(why, nwhy,
                 "async.work=device: no device is in use: give device=cuda, or async.work=host");
        return -EINVAL;
}

/* What training has in memory, and room for what is measured. */
static int prepare_memory(struct async_job *j, char *why, size_t nwhy)
{
        struct coll *c = j->run->coll;
        const struct keys *k = j->k;
        bool held;

        int err = model_choose(k, &j->model, why, nwhy);
        if (!err)
                err = choose_worker(j, why, nwhy);
        if (!err)
                err = shard_plan(&j->model, k->optimizer, SHARD_ELEMENTS, c->rank, c->ranks,
                                 &j->payload.shard);
        j->payload.shard.seed = k->seed;
        if (!err)
                err = formats[k->format].wrap(&j->payload.shard);
        payload_init(&j->payload, true);
        err = coll_agree(c, err);
        if (!err) /* on the device if it has room */
                err = payload_choose(c, j->payload.shard.size, HOLD_ON, &held);
        if (!err)
                err = payload_hold(&j->payload);
        if (!err)
                err = payload_fill(&j->payload);
        stage_init(&j->stage, (j->payload.data.size + IO_ALIGN - 1) & ~(size_t)(IO_ALIGN - 1),
                   k->staging, k->async_writer == WRITER_PROCESS);
        j->saves = calloc(k->steps / k->steps_per_save + 1, sizeof *j->saves);
        j->idle = calloc(k->steps, sizeof *j->idle);
        j->busy = calloc(k->steps, sizeof *j->busy);
        if (!err && (!j->saves || !j->idle || !j->busy))
                err = -ENOMEM;
        return err ? err : measure_work(j);
}

static int prepare(struct async_job *j)
{
        struct coll *c = j->run->coll;
        const struct keys *k = j->k;
        char why[512] = "";

        int err = prepare_memory(j, why, sizeof why);
        if (err)
                run_error(j->run, "cannot prepare: %s", *why ? why : strerror(-err));
        err = coll_agree(c, err);
        if (!err)
                err = run_name(c, j->dir);
        if (err)
                return err;
        err = j->storage->ops->start(k, k->storage, j->dir, c->rank, &j->timed.io, why, sizeof why);
        j->writer.io = j->timed.io;
        if (!err && k->async_writer == WRITER_PROCESS)
                err = async_writer_start(&j->writer, k, j->dir, c->rank, why, sizeof why);
        if (err)
                run_error(j->run, "%s", why);
        return coll_agree(c, err);
}

/* Loads the last save back, outside of every clock, and checks it. */
static int verify_last(struct async_job *j)
{
        struct sample ignored;
        char text[512];

        if (!j->k->verify || j->timed.io->ops->flags & IO_EMPTY || !j->nsaves)
                return coll_agree(j->run->coll, 0);
        int err = payload_wipe(&j->payload);
        if (!err)
                err = timed_load_file(j->timed.io, j->flight.name, &j->payload.data, &ignored);
        if (!err)
                err = payload_check(&j->payload);
        if (err && err != -ECANCELED) {
                payload_why(&j->payload, err, j->timed.io->why, text, sizeof text);
                run_error(j->run, "load of %s: %s", j->flight.name, text);
        }
        return coll_agree(j->run->coll, err);
}

/* All saves go, also those of a job that failed. */
static int remove_saves(struct async_job *j)
{
        int err = 0;
        for (size_t i = 0; i < j->nsaves && !j->k->keep; i++) {
                char name[64];
                name_save(j, i, name);
                int gone = j->timed.io->ops->remove(j->timed.io, name);
                err = err ? err : gone;
        }
        return err;
}

static double peak_bytes(void)
{
        struct rusage u;
        return getrusage(RUSAGE_SELF, &u) ? 0 : (double)u.ru_maxrss * 1024;
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

static int report(struct async_job *j, struct json *job)
{
        struct coll *c = j->run->coll;
        struct async_facts f = {.saves = j->nsaves, .bytes = (double)j->payload.data.size};
        struct stats idle, busy;
        double v[ASYNC_VALUES];

        if (stats_of(j->idle, j->nidle, &idle) || stats_of(j->busy, j->nbusy, &busy))
                return coll_agree(c, -ENOMEM);
        f.step_idle = j->nidle ? idle.median : (double)j->k->step_time / 1e3;
        f.step_busy = j->nbusy ? busy.median : f.step_idle;
        f.peak = peak_bytes();
        int err = 0;
        for (size_t i = 0; i < j->nsaves && !err; i++) {
                async_values(&j->saves[i], v);
                err = c->ops->max(c, v,
                                  ASYNC_VALUES); /* a save blocks as long as its slowest rank */
                async_take(&j->saves[i], v);
        }
        double most[] = {f.step_idle,    f.step_busy, f.peak,
                         j->writer_peak, j->fit,      seconds_of_steps(j)};
        if (!err)
                err = c->ops->max(c, most, sizeof most / sizeof most[0]);
        f.steps = most[5];
        f.fit = most[4];
        f.step_idle = most[0];
        f.step_busy = most[1];
        f.peak = most[2];
        f.writer_peak = most[3];
        f.work = j->worker ? j->worker->name : "host";
        f.save = j->saves;
        f.model = j->model.name;
        f.ranks = c->ranks;
        return err || !job ? err : async_json(&f, job);
}

static void async_end(struct async_job *j)
{
        async_writer_stop(&j->writer);
        stage_release(&j->stage);
        if (j->timed.io)
                j->storage->ops->stop(j->timed.io, !j->k->keep);
        payload_release(&j->payload);
        free(j->saves);
        free(j->idle);
        free(j->busy);
}

int async_job(const struct run *r, const struct keys *k, struct json *job)
{
        char why[512];
        struct async_job j = {
                .run = r,
                .k = k,
                .storage = io_find(k->storage, why, sizeof why),
                .writer = ASYNC_WRITER_INIT,
        };
        int err = prepare(&j);
        if (!err)
                err = r->coll->ops->barrier(r->coll);
        if (!err)
                err = train(&j);
        if (!err)
                err = report(&j, job);
        if (!err)
                err = verify_last(&j);
        int gone = j.timed.io ? remove_saves(&j) : 0;
        if (gone)
                run_error(r, "removing saves: %s", j.timed.io->why);
        async_end(&j);
        return coll_agree(r->coll, err ? err : gone);
}

const struct scenario scenario_async = {
        .name = "async",
        .text = "Training steps with one save in flight: how long each save blocks, and what it "
                "costs "
                "the steps.",
        .many_ranks = true,
        .device = true,
        .formats = FORMATS_OF_SHARDS,
        .plan = async_plan,
        .job = async_job,
        .table = async_table,
        .page = async_page,
};
