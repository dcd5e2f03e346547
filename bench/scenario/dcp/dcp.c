/* SPDX-License-Identifier: Apache-2.0 */
/* dcp.c: the scenarios dcp_ddp_save, dcp_ddp_load, dcp_fsdp_save and dcp_fsdp_load, and dcp, which
 * is the first under its older name. */
#include "bench/scenario/dcp/dcp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/cleanup.h"
#include "bench/format/format.h"
#include "bench/data/model_keys.h"
#include "bench/data/preflight.h"
#include "bench/report/shards_table.h"
#include "bench/measure/stats.h"

#include "base/banned.h"

uint64_t dcp_seed(uint64_t seed, const char *dir)
{
        return fnv1a(FNV1A_BASIS, dir, strlen(dir)) ^ seed;
}

void dcp_say(struct dcp_job *j, const struct dcp_files *files, const char *what, int err)
{
        char text[600];
        if (err == -ECANCELED)
                return;
        for (size_t i = 0; i < files->n; i++) {
                struct dcp_file *f = files->v[i];
                if (f->err != err)
                        continue;
                payload_why(&f->payload, err, f->io ? f->io->why : NULL, text, sizeof text);
                run_error(j->run, "%s of %s/%s: %s", what, j->dir, f->name, text);
                return;
        }
        run_error(j->run, "%s: %s", what,
                  j->timed.io && *j->timed.io->why ? j->timed.io->why : strerror(-err));
}

int dcp_hold(struct dcp_job *j)
{
        int err = payload_choose(&j->part, dcp_files_bytes(&j->files), j->k->hold, &j->held);
        for (size_t i = 0; i < j->files.n && !err && j->held; i++)
                err = payload_hold(&j->files.v[i]->payload);
        err = coll_agree(&j->part, err);
        if (err)
                run_error(j->run, "cannot hold %llu bytes: %s: try hold=off",
                          (unsigned long long)dcp_files_bytes(&j->files), strerror(-err));
        return err;
}

int dcp_start(struct dcp_job *j)
{
        char why[512] = "";
        int err = 0;

        if (!j->timed.io)
                err = j->storage->ops->start(j->k, j->storage->name, j->dir, j->part.rank,
                                             &j->timed.io, why, sizeof why);
        if (!err)
                err = dcp_files_start(&j->files, j->k, j->storage, j->dir, j->part.rank, why,
                                      sizeof why);
        if (err && err != -ECANCELED)
                run_error(j->run, "%s", why);
        return coll_agree(&j->part, err);
}

struct dropping {
        const struct run *run;
        const struct io *io;
};

static void drop_failed(void *arg, const char *what, int err)
{
        const struct dropping *d = arg;
        if (err != -ECANCELED)
                run_error(d->run, "%s: %s", what, *d->io->why ? d->io->why : strerror(-err));
}

int dcp_drop(struct dcp_job *j, const struct dcp_files *files)
{
        double most = files->n > 0 ? (double)files->n : 1;
        int err = j->part.ops->max(&j->part, &most, 1);

        for (size_t i = 0; i < (size_t)most && !err; i++) {
                /* a rank with fewer files names .metadata instead */
                const struct dcp_file *f = i < files->n ? files->v[i] : NULL;
                struct timed t = j->timed;
                t.io = f ? f->io : t.io;
                struct dropping d = {j->run, t.io};
                err = timed_drop(&t, f ? f->name : DCP_METADATA, j->k->drop, &j->dropped,
                                 drop_failed, &d);
        }
        return err;
}

/* What was read of a file, and where it ends: a part of it may be right in one that was cut. */
static int check_file(struct dcp_file *f)
{
        int err = payload_check(&f->payload);
        const bool there = f->io && !(f->io->ops->flags & IO_EMPTY);

        return err || !there ? err : timed_check_size(f->io, f->name, f->whole);
}

int dcp_check(struct dcp_job *j, const struct dcp_files *files, const char *what)
{
        int err = 0;
        for (size_t i = 0; i < files->n && !err; i++) {
                struct dcp_file *f = files->v[i];
                err = f->err = f->err ? f->err : check_file(f);
                if (err)
                        dcp_say(j, files, what, err);
        }
        return err;
}

void dcp_end_epoch(struct dcp_job *j, bool clean)
{
        dcp_files_stop(&j->files, false);
        dcp_files_release(&j->files);
        if (j->timed.io)
                j->storage->ops->stop(j->timed.io, clean);
        j->timed.io = NULL;
}

void dcp_end(struct dcp_job *j, bool clean)
{
        dcp_end_epoch(j, clean);
        freep(&j->samples);
        freep(&j->processing);
}

static bool is_load(const struct scenario *sc)
{
        return strstr(sc->name, "_load");
}

