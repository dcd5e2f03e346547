/* SPDX-License-Identifier: Apache-2.0 */
/* restore.c: the scenario "restore": every rank needs the whole of a replicated model. Independent
 * ranks fetch all of it each; sharing ranks fetch every byte once among them and hand it on. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "bench/core/clock.h"
#include "bench/format/format.h"
#include "bench/data/model_keys.h"
#include "bench/data/preflight.h"
#include "bench/scenario/dcp/dcp.h"
#include "bench/report/shards_table.h"
#include "bench/measure/stats.h"

#include "base/banned.h"

enum { SHARE_STEP = 16 << 20 };

/* One load: the files of each rank of the save, of which some are fetched. */
struct restoring {
        struct dcp_job *j;
        struct dcp_files *of_rank; /* ranks of them */
        char *step;                /* what is handed on, where it is not held */
        uint64_t fetched;
};

static bool fetches(const struct restoring *r, unsigned rank)
{
        return r->j->k->mode == RESTORE_INDEPENDENT || rank == r->j->part.rank;
}

/* What is handed on has to be held by who fetched it. */
static bool holds(const struct restoring *r, unsigned rank)
{
        return r->j->held || (r->j->k->mode == RESTORE_SHARED && rank == r->j->part.rank);
}

static int fetch(struct restoring *r, struct sample *out)
{
        int err = 0;
        for (unsigned i = 0; i < r->j->part.ranks && !err; i++) {
                struct sample s = {0};
                if (!fetches(r, i))
                        continue;
                err = dcp_files_work(&r->of_rank[i], true, false, &s);
                if (err)
                        dcp_say(r->j, &r->of_rank[i], "restore", err);
                out->open += s.open;
                out->transfer += s.transfer;
                out->close += s.close;
                r->fetched += s.bytes;
        }
        return err;
}

/* A piece of a file to all, who keep it or only look at it. */
static int share_step(struct restoring *r, unsigned root, struct dcp_file *f, uint64_t off,
                      size_t n)
{
        struct coll *c = &r->j->part;
        struct payload *p = &f->payload;

        if (r->j->held)
                return payload_share(p, c, root, off, n);
        char *mem = c->rank == root ? p->data.mem + off : r->step;
        int err = c->ops->share(c, root, mem, n);
        /* wrong bytes are said behind the last step, for which the others wait */
        if (!err && c->rank != root && p->data.check && !f->err)
                f->err = p->data.check(p->data.arg, off, mem, n);
        return err;
}

/* Each rank's files to all, in steps between which a signal is heard. */
static int share(struct restoring *r)
{
        struct coll *c = &r->j->part;
        int err = 0;
        for (unsigned root = 0; root < c->ranks; root++)
                for (size_t i = 0; i < r->of_rank[root].n; i++) {
                        struct dcp_file *f = r->of_rank[root].v[i];
                        uint64_t size = f->payload.data.size;
                        for (uint64_t off = 0; off < size && !err; off += SHARE_STEP)
                                err = share_step(r, root, f, off,
                                                 size - off < SHARE_STEP ? (size_t)(size - off)
                                                                         : SHARE_STEP);
                }
        return err;
}

static int restore(void *arg, struct sample *out)
{
        struct restoring *r = arg;
        uint64_t begin = clock_ns();
        int err = coll_agree(&r->j->part, fetch(r, out));

        if (!err && r->j->k->mode == RESTORE_SHARED)
                err = share(r);
        out->total = clock_s(clock_ns() - begin);
        for (unsigned i = 0; i < r->j->part.ranks; i++)
                out->bytes += dcp_files_bytes(&r->of_rank[i]);
        return err;
}

