/* SPDX-License-Identifier: Apache-2.0 */
/* mlperf.c: MLPerf Storage's checkpointing: so many saves of the files that ranks of a training job
 * write, a pause between them, then as many loads. A job of fewer ranks plays the first of them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "bench/core/clock.h"
#include "bench/format/format.h"
#include "bench/data/run_name.h"
#include "bench/data/model_keys.h"
#include "bench/data/preflight.h"
#include "bench/data/payload.h"
#include "bench/core/run.h"
#include "bench/scenario/dcp/dcp.h"
#include "bench/scenario/mlperf/mlperf_shape.h"
#include "bench/scenario/mlperf/mlperf_table.h"
#include "bench/core/signal_cleanup.h"
#include "bench/measure/timed.h"

#include "base/banned.h"

enum { CACHE_FACTOR = 3 }; /* a client with less than this many times its memory drops its caches */

struct mlperf_job {
        const struct run *run;
        const struct keys *k;
        const struct io_storage *storage;
        struct model model;
        struct mlperf_shape shape;
        struct mlperf_file *files; /* of one checkpoint */
        struct payload *payloads;  /* one each; the shards are theirs */
        size_t nfiles, nsaves, nloads;
        uint64_t bytes; /* of this rank */
        bool held, drops;
        char (*dirs)[FRESH_NAME_MAX];
        struct timed timed;
        struct sample *save, *load;
        const char *dropped;
        size_t current; /* the file under way, for what failed */
};

/* --- what is asked for --- */

static int resolve_keys(struct keys *k, char *why, size_t nwhy)
{
        char name[64];

        if (model_find(k->model) || !strcmp(k->model, "auto"))
                return 0;
        snprintf(name, sizeof name, "mlperf-%s", k->model);
        return model_find(name) ? param_tab_set(&key_tab, k, "model", name, why, nwhy) : 0;
}

static int check_ranks(const struct mlperf_shape *s, const struct keys *k, unsigned ranks,
                       char *why, size_t nwhy)
{
        unsigned full = mlperf_ranks(s);

        if (ranks > full)
                snprintf(why, nwhy, "%u ranks are more than the %u of %s: start %u, or fewer",
                         ranks, full, k->model, full);
        else if (k->mlperf_mode == MLPERF_FULL && ranks != full)
                snprintf(
                        why, nwhy,
                        "mlperf.mode=full of %s needs %u ranks and there are %u: start as many, or "
                        "give mlperf.mode=subset",
                        k->model, full, ranks);
        else if (full % ranks)
                snprintf(why, nwhy, "%u ranks do not divide the %u of %s: start a divisor", ranks,
                         full, k->model);
        else
                return 0;
        return -EINVAL;
}

static int choose(const struct run *r, const struct keys *k, struct model *m,
                  struct mlperf_shape *s, char *why, size_t nwhy)
{
        if (!io_find(k->storage, why, nwhy) || model_choose(k, m, why, nwhy) ||
            mlperf_shape(m, k, s, why, nwhy) || check_ranks(s, k, r->coll->ranks, why, nwhy))
                return -EINVAL;
        if (k->phase == PHASE_LOAD && !*k->suffix) {
                snprintf(why, nwhy,
                         "phase=load needs the directory that a save made: give suffix=");
                return -EINVAL;
        }
        return 0;
}

static struct mlperf_bytes sum_bytes(const struct model *m, const struct mlperf_shape *s,
                                     unsigned ranks)
{
        struct mlperf_bytes sum = {0};
        for (unsigned r = 0; r < ranks; r++) {
                struct mlperf_bytes b = mlperf_rank_bytes(m, s, r);
                sum.weights += b.weights;
                sum.optimizer += b.optimizer;
        }
        return sum;
}

static double gib(uint64_t bytes)
{
        return (double)bytes / (1 << 30);
}

static void say_plan(const struct run *r, const struct keys *k, const struct model *m,
                     const struct mlperf_shape *s, const struct mlperf_bytes *here, FILE *to)
{
        struct mlperf_bytes all = sum_bytes(m, s, mlperf_ranks(s));
        struct mlperf_bytes first = mlperf_rank_bytes(m, s, 0);
        char size[BYTES_TEXT];

        /* The suite publishes its sizes in GiB. */
        fprintf(to,
                "would %s %s: TP %u x PP %u x DP %u, ZeRO-%u, %u ranks; rank 0: %.2f GiB of model, "
                "%.2f GiB of optimizer; all %.1f GiB\n",
                r->scenario->name, m->name, s->tp, s->pp, s->dp, s->zero, mlperf_ranks(s),
                gib(first.weights), gib(first.optimizer), gib(all.weights + all.optimizer));
        fprintf(to, "  %u of them here: %s a checkpoint, %llu checkpoints, on %s\n", r->coll->ranks,
                bytes_text(here->weights + here->optimizer, size), (unsigned long long)k->epochs,
                k->storage);
}

