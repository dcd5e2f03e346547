/* SPDX-License-Identifier: Apache-2.0 */
/* restore.c: the scenario "restore": every rank needs the whole of a replicated model. Independent
 * ranks fetch all of it each; sharing ranks fetch every byte once among them and hand it on. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "bench/clock.h"
#include "bench/cpu.h"
#include "bench/format/format.h"
#include "bench/model_keys.h"
#include "bench/needs.h"
#include "bench/scenario/dcp.h"
#include "bench/shards_table.h"
#include "bench/stats.h"

#include "base/banned.h"

enum { SHARE_STEP = 16 << 20 };

/* One load: the files of each rank of the save, of which some are fetched. */
struct restoring {
        struct dcp_job *j;
        struct dcp_files *of_rank; /* ranks of them */
        uint64_t fetched;
};

static bool fetches(const struct restoring *r, unsigned rank)
{
        return r->j->k->mode == RESTORE_INDEPENDENT || rank == r->j->part.rank;
}

static int fetch(struct restoring *r, struct sample *out)
{
        int err = 0;
        for (unsigned i = 0; i < r->j->part.ranks && !err; i++) {
                struct sample s = {0};
                if (!fetches(r, i))
                        continue;
                err = dcp_files_work(&r->of_rank[i], true, false, &s);
                out->open += s.open;
                out->transfer += s.transfer;
                out->close += s.close;
                r->fetched += s.bytes;
        }
        return err;
}

/* Each rank's files to all, in steps between which a signal is heard. */
static int share(struct restoring *r)
{
        struct coll *c = &r->j->part;
        int err = 0;
        for (unsigned root = 0; root < c->ranks; root++)
                for (size_t i = 0; i < r->of_rank[root].n; i++) {
                        struct payload *p = &r->of_rank[root].v[i]->payload;
                        for (uint64_t off = 0; off < p->data.size && !err; off += SHARE_STEP) {
                                uint64_t left = p->data.size - off;
                                err = payload_share(p, c, root, off,
                                                    left < SHARE_STEP ? (size_t)left : SHARE_STEP);
                        }
                }
        return err;
}

static int restore(void *arg, struct sample *out)
{
        struct restoring *r = arg;
        uint64_t begin = clock_ns();
        int err = fetch(r, out);

        if (err)
                dcp_say(r->j, "restore", err);
        err = coll_agree(&r->j->part, err);
        if (!err && r->j->k->mode == RESTORE_SHARED)
                err = share(r);
        out->total = clock_s(clock_ns() - begin);
        for (unsigned i = 0; i < r->j->part.ranks; i++)
                out->bytes += dcp_files_bytes(&r->of_rank[i]);
        return err;
}

/* Memory for all, overwritten, and the storage for what is fetched. */
static int make_ready(struct restoring *r)
{
        struct dcp_job *j = r->j;
        char why[512] = "";
        int err = 0;

        for (unsigned i = 0; i < j->part.ranks && !err; i++) {
                struct dcp_files *f = &r->of_rank[i];
                err = dcp_files_plan(f, &j->plan, i);
                for (size_t n = 0; n < f->n && !err; n++) {
                        err = payload_hold(&f->v[n]->payload);
                        if (!err)
                                err = payload_wipe(&f->v[n]->payload);
                }
                if (!err && fetches(r, i))
                        err = dcp_files_start(f, j->k, j->storage, j->dir, j->part.rank, why,
                                              sizeof why);
        }
        if (err && err != -ECANCELED)
                run_error(j->run, "%s", *why ? why : strerror(-err));
        return coll_agree(&j->part, err);
}

static int drop_pages(struct restoring *r)
{
        struct dcp_job *j = r->j;
        int err = 0;
        for (unsigned i = 0; i < j->part.ranks && !err; i++)
                for (size_t n = 0; n < r->of_rank[i].n && !err; n++) {
                        const struct dcp_file *f = r->of_rank[i].v[n];
                        if (f->io && j->k->drop != DROP_NONE)
                                err = f->io->ops->forget(f->io, f->name);
                }
        j->dropped = err || j->k->drop == DROP_NONE ? "none" : "file";
        return coll_agree(&j->part, err == -EBUSY ? 0 : err);
}

