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
#include <sys/mman.h>
#include <sys/resource.h>

#include "base/cleanup.h"
#include "bench/clock.h"
#include "bench/cpu.h"
#include "bench/format/format.h"
#include "bench/fresh.h"
#include "bench/model_keys.h"
#include "bench/payload.h"
#include "bench/run.h"
#include "bench/scenario/async_table.h"
#include "bench/stop.h"
#include "bench/timed.h"

#include "base/banned.h"

struct async_job {
        const struct run *run;
        const struct keys *k;
        const struct io_storage *storage;
        struct model model;
        struct payload payload; /* held: what training has in memory */
        struct timed timed;
        char dir[FRESH_NAME_MAX];
        uint64_t work; /* units of a step */
        char *staging; /* kept, when it is cached */
        struct async_save *saves;
        double *idle, *busy; /* seconds of steps without and with a save under way */
        size_t nsaves, nidle, nbusy;
        struct writer {
                pthread_t thread;
                bool running;
                atomic_bool done;
                struct async_save *save;
                struct io_data data;
                char name[64];
                int err;
        } writer;
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

/* How many units last step_time: from the fastest of a few tries, when nothing else is to do. */
static uint64_t measure_work(uint64_t step_ns)
{
        enum { TRY_UNITS = 2000, TRIES = 5 };
        uint64_t best = UINT64_MAX;
        for (int i = 0; i < TRIES; i++) {
                uint64_t begin = clock_ns();
                work_of(TRY_UNITS);
                uint64_t took = clock_ns() - begin;
                best = took < best ? took : best;
        }
        return (uint64_t)((double)step_ns / (double)(best ? best : 1) * TRY_UNITS) + 1;
}

/* --- a save
 * ---------------------------------------------------------------------------------------------------
 */

static void *write_staged(void *arg)
{
        struct async_job *j = arg;
        struct writer *w = &j->writer;
        struct sample s = {0};
        uint64_t begin = clock_ns();

        w->err = timed_save_file(j->timed.io, w->name, &w->data, true, &s);
        w->save->durable = clock_s(begin - w->save->wanted_ns) + s.open + s.transfer + s.sync;
        w->save->visible = clock_s(clock_ns() - w->save->wanted_ns);
        atomic_store(&w->done, true);
        return NULL;
}

/* Waits for the save under way, if there is one, and gives its staging buffer back. */
static int wait_writer(struct async_job *j)
{
        struct writer *w = &j->writer;
        if (!w->running)
                return 0;
        pthread_join(w->thread, NULL);
        w->running = false;
        if (j->k->staging != STAGING_CACHED)
                munmap(w->data.mem, j->payload.mapped);
        if (w->err && w->err != -ECANCELED)
                run_error(j->run, "save of %s: %s", w->name, j->timed.io->why);
        return w->err;
}

/* Memory to copy the shard to: fresh, or that of the save before. NULL: no memory. */
static char *staging_memory(struct async_job *j)
{
        if (j->staging)
                return j->staging;
        char *p = mmap(NULL, j->payload.mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                       -1, 0);
        if (p == MAP_FAILED)
                return NULL;
        if (j->k->staging != STAGING_PAGEABLE && mlock(p, j->payload.mapped)) {
                munmap(p, j->payload.mapped);
                return NULL;
        }
        if (j->k->staging == STAGING_CACHED)
                j->staging = p;
        return p;
}

static int begin_save(struct async_job *j)
{
        struct writer *w = &j->writer;
        struct async_save *save = &j->saves[j->nsaves];

        save->wanted_ns = clock_ns();
        int err = wait_writer(j);
        uint64_t waited = clock_ns();
        if (err)
                return err;
        char *to = staging_memory(j);
        if (!to) {
                run_error(j->run,
                          "staging of %zu bytes: %s: give async.staging=pageable, or raise "
                          "ulimit -l",
                          j->payload.mapped, strerror(errno));
                return -ENOMEM;
        }
        memcpy(to, j->payload.data.mem, j->payload.data.size);
        save->staged = clock_s(clock_ns() - waited);
        save->blocked = clock_s(clock_ns() - save->wanted_ns);
        w->save = save;
        w->data = (struct io_data){.size = j->payload.data.size, .mem = to};
        snprintf(w->name, sizeof w->name, "step-%05zu-%05u-of-%05u%s", j->nsaves,
                 j->run->coll->rank, j->run->coll->ranks, formats[j->k->format].ending);
        atomic_store(&w->done, false);
        err = -pthread_create(&w->thread, NULL, write_staged, j);
        w->running = !err;
        j->nsaves += !err;
        return err;
}

/* --- a job
 * ----------------------------------------------------------------------------------------------------
 */

static int train(struct async_job *j)
{
        int err = 0;
        for (uint64_t i = 1; i <= j->k->steps && !err; i++) {
                bool under_way = j->writer.running && !atomic_load(&j->writer.done);
                uint64_t begin = clock_ns();
                work_of(j->work);
                double took = clock_s(clock_ns() - begin);
                if (under_way)
                        j->busy[j->nbusy++] = took;
                else
                        j->idle[j->nidle++] = took;
                err = stop_wanted() ? -ECANCELED : 0;
                if (!err && i % j->k->steps_per_save == 0)
                        err = begin_save(j);
        }
        int last = wait_writer(j);
        return coll_agree(j->run->coll, err ? err : last);
}

static int async_plan(const struct run *r, const struct keys *k, FILE *dry, char *why, size_t nwhy)
{
        struct model m;
        if (!io_find(k->storage, why, nwhy) || model_choose(k, &m, why, nwhy))
                return -EINVAL;
        if (k->steps < k->steps_per_save) {
                snprintf(why, nwhy, "steps=%llu with a save every %llu saves nothing: give more",
                         (unsigned long long)k->steps, (unsigned long long)k->steps_per_save);
                return -EINVAL;
        }
        if (dry)
                fprintf(dry,
                        "would train %llu steps of %.3f s on %u ranks and save %.3f GB every %llu "
                        "steps to %s\n",
                        (unsigned long long)k->steps, (double)k->step_time / 1e3, r->coll->ranks,
                        (double)(model_params(&m) * model_param_bytes(&m, k->optimizer)) / 1e9,
                        (unsigned long long)k->steps_per_save, k->storage);
        return 0;
}

static int prepare(struct async_job *j)
{
        struct coll *c = j->run->coll;
        const struct keys *k = j->k;
        char why[512] = "";

        int err = model_choose(k, &j->model, why, sizeof why);
        if (!err)
                err = shard_plan(&j->model, k->optimizer, SHARD_ELEMENTS, c->rank, c->ranks,
                                 &j->payload.shard);
        j->payload.shard.seed = k->seed;
        if (!err)
                err = formats[k->format].wrap(&j->payload.shard);
        payload_init(&j->payload, true);
        if (!err)
                err = payload_hold(&j->payload);
        if (!err)
                err = payload_fill(&j->payload);
        j->saves = calloc(k->steps / k->steps_per_save + 1, sizeof *j->saves);
        j->idle = calloc(k->steps, sizeof *j->idle);
        j->busy = calloc(k->steps, sizeof *j->busy);
        if (!err && (!j->saves || !j->idle || !j->busy))
                err = -ENOMEM;
        err = coll_agree(c, err);
        if (!err)
                err = fresh_name(c, j->dir);
        if (err) {
                run_error(j->run, "cannot prepare: %s", *why ? why : strerror(-err));
                return err;
        }
        j->work = measure_work(k->step_time * 1000000);
        err = j->storage->ops->start(k, k->storage, j->dir, c->rank, &j->timed.io, why, sizeof why);
        if (err)
                run_error(j->run, "%s", why);
        return coll_agree(c, err);
}

/* Loads the last save back, outside of every clock, and checks it; then all saves go. */
static int verify_last(struct async_job *j)
{
        struct sample ignored;
        const struct io_ops *ops = j->timed.io->ops;
        int err = 0;

        if (j->k->verify && !(ops->flags & IO_EMPTY)) {
                err = payload_wipe(&j->payload);
                if (!err)
                        err = timed_load_file(j->timed.io, j->writer.name, &j->payload.data,
                                              &ignored);
                if (!err)
                        err = payload_check(&j->payload);
                char text[512];
                payload_explain(&j->payload, text, sizeof text);
                if (err && err != -ECANCELED)
                        run_error(j->run, "load of %s: %s", j->writer.name,
                                  err == -EBADMSG ? text : j->timed.io->why);
        }
        for (size_t i = 0; i < j->nsaves && !j->k->keep; i++) {
                char name[64];
                snprintf(name, sizeof name, "step-%05zu-%05u-of-%05u%s", i, j->run->coll->rank,
                         j->run->coll->ranks, formats[j->k->format].ending);
                int gone = ops->remove(j->timed.io, name);
                err = err ? err : gone;
        }
        return coll_agree(j->run->coll, err);
}

static double peak_bytes(void)
{
        struct rusage u;
        return getrusage(RUSAGE_SELF, &u) ? 0 : (double)u.ru_maxrss * 1024;
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
        double most[] = {f.step_idle, f.step_busy, f.peak};
        if (!err)
                err = c->ops->max(c, most, 3);
        f.step_idle = most[0];
        f.step_busy = most[1];
        f.peak = most[2];
        f.save = j->saves;
        f.model = j->model.name;
        f.ranks = c->ranks;
        return err || !job ? err : async_json(&f, job);
}

static int async_job(const struct run *r, const struct keys *k, struct json *job)
{
        char why[512];
        struct async_job j = {
                .run = r,
                .k = k,
                .storage = io_find(k->storage, why, sizeof why),
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
        if (j.timed.io)
                j.storage->ops->stop(j.timed.io, !k->keep);
        if (j.staging)
                munmap(j.staging, j.payload.mapped);
        payload_release(&j.payload);
        free(j.saves);
        free(j.idle);
        free(j.busy);
        return err;
}

const struct scenario scenario_async = {
        .name = "async",
        .text = "Training steps with one save in flight: how long each save blocks, and what it "
                "costs "
                "the steps.",
        .many_ranks = true,
        .plan = async_plan,
        .job = async_job,
        .table = async_table,
        .page = async_page,
};