static int plan(const struct run *r, const struct keys *k, FILE *dry, char *why, size_t nwhy)
{
        struct model m;
        struct mlperf_shape s;
        int err = choose(r, k, &m, &s, why, nwhy);

        if (err)
                return err;
        struct mlperf_bytes here = sum_bytes(&m, &s, r->coll->ranks);
        if (dry)
                say_plan(r, k, &m, &s, &here, dry);
        uint64_t bytes = here.weights + here.optimizer;
        bool both = k->phase == PHASE_BOTH;
        const struct preflight n = {
                .moved = bytes * k->epochs * (both ? 2 : 1),
                .stored = k->phase == PHASE_LOAD ? 0 : bytes * k->epochs,
                .held = bytes / r->coll->ranks,
        };
        return preflight_check(r, k, &n, dry, why, nwhy);
}

/* --- one checkpoint --- */

static void say(struct mlperf_job *j, const char *what, int err)
{
        char text[512];
        const char *why = j->timed.io && *j->timed.io->why ? j->timed.io->why : strerror(-err);
        struct payload *p = j->current < j->nfiles ? &j->payloads[j->current] : NULL;

        if (err == -ECANCELED)
                return;
        if (p)
                payload_why(p, err, why, text, sizeof text);
        else
                snprintf(text, sizeof text, "%s", why);
        run_error(j->run, "%s of %s: %s", what, p ? j->files[j->current].name : "a checkpoint",
                  text);
}

static void release_files(struct mlperf_job *j)
{
        for (size_t i = 0; j->payloads && i < j->nfiles; i++)
                payload_release(&j->payloads[i]);
        freep(&j->payloads);
        freep(&j->files); /* the shards were the payloads' */
        j->nfiles = 0;
}

/* The files of this rank with the bytes of directory `dir`. */
static int make_files(struct mlperf_job *j, const char *dir)
{
        int err = mlperf_files(&j->model, &j->shape, j->run->coll->rank, &j->files, &j->nfiles);
        if (err)
                return err;
        j->payloads = calloc(j->nfiles, sizeof *j->payloads);
        if (!j->payloads) {
                mlperf_files_release(&j->files, j->nfiles);
                return -ENOMEM;
        }
        for (size_t i = 0; i < j->nfiles && !err; i++) {
                struct payload *p = &j->payloads[i];
                p->shard = j->files[i].shard;
                j->files[i].shard = (struct shard){0};
                p->shard.seed = dcp_seed(j->k->seed, dir);
                err = formats[j->k->format].wrap(&p->shard);
                payload_init(p, j->k->verify);
                if (!err && j->held)
                        err = payload_hold(p);
        }
        return err;
}

static void stop_storage(struct mlperf_job *j, bool clean)
{
        if (j->timed.io)
                j->storage->ops->stop(j->timed.io, clean);
        j->timed.io = NULL;
}

/* Files and storage of a directory. */
static int begin(struct mlperf_job *j, const char *dir)
{
        char why[512] = "";
        struct coll *c = j->run->coll;

        j->current = SIZE_MAX;
        int err = coll_agree(c, make_files(j, dir));
        if (err) {
                run_error(j->run, "cannot make the files: %s: try hold=off", strerror(-err));
                return err;
        }
        err = j->storage->ops->start(j->k, j->storage->name, dir, c->rank, &j->timed.io, why,
                                     sizeof why);
        if (err && err != -ECANCELED)
                run_error(j->run, "%s", why);
        err = coll_agree(c, err);
        if (err) /* in no rank, then: what follows is collective */
                stop_storage(j, false);
        return err;
}

static void end(struct mlperf_job *j, bool clean)
{
        release_files(j);
        stop_storage(j, clean);
}