/* The files of all ranks, and whether they are held. */
static int plan_files(struct restoring *r)
{
        struct dcp_job *j = r->j;
        uint64_t bytes = 0;
        int err = 0;

        for (unsigned i = 0; i < j->part.ranks && !err; i++) {
                err = dcp_files_plan(&r->of_rank[i], &j->plan, i);
                bytes += dcp_files_bytes(&r->of_rank[i]);
        }
        err = coll_agree(&j->part, err);
        if (!err)
                err = payload_choose(&j->part, bytes, j->k->hold, &j->held);
        if (!err && !j->held && j->k->mode == RESTORE_SHARED && !(r->step = malloc(SHARE_STEP)))
                err = -ENOMEM;
        return err;
}

/* Memory that is overwritten, and the storage for what is fetched. */
static int make_ready(struct restoring *r)
{
        struct dcp_job *j = r->j;
        char why[512] = "";
        int err = plan_files(r);

        for (unsigned i = 0; i < j->part.ranks && !err; i++) {
                struct dcp_files *f = &r->of_rank[i];
                for (size_t n = 0; n < f->n && !err && holds(r, i); n++) {
                        err = payload_hold(&f->v[n]->payload);
                        if (!err)
                                err = payload_wipe(&f->v[n]->payload);
                }
                if (!err && fetches(r, i))
                        err = dcp_files_start(f, j->k, j->storage, j->dir, j->part.rank, why,
                                              sizeof why);
        }
        if (err && err != -ECANCELED)
                run_error(j->run, "cannot prepare: %s",
                          *why             ? why
                          : err == -ENOMEM ? "out of memory: try hold=off"
                                           : strerror(-err));
        return coll_agree(&j->part, err);
}

/* Of what each rank fetches. */
static int drop_pages(struct restoring *r)
{
        int err = 0;
        if (r->j->k->mode == RESTORE_SHARED)
                return dcp_drop(r->j, &r->of_rank[r->j->part.rank]);
        for (unsigned i = 0; i < r->j->part.ranks && !err; i++)
                err = dcp_drop(r->j, &r->of_rank[i]);
        return err;
}

static int check_all(struct restoring *r)
{
        struct dcp_job *j = r->j;
        int err = 0;
        for (unsigned i = 0; i < j->part.ranks && !err && j->k->verify; i++)
                err = dcp_check(j, &r->of_rank[i], "restore");
        return coll_agree(&j->part, err);
}

static int one_restore(struct dcp_job *j, size_t epoch, double *fetched)
{
        struct restoring r = {.j = j};
        int err;

        r.of_rank = calloc(j->part.ranks, sizeof *r.of_rank);
        err = coll_agree(&j->part, r.of_rank ? 0 : -ENOMEM);
        if (!err)
                err = make_ready(&r);
        if (!err)
                err = drop_pages(&r);
        if (!err)
                err = timed_work(&j->timed, "restore", restore, &r, &j->samples[epoch]);
        if (!err)
                err = check_all(&r);
        *fetched += (double)r.fetched;
        for (unsigned i = 0; r.of_rank && i < j->part.ranks; i++) {
                dcp_files_stop(&r.of_rank[i], false);
                dcp_files_release(&r.of_rank[i]);
        }
        free(r.of_rank);
        free(r.step);
        return err;
}

/* *first: why the first of them stays, which is told and stands for all. */
static void remove_file(struct dcp_job *j, const char *name, bool failed, int *first)
{
        int err = j->timed.io ? j->storage->ops->remove(j->timed.io, name) : 0;

        /* a save that failed, or a signal, has removed it; that a mount has ended is told */
        if (!err || err == -ENOENT || (failed && err == -ENOTCONN) || *first)
                return;
        run_error(j->run, "remove: %s", j->timed.io->why);
        *first = err;
}

/* The directory that all restores read, removed at the end by who wrote it. */
static int remove_save(struct dcp_job *j, bool failed)
{
        int err = 0;

        for (size_t i = 0; i < j->files.n; i++)
                remove_file(j, j->files.v[i]->name, failed, &err);
        if (j->part.rank == 0)
                remove_file(j, DCP_METADATA, failed, &err);
        return coll_agree(&j->part, err);
}

