/* SPDX-License-Identifier: Apache-2.0 */
/* dcp_save.c: a save as dcp.save() makes it: the plans of all ranks are gathered, each rank writes
 * its files at once, rank 0 then the .metadata of all, and all ranks wait for that. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "bench/core/clock.h"
#include "bench/scenario/dcp/dcp.h"

#include "base/banned.h"

/* The items of all ranks; *n is their number. 0 or a negative errno in all ranks. */
static int gather_items(struct dcp_job *j, struct dcp_item **out, size_t *n)
{
        size_t mine = 0, room = 1;

        for (size_t i = 0; i < j->files.n; i++)
                room += j->files.v[i]->payload.shard.n;
        CLEANUP(freep) struct dcp_item *v = calloc(room, sizeof *v);
        for (size_t i = 0; i < j->files.n && v; i++)
                mine += dcp_items(&j->files.v[i]->payload.shard, j->files.v[i]->name, v + mine);
        int err = coll_agree(&j->part, v ? 0 : -ENOMEM);
        return err ? err : dcp_gather_items(&j->part, v, mine, out, n);
}

static int write_metadata(struct dcp_job *j, struct dcp_item *items, size_t n)
{
        CLEANUP(buf_release) struct buf b = BUF_INIT;
        struct sample ignored;
        int err = dcp_metadata(items, n, &b);

        if (err)
                return err;
        struct io_data d = {.size = b.len, .mem = b.p};
        return timed_save_file(j->timed.io, DCP_METADATA, &d, j->timed.sync, &ignored);
}

/* Rank 0's part when all files are there. */
static int finish(struct dcp_job *j, struct dcp_item *items, size_t n)
{
        int err = j->part.rank == 0 ? write_metadata(j, items, n) : 0;
        if (err)
                dcp_say(j, &j->files, "save of " DCP_METADATA, err);
        return coll_agree(&j->part, err);
}

/* All that dcp.save() does, in every rank. */
static int save_all(void *arg, struct sample *out)
{
        struct dcp_job *j = arg;
        CLEANUP(freep) struct dcp_item *items = NULL;
        uint64_t mark = clock_ns(), begin = mark;
        size_t n = 0;

        int err = gather_items(j, &items, &n);
        out->plan = clock_lap(&mark);
        if (err)
                return err;
        err = dcp_files_work(&j->files, false, j->timed.sync, out);
        out->files = clock_lap(&mark);
        if (err)
                dcp_say(j, &j->files, "save", err);
        err = coll_agree(&j->part, err);
        if (!err)
                err = finish(j, items, n);
        out->finish = clock_lap(&mark);
        out->total = clock_s(mark - begin);
        return err;
}

/* What a save that failed left behind goes. */
static void remove_files(struct dcp_job *j)
{
        for (size_t i = 0; i < j->files.n; i++)
                if (j->files.v[i]->io)
                        j->storage->ops->remove(j->files.v[i]->io, j->files.v[i]->name);
}

static int save_timed(struct dcp_job *j, size_t epoch)
{
        char what[sizeof j->dir + 16];

        snprintf(what, sizeof what, "save of %s", j->dir);
        if (j->use)
                sampler_resume(j->use);
        int err = timed_work(&j->timed, what, save_all, j, &j->samples[epoch]);
        if (j->use)
                sampler_pause(j->use);
        j->processing[epoch] = j->samples[epoch].total;
        return err ? err : j->part.ops->max(&j->part, &j->processing[epoch], 1);
}

int dcp_save_epoch(struct dcp_job *j, size_t epoch)
{
        int err = j->named ? 0 : run_name(&j->part, j->dir);
        if (err)
                return err;
        j->plan.seed = dcp_seed(j->k->seed, j->dir);
        for (unsigned r = j->part.rank; r < j->plan.ranks && !err; r += j->part.ranks)
                err = dcp_files_plan(&j->files, &j->plan, r);
        err = coll_agree(&j->part, err);
        if (!err)
                err = dcp_hold(j);
        if (!err)
                err = dcp_start(j);
        for (size_t i = 0; i < j->files.n && !err; i++)
                err = payload_fill(&j->files.v[i]->payload);
        err = coll_agree(&j->part, err);
        if (!err)
                err = save_timed(j, epoch);
        if (err)
                remove_files(j);
        return err;
}

/* There may be fewer tensors than files, and a signal removes files of its own accord. */
static int remove_file(struct dcp_job *j, const char *name)
{
        int err = j->storage->ops->remove(j->timed.io, name);
        return err == -ENOENT ? 0 : err;
}

int dcp_remove_save(struct dcp_job *j, const char *dir)
{
        char name[DCP_FILE_MAX];
        int err = 0;

        snprintf(j->dir, sizeof j->dir, "%s", dir);
        int first = dcp_start(j);
        if (first)
                return first;
        for (unsigned rank = j->part.rank; rank < j->plan.ranks; rank += j->part.ranks)
                for (unsigned t = 0; t < j->plan.threads && !err; t++) {
                        dcp_file_name(name, rank, t);
                        err = remove_file(j, name);
                }
        if (!err && j->part.rank == 0)
                err = remove_file(j, DCP_METADATA);
        if (err)
                dcp_say(j, &j->files, "remove", err);
        err = coll_agree(&j->part, err);
        dcp_end_epoch(j, !err);
        return err;
}