static int check_all(struct restoring *r)
{
        struct dcp_job *j = r->j;
        int err = 0;
        for (unsigned i = 0; i < j->part.ranks && !err && j->k->verify; i++)
                for (size_t n = 0; n < r->of_rank[i].n && !err; n++) {
                        struct payload *p = &r->of_rank[i].v[n]->payload;
                        char text[512];
                        err = payload_check(p);
                        payload_explain(p, text, sizeof text);
                        if (err == -EBADMSG)
                                run_error(j->run, "%s/%s: %s", j->dir, r->of_rank[i].v[n]->name,
                                          text);
                }
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
                err = timed_work(&j->timed, restore, &r, &j->samples[epoch]);
        if (!err)
                err = check_all(&r);
        *fetched += (double)r.fetched;
        for (unsigned i = 0; r.of_rank && i < j->part.ranks; i++) {
                dcp_files_stop(&r.of_rank[i], false);
                dcp_files_release(&r.of_rank[i]);
        }
        free(r.of_rank);
        return err;
}

/* The directory that all restores read, removed at the end by who wrote it. */
static void remove_save(struct dcp_job *j)
{
        for (size_t i = 0; i < j->files.n && j->timed.io; i++)
                j->storage->ops->remove(j->timed.io, j->files.v[i]->name);
        if (j->timed.io && j->part.rank == 0)
                j->storage->ops->remove(j->timed.io, DCP_METADATA);
        j->part.ops->barrier(&j->part);
}

static int report(struct dcp_job *j, double fetched, struct json *job)
{
        struct coll *c = &j->part;
        size_t epochs = j->k->epochs;
        CLEANUP(freep) struct sample *all = NULL;
        CLEANUP(freep) double *of_ranks = calloc(c->ranks, sizeof *of_ranks);
        int err = coll_agree(c, of_ranks ? 0 : -ENOMEM);

        if (!err)
                err = c->ops->gather(c, &fetched, sizeof fetched, of_ranks);
        if (!err)
                err = timed_gather(c, j->samples, epochs, &all);
        if (err || !job)
                return err;
        struct shards_facts facts = {
                .keys = j->k,
                .model = &j->model,
                .epochs = epochs,
                .ranks = c->ranks,
                .suffix = j->dir,
                .held = true,
                .verified = j->k->verify,
                .moves_data = !(j->storage->ops->flags & IO_EMPTY),
                .dropped = j->dropped,
                .mount_pid = j->timed.mount,
                .load = all,
        };
        err = shards_json(&facts, job);
        double sum = 0, unique = (double)all[0].bytes * (double)epochs;
        for (unsigned i = 0; i < c->ranks; i++)
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
        if (!k->keep && *j.dir)
                remove_save(&j);
        dcp_end(&j, !k->keep);
        if (j.part.ops)
                j.part.ops->drop(&j.part);
        return coll_agree(r->coll, err);
}

static int restore_plan(const struct run *r, const struct keys *k, FILE *dry, char *why,
                        size_t nwhy)
{
        struct model m;
        const struct io_storage *s = io_find(k->storage, why, nwhy);

        if (!s || model_choose(k, &m, why, nwhy))
                return -EINVAL;
        if (s->ops->flags & IO_EMPTY) {
                snprintf(why, nwhy, "storage=%s keeps nothing that could be restored: give another",
                         s->name);
                return -EINVAL;
        }
        if (dry)
                fprintf(dry, "would restore %s, %.3f GB, in each of %u ranks, %s\n", m.name,
                        (double)(model_params(&m) * model_param_bytes(&m, k->optimizer)) / 1e9,
                        r->coll->ranks,
                        k->mode == RESTORE_SHARED ? "fetched once" : "fetched by each");
        uint64_t bytes = model_params(&m) * model_param_bytes(&m, k->optimizer);
        unsigned times = k->mode == RESTORE_SHARED ? 1 : r->coll->ranks;
        const struct needs n = {
                .moved = bytes + bytes * times * k->epochs, /* the save, too */
                .stored = bytes,
                .memory = bytes,
        };
        return needs_check(r, k, &n, dry, why, nwhy);
}

static const char *const defaults[] = {"optimizer=off", NULL};

const struct scenario scenario_restore = {
        .name = "restore",
        .text = "Each rank gets the whole of a saved model: fetched by each, or once and handed "
                "on.",
        .many_ranks = true,
        .device = true,
        .defaults = defaults,
        .formats = 1U << FORMAT_RAW,
        .plan = restore_plan,
        .job = restore_job,
        .table = shards_table,
        .page = shards_page,
};