/* One after the other, as the benchmark does. */
static int work_on_files(struct mlperf_job *j, bool load, struct sample *out)
{
        uint64_t begin = clock_ns();
        int err = 0;

        for (j->current = 0; j->current < j->nfiles && !err; j->current++) {
                const struct io_data *d = &j->payloads[j->current].data;
                const char *name = j->files[j->current].name;
                struct sample s = {0};
                err = load ? timed_load_file(j->timed.io, name, d, &s)
                           : timed_save_file(j->timed.io, name, d, j->timed.sync, &s);
                out->open += s.open;
                out->transfer += s.transfer;
                out->sync += s.sync;
                out->close += s.close;
                out->bytes += d->size;
                if (err)
                        break;
        }
        out->total = clock_s(clock_ns() - begin);
        if (err)
                say(j, load ? "load" : "save", err);
        return err;
}

static int save_work(void *arg, struct sample *out)
{
        return work_on_files(arg, false, out);
}

static int load_work(void *arg, struct sample *out)
{
        return work_on_files(arg, true, out);
}

static int remove_files(struct mlperf_job *j)
{
        int err = 0;
        for (j->current = 0; j->current < j->nfiles; j->current++) {
                int gone = j->storage->ops->remove(j->timed.io, j->files[j->current].name);
                if (gone && gone != -ENOENT && !err) {
                        err = gone;
                        say(j, "remove", err);
                }
        }
        return coll_agree(j->run->coll, err);
}

static int one_save(struct mlperf_job *j, size_t i)
{
        int err = run_name(j->run->coll, j->dirs[i]);
        if (!err)
                err = begin(j, j->dirs[i]);
        for (size_t f = 0; f < j->nfiles && !err; f++)
                err = payload_fill(&j->payloads[f]);
        err = coll_agree(j->run->coll, err);
        if (!err)
                err = timed_work(&j->timed, "checkpoint", save_work, j, &j->save[i]);
        if (err && j->timed.io)
                remove_files(j);
        end(j, err);
        return err;
}

static void no_line(void *arg, const char *what, int err)
{
        say(arg, what, err);
}

/* Collective; a rank with fewer files names its last one again. */
static int drop_pages(struct mlperf_job *j)
{
        double most = (double)j->nfiles;
        int err = j->drops ? j->run->coll->ops->max(j->run->coll, &most, 1) : 0;

        for (size_t i = 0; j->drops && i < (size_t)most && !err; i++) {
                j->current = i < j->nfiles ? i : j->nfiles - 1;
                err = timed_drop(&j->timed, j->files[j->current].name, j->k->drop, &j->dropped,
                                 no_line, j);
        }
        return err;
}

static int check_files(struct mlperf_job *j)
{
        int err = 0;
        for (j->current = 0; j->current < j->nfiles && j->k->verify && !err; j->current++) {
                err = payload_check(&j->payloads[j->current]);
                if (!err)
                        err = timed_check_size(j->timed.io, j->files[j->current].name,
                                               j->payloads[j->current].data.size);
                if (err) {
                        say(j, "load", err);
                        break;
                }
        }
        return coll_agree(j->run->coll, err);
}

static int one_load(struct mlperf_job *j, size_t i)
{
        const char *dir = j->nsaves ? j->dirs[i] : j->k->suffix;
        bool stays = j->k->keep || !j->nsaves;
        int err = begin(j, dir);

        if (!err)
                err = drop_pages(j);
        for (size_t f = 0; f < j->nfiles && !err && j->k->verify; f++)
                err = payload_wipe(&j->payloads[f]);
        err = coll_agree(j->run->coll, err);
        if (!err)
                err = timed_work(&j->timed, "load", load_work, j, &j->load[i]);
        if (!err)
                err = check_files(j);
        int gone = j->timed.io && !stays ? remove_files(j) : 0;
        end(j, !stays);
        return err ? err : gone;
}

/* --- a job --- */

/* What a job that failed had saved before goes; that it cannot is no second failure. */
static void remove_save(struct mlperf_job *j, const char *dir)
{
        if (!begin(j, dir))
                remove_files(j);
        end(j, true);
}

/* A pause that a signal ends. */
static int pause_between(const struct mlperf_job *j)
{
        uint64_t until = clock_ns() + j->k->mlperf_interval * 1000000;
        while (clock_ns() < until && !signal_came())
                clock_sleep_ns(10 * 1000 * 1000);
        return coll_agree(j->run->coll, signal_came() ? -ECANCELED : 0);
}

/* Collective: whether a machine's data is so little that its caches could answer for the storage;
 * all drop them when one has to. */