static int dcp_plan_job(const struct run *r, const struct keys *k, FILE *dry, char *why,
                        size_t nwhy)
{
        struct model m;
        char size[BYTES_TEXT];
        if (!io_find(k->storage, why, nwhy) || model_choose(k, &m, why, nwhy))
                return -EINVAL;
        uint64_t bytes = model_params(&m) * model_param_bytes(&m, k->optimizer);
        if (is_load(r->scenario) && (!*k->suffix || strspn(k->suffix, "./") == strlen(k->suffix))) {
                snprintf(why, nwhy,
                         "%s needs the directory that a save made: give "
                         "checkpoint.suffix=",
                         r->scenario->name);
                return -EINVAL;
        }
        if (dry)
                fprintf(dry, "would %s %s: %s in %llu tensors, %s, %llu epoch%s\n",
                        r->scenario->name, m.name, bytes_text(bytes, size),
                        (unsigned long long)model_ntensors(&m), k->storage,
                        (unsigned long long)k->epochs, k->epochs > 1 ? "s" : "");
        /* a load of a replicated model is one of the whole by each rank */
        bool load = is_load(r->scenario), whole = load && strstr(r->scenario->name, "ddp");
        uint64_t world = k->world_size ? k->world_size : r->coll->ranks;
        const struct preflight n = {
                .moved = bytes * k->epochs * (whole ? world : 1),
                .stored = load ? 0 : bytes * k->epochs,
                .held = whole ? bytes : bytes / world,
        };
        return preflight_check(r, k, &n, dry, why, nwhy);
}

/* Adds the arrays that the suite's own results have. */
static void suite_json(struct dcp_job *j, const struct sample *all, struct json *metrics)
{
        double mib =
                (double)(model_params(&j->model) * model_param_bytes(&j->model, j->k->optimizer)) /
                (1 << 20);
        size_t n = j->k->epochs * j->part.ranks;
        struct json *rates = json_add_array(metrics, "throughput_mibs");
        struct json *each = json_add_array(metrics, j->load ? "corrected_load_durations_s"
                                                            : "corrected_save_durations_s");
        struct json *whole = json_add_array(metrics, "processing_durations_s");
        for (size_t i = 0; i < n; i++) {
                json_add_number(rates, NULL, stats_ratio(mib, all[i].total));
                json_add_number(each, NULL, all[i].total);
        }
        for (size_t e = 0; e < j->k->epochs; e++)
                json_add_number(whole, NULL, j->processing[e]);
}

/* What a load asked of the storage, beside what its ranks needed. */
static void load_json(const struct dcp_job *j, const struct sample *all, const double *needed,
                      struct json *o)
{
        double sum[2] = {0, 0};
        for (size_t i = 0; i < j->k->epochs * j->part.ranks; i++)
                sum[0] += (double)all[i].bytes;
        for (unsigned i = 0; i < j->part.ranks; i++)
                sum[1] += needed[i] * (double)j->k->epochs;
        json_add_number(o, "fetched_bytes", sum[0]);
        json_add_number(o, "needed_bytes", sum[1]);
        json_add_number(o, "fetched_over_needed", stats_ratio(sum[0], sum[1]));
}

int dcp_gather(struct dcp_job *j, double mine, double **of_ranks, struct sample **all)
{
        struct coll *c = &j->part;

        *of_ranks = calloc(c->ranks, sizeof **of_ranks);
        int err = coll_agree(c, *of_ranks ? 0 : -ENOMEM);
        if (!err)
                err = c->ops->gather(c, &mine, sizeof mine, *of_ranks);
        return err ? err : timed_gather(c, j->samples, j->k->epochs, all);
}

int dcp_json(const struct dcp_job *j, const struct sample *all, struct json *job)
{
        struct shards_facts facts = {
                .keys = j->k,
                .model = &j->model,
                .epochs = j->k->epochs,
                .ranks = j->part.ranks,
                .suffix = j->dir,
                .held = j->held,
                .verified = j->load && j->k->verify,
                .moves_data = !(j->storage->ops->flags & IO_EMPTY),
                .dropped = j->dropped,
                .mount_pid = j->timed.mount,
                .save = j->load ? NULL : all,
                .load = j->load ? all : NULL,
        };
        return shards_json(&facts, job);
}

static int report(struct dcp_job *j, struct json *job)
{
        CLEANUP(freep) struct sample *all = NULL;
        CLEANUP(freep) double *needed = NULL;

        int err = dcp_gather(j, (double)j->needed, &needed, &all);
        if (err || !job)
                return err;
        err = dcp_json(j, all, job);
        if (!err)
                suite_json(j, all, json_open_object(job, "metrics"));
        if (!err && j->load)
                load_json(j, all, needed, json_add_object(job, "load"));
        return err;
}

static int run_epochs(struct dcp_job *j)
{
        CLEANUP(freep) char(*saved)[FRESH_NAME_MAX] = calloc(j->k->epochs, sizeof *saved);
        size_t n = 0;
        int err = coll_agree(&j->part, saved ? 0 : -ENOMEM);

        while (n < j->k->epochs && !err) {
                err = j->load ? dcp_load_epoch(j, n) : dcp_save_epoch(j, n);
                dcp_end_epoch(j, err && !j->load);
                if (err)
                        break;
                memcpy(saved[n++], j->dir, sizeof saved[0]);
        }
        /* a run of saves that did not come to its end keeps none of them */
        while (err && !j->load && n)
                dcp_remove_save(j, saved[--n]);
        return err;
}

