/* SPDX-License-Identifier: Apache-2.0 */
/* dcp_load.c: a load as dcp.load() makes it, by as many ranks as saved or by others: each rank
 * reads .metadata, plans by it what it needs, reads that, and waits for the others. Every byte is
 * checked. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "bench/core/clock.h"
#include "bench/scenario/dcp/dcp.h"

#include "base/banned.h"

enum { METADATA_MAX = 256 << 20 };

/* Reads .metadata, malloc'ed. */
static int read_metadata(struct dcp_job *j, char **out, uint64_t *n)
{
        CLEANUP(freep) char *p = NULL;
        struct sample ignored;
        int err = j->storage->ops->size(j->timed.io, DCP_METADATA, n);

        if (!err && *n > METADATA_MAX)
                err = io_fail(j->timed.io, -EFBIG, DCP_METADATA);
        if (!err && !(p = calloc(1, *n + 1)))
                err = -ENOMEM;
        if (err)
                return err;
        struct io_data d = {.size = *n, .mem = p};
        err = timed_load_file(j->timed.io, DCP_METADATA, &d, &ignored);
        if (!err)
                *out = TAKE_PTR(p);
        return err;
}

/* How many ranks saved, and how many files each of them, by the names of the files. */
static int count_files(struct dcp_job *j, const struct dcp_item *v, size_t n)
{
        unsigned rank, file, ranks = 0, files = 0;

        for (size_t i = 0; i < n; i++) {
                if (sscanf(v[i].file, "__%6u_%6u.distcp", &rank, &file) != 2)
                        continue;
                ranks = rank < ranks ? ranks : rank + 1;
                files = file < files ? files : file + 1;
        }
        j->plan.ranks = ranks;
        j->plan.threads = files;
        return ranks ? 0 : io_fail(j->timed.io, -EBADMSG, DCP_METADATA);
}

/* The whole files of the ranks of the save that this rank stands for. */
static int plan_own(struct dcp_job *j, const struct dcp_item *v, size_t n)
{
        int err = count_files(j, v, n);
        for (unsigned r = j->part.rank; r < j->plan.ranks && !err; r += j->part.ranks)
                err = dcp_files_plan(&j->files, &j->plan, r);
        if (err)
                dcp_say(j, &j->files, "load of " DCP_METADATA, err);
        return err;
}

/* The files that this rank reads and what of them: under DDP it has the whole model. */
static int plan_files(struct dcp_job *j)
{
        CLEANUP(freep) char *p = NULL;
        CLEANUP(freep) struct dcp_item *items = NULL;
        size_t count = 0;
        uint64_t n = 0;
        char why[300] = "";

        int err = read_metadata(j, &p, &n);
        if (err) {
                dcp_say(j, &j->files, "load of " DCP_METADATA, err);
                return err;
        }
        err = dcp_read(p, n, &items, &count, why, sizeof why);
        if (err) {
                run_error(j->run, "%s/" DCP_METADATA " cannot be loaded: %s", j->dir,
                          *why ? why : strerror(-err));
                return err;
        }
        return j->own ? plan_own(j, items, count) : dcp_plan_load(j, items, count);
}

/* The first half of a load: what there is, and what of it this rank reads. */
static int load_plan(void *arg, struct sample *out)
{
        uint64_t mark = clock_ns();
        int err = coll_agree(&((struct dcp_job *)arg)->part, plan_files(arg));
        out->plan = clock_lap(&mark);
        return err;
}

/* The second half. */
static int load_files(void *arg, struct sample *out)
{
        struct dcp_job *j = arg;
        uint64_t mark = clock_ns();
        int err = dcp_files_work(&j->files, true, false, out);
        out->files = clock_lap(&mark);
        if (err)
                dcp_say(j, &j->files, "load", err);
        err = coll_agree(&j->part, err);
        out->finish = clock_lap(&mark);
        return err;
}

/* With the clock stopped: pages of the files go, and held memory is overwritten. */
static int make_ready(struct dcp_job *j)
{
        int err = dcp_drop(j, &j->files);
        for (size_t i = 0; i < j->files.n && !err && j->k->verify; i++)
                err = payload_wipe(&j->files.v[i]->payload);
        return coll_agree(&j->part, err);
}

/* Both halves, with the clock stopped between them: a trainer has the memory that is loaded into
 * before it loads. Page caches go before each half, since the second's files are known by then. */
static int load_timed(struct dcp_job *j, struct sample *out)
{
        struct sample plan;
        int err = dcp_drop(j, &j->files);

        if (!err)
                err = timed_work(&j->timed, "plan of a load", load_plan, j, &plan);
        if (!err)
                err = dcp_hold(j);
        if (!err)
                err = dcp_start(j);
        if (!err)
                err = make_ready(j);
        if (!err)
                err = timed_work(&j->timed, "load", load_files, j, out);
        if (err)
                return err;
        measure_add(out, &plan);
        out->plan = plan.plan;
        out->total = out->plan + out->files + out->finish;
        return 0;
}

int dcp_load_epoch(struct dcp_job *j, size_t epoch)
{
        size_t n = strlen(j->k->suffix);
        while (n && j->k->suffix[n - 1] == '/') /* the suites end it so */
                n--;
        snprintf(j->dir, sizeof j->dir, "%.*s", (int)n, j->k->suffix);
        j->plan.seed = dcp_seed(j->k->seed, j->dir);
        int err = dcp_start(j); /* one of its own, for .metadata */
        if (!err)
                err = load_timed(j, &j->samples[epoch]);
        if (err)
                return err;
        j->processing[epoch] = j->samples[epoch].total;
        err = j->part.ops->max(&j->part, &j->processing[epoch], 1);
        if (err)
                return err;
        return coll_agree(&j->part, j->k->verify ? dcp_check(j, &j->files, "load") : 0);
}