static int report(struct dcp_job *j, double fetched, struct json *job)
{
        CLEANUP(freep) struct sample *all = NULL;
        CLEANUP(freep) double *of_ranks = NULL;

        int err = dcp_gather(j, fetched, &of_ranks, &all);
        if (err || !job)
                return err;
        j->load = true; /* the save before them was not measured */
        err = dcp_json(j, all, job);
        double sum = 0, unique = (double)all[0].bytes * (double)j->k->epochs;
        for (unsigned i = 0; i < j->part.ranks; i++)
                sum += of_ranks[i];
        struct json *o = json_add_object(job, "restore");
        json_add_number(o, "fetched_bytes", sum);
        json_add_number(o, "unique_bytes", unique);
        json_add_number(o, "fetched_over_unique", stats_ratio(sum, unique));
        return err;
}

static int restore_job(const struct run *r, const struct keys *k, struct json *job)
{
        char why[512] = "";
        double fetched = 0;
        bool in;
        struct dcp_job j = {
                .run = r,
                .k = k,
                .storage = io_find(k->storage, why, sizeof why),
                .dropped = "none",
        };
        int err = r->coll->ops->split(r->coll, r->coll->ranks, &j.part, &in);

        if (!err)
                err = dcp_carry(&j);
        if (!err)
                err = dcp_prepare(&j);
        if (!err)
                err = dcp_save_epoch(&j, 0);
        for (size_t e = 0; e < k->epochs && !err; e++)
                err = one_restore(&j, e, &fetched);
        if (!err)
                err = report(&j, fetched, job);
        int gone = !k->keep && *j.dir ? remove_save(&j, err != 0) : 0;
        dcp_end(&j, !k->keep);
        if (j.part.ops)
                j.part.ops->drop(&j.part);
        return coll_agree(r->coll, err ? err : gone);
}

static int restore_plan(const struct run *r, const struct keys *k, FILE *dry, char *why,
                        size_t nwhy)
{
        struct model m;
        char size[BYTES_TEXT];
        const struct io_storage *s = io_find(k->storage, why, nwhy);

        if (!s || model_choose(k, &m, why, nwhy))
                return -EINVAL;
        if (s->ops->flags & IO_EMPTY) {
                snprintf(why, nwhy, "storage=%s keeps nothing that could be restored: give another",
                         s->name);
                return -EINVAL;
        }
        if (dry)
                fprintf(dry, "would restore %s, %s, in each of %u rank%s, %s\n", m.name,
                        bytes_text(model_params(&m) * model_param_bytes(&m, k->optimizer), size),
                        r->coll->ranks, r->coll->ranks > 1 ? "s" : "",
                        k->mode == RESTORE_SHARED ? "fetched once" : "fetched by each");
        uint64_t bytes = model_params(&m) * model_param_bytes(&m, k->optimizer);
        unsigned times = k->mode == RESTORE_SHARED ? 1 : r->coll->ranks;
        uint64_t least = k->mode == RESTORE_SHARED ? bytes / r->coll->ranks : 0;
        const struct preflight n = {
                .moved = bytes + bytes * times * k->epochs, /* the save, too */
                .stored = bytes,
                .shards = least,
                .held = bytes - least,
        };
        return preflight_check(r, k, &n, dry, why, nwhy);
}

static const char *const defaults[] = {"optimizer=off", NULL};

const struct scenario scenario_restore = {
        .name = "restore",
        .text = "Each rank gets the whole of a saved model: fetched by each, or once and handed "
                "on.",
        .many_ranks = true,
        .device = true,
        .carries = true,
        .defaults = defaults,
        .formats = 1U << FORMAT_RAW,
        .plan = restore_plan,
        .job = restore_job,
        .table = shards_table,
        .says = shards_says,
        .page = shards_page,
};