static int choose_drop(struct mlperf_job *j)
{
        struct coll *c = j->run->coll;
        double memory = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
        double bytes = (double)j->bytes;
        int err = c->ops->max(c, &bytes, 1);
        double drops = bytes * c->host_ranks < CACHE_FACTOR * memory;

        if (!err)
                err = c->ops->max(c, &drops, 1);
        j->drops = drops > 0;
        return err;
}

static int prepare(struct mlperf_job *j)
{
        const struct keys *k = j->k;
        struct coll *c = j->run->coll;
        char why[512] = "";

        int err = choose(j->run, k, &j->model, &j->shape, why, sizeof why);
        j->nsaves = k->phase == PHASE_LOAD ? 0 : k->epochs;
        j->nloads = k->phase == PHASE_SAVE || (j->storage->ops->flags & IO_EMPTY) ? 0 : k->epochs;
        j->dirs = calloc(k->epochs, sizeof *j->dirs);
        j->save = calloc(k->epochs, sizeof *j->save);
        j->load = calloc(k->epochs, sizeof *j->load);
        if (!err && (!j->dirs || !j->save || !j->load))
                err = -ENOMEM;
        err = coll_agree(c, err);
        if (err) {
                run_error(j->run, "cannot prepare: %s", *why ? why : strerror(-err));
                return err;
        }
        struct mlperf_bytes b = mlperf_rank_bytes(&j->model, &j->shape, c->rank);
        j->bytes = b.weights + b.optimizer;
        timed_init(&j->timed, c, k, k->storage);
        err = choose_drop(j);
        return err ? err : payload_choose(c, j->bytes, k->hold, &j->held);
}

static int report(struct mlperf_job *j, struct json *job)
{
        CLEANUP(freep) struct sample *save = NULL;
        CLEANUP(freep) struct sample *load = NULL;
        struct coll *c = j->run->coll;
        int err = j->nsaves ? timed_gather(c, j->save, j->nsaves, &save) : 0;

        if (!err && j->nloads)
                err = timed_gather(c, j->load, j->nloads, &load);
        if (err || !job)
                return err;
        struct mlperf_bytes here = sum_bytes(&j->model, &j->shape, c->ranks);
        struct mlperf_bytes all = sum_bytes(&j->model, &j->shape, mlperf_ranks(&j->shape));
        struct shards_facts facts = {
                .keys = j->k,
                .model = &j->model,
                .epochs = j->nsaves,
                .loads = j->nloads,
                .ranks = c->ranks,
                .suffix = j->nsaves ? j->dirs[j->nsaves - 1] : j->k->suffix,
                .held = j->held,
                .verified = j->nloads && j->k->verify,
                .moves_data = !(j->storage->ops->flags & IO_EMPTY),
                .dropped = j->drops ? j->dropped : "not needed: 3 times the memory",
                .mount_pid = j->timed.mount,
                .save = save,
                .load = load,
        };
        return mlperf_json(&facts, &j->shape, here.weights + here.optimizer,
                           all.weights + all.optimizer, job);
}

static int work(const struct run *r, const struct keys *k, struct json *job)
{
        char why[512];
        struct mlperf_job j = {
                .run = r,
                .k = k,
                .storage = io_find(k->storage, why, sizeof why),
                .dropped = "none",
        };
        size_t saved = 0, loaded = 0;
        int err = prepare(&j);

        while (saved < j.nsaves && !err) {
                err = saved ? pause_between(&j) : 0;
                if (!err)
                        err = one_save(&j, saved);
                saved += !err;
        }
        while (loaded < j.nloads && !err) {
                err = loaded ? pause_between(&j) : 0;
                if (!err)
                        err = one_load(&j, loaded++);
        }
        if (!err)
                err = report(&j, job);
        bool stays = k->keep && saved == j.nsaves && err != -ECANCELED;
        for (size_t i = k->keep ? 0 : loaded; err && i < saved && !stays; i++)
                remove_save(&j, j.dirs[i]);
        free(j.dirs);
        free(j.save);
        free(j.load);
        return err;
}

static const char *const defaults[] = {"model=mlperf-8b", "epochs=10", NULL};

const struct scenario scenario_mlperf = {
        .name = "mlperf",
        .text = "Checkpoints of MLPerf Storage: 8b, 70b, 405b and 1t, by all their ranks or the "
                "first.",
        .many_ranks = true,
        .device = true,
        .defaults = defaults,
        .resolve_keys = resolve_keys,
        .formats = FORMATS_OF_SHARDS,
        .plan = plan,
        .job = work,
        .table = mlperf_table,
        .says = shards_says,
        .page = shards_page,
};