int dcp_carry(struct dcp_job *j)
{
        char why[512] = "";
        int err = coll_carry(&j->part, j->k->backend == BACKEND_NCCL, why, sizeof why);
        if (err && j->part.rank == 0)
                run_error(j->run, "%s", *why ? why : strerror(-err));
        return err;
}

/* Among how many ranks rows are divided. Collective. */
static int choose_group(struct dcp_job *j)
{
        struct coll *c = &j->part;
        bool hybrid = j->fsdp && j->k->sharding == SHARDING_HYBRID;
        unsigned group = hybrid && j->k->hybrid_group ? (unsigned)j->k->hybrid_group
                         : hybrid                     ? c->host_ranks
                                                      : c->ranks;
        double v[2] = {group, -(double)group};
        int err = c->ops->max(c, v, 2);

        j->plan.group = group;
        bool odd = v[0] > -v[1] || c->ranks % group;
        if (hybrid && !j->k->hybrid_group) /* ranks of a machine follow each other */
                odd |= c->rank % group != c->host_rank;
        err = coll_agree(c, err ? err : odd ? -EINVAL : 0);
        if (err == -EINVAL && c->rank == 0)
                run_error(j->run,
                          "%u ranks are not divided into groups of %u: give "
                          "checkpoint.hybrid_group= a divisor",
                          c->ranks, group);
        return err;
}

int dcp_prepare(struct dcp_job *j)
{
        const struct keys *k = j->k;
        char why[512];

        int err = model_choose(k, &j->model, why, sizeof why);
        j->samples = calloc(k->epochs + 1, sizeof *j->samples);
        j->processing = calloc(k->epochs + 1, sizeof *j->processing);
        if (!err && (!j->samples || !j->processing))
                err = -ENOMEM;
        timed_init(&j->timed, &j->part, k, k->storage);
        j->plan = (struct dcp_plan){
                .model = &j->model,
                .optimizer = k->optimizer,
                .verify = k->verify,
                .cut = j->fsdp ? SHARD_ROWS : SHARD_WHOLE,
                .ranks = j->part.ranks,
                .threads = (unsigned)k->thread_count,
        };
        int grouped = choose_group(j);
        return coll_agree(&j->part, err ? err : grouped);
}

/* The ranks that take part do it; the others wait for how it ends. */
static int run_part(struct dcp_job *j, struct json *job)
{
        int err = dcp_carry(j);
        if (!err)
                err = dcp_prepare(j);
        if (!err)
                err = run_epochs(j);
        return err ? err : report(j, job);
}

static int dcp_job(const struct run *r, const struct keys *k, struct json *job)
{
        char why[512];
        struct dcp_job j = {
                .run = r,
                .k = k,
                .storage = io_find(k->storage, why, sizeof why),
                .fsdp = strstr(r->scenario->name, "fsdp"),
                .load = is_load(r->scenario),
                .dropped = "none",
        };
        bool in = false;

        int err = r->coll->ops->split(
                r->coll, k->world_size ? (unsigned)k->world_size : r->coll->ranks, &j.part, &in);
        if (!err && in)
                err = run_part(&j, job);
        dcp_end(&j, false);
        if (in)
                j.part.ops->drop(&j.part);
        return coll_agree(r->coll, err);
}

static const char *const defaults[] = {"optimizer=off", /* the suites save weights */
                                       "fsync=off",     /* and leave them to the page cache */
                                       "format=dcp", NULL};

#define DCP_SCENARIO(id, title, about)                                                             \
        const struct scenario scenario_##id = {                                                    \
                .name = title,                                                                     \
                .text = about,                                                                     \
                .many_ranks = true,                                                                \
                .device = true,                                                                    \
                .carries = true,                                                                   \
                .defaults = defaults,                                                              \
                .formats = 1U << FORMAT_DCP,                                                       \
                .plan = dcp_plan_job,                                                              \
                .job = dcp_job,                                                                    \
                .table = shards_table,                                                             \
                .says = shards_says,                                                               \
                .page = shards_page,                                                               \
        }
DCP_SCENARIO(dcp, "dcp", "dcp_ddp_save under its older name.");
DCP_SCENARIO(dcp_ddp_save, "dcp_ddp_save",
             "Ranks with the same model share the writing of a torch.distributed.checkpoint.");
DCP_SCENARIO(dcp_ddp_load, "dcp_ddp_load",
             "Every rank loads the whole model from such a directory.");
DCP_SCENARIO(dcp_fsdp_save, "dcp_fsdp_save",
             "Each rank saves its rows of the model to a torch.distributed.checkpoint.");
DCP_SCENARIO(dcp_fsdp_load, "dcp_fsdp_load",
             "Each rank loads its rows, by as many ranks as saved or by others.");
