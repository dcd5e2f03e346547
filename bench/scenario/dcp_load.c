/* SPDX-License-Identifier: Apache-2.0 */
/* dcp_load.c: a load by the plan of the save, by as many ranks or by others: each rank reads
 * what it needs and checks every byte of it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "bench/clock.h"
#include "bench/scenario/dcp.h"

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

/* The whole files of the ranks of the save that this rank stands for. */
static int plan_own(struct dcp_job *j, const char *p, size_t n)
{
        int err = 0;
        if (!dcp_saved(p, n, &j->plan.ranks, &j->plan.threads))
                err = io_fail(j->timed.io, -EBADMSG, DCP_METADATA);
        for (unsigned r = j->part.rank; r < j->plan.ranks && !err; r += j->part.ranks)
                err = dcp_files_plan(&j->files, &j->plan, r);
        return err;
}

/* The files that this rank reads and what of them: under DDP it has the whole model. */
static int plan_files(struct dcp_job *j)
{
        CLEANUP(freep) char *p = NULL;
        CLEANUP(freep) struct dcp_item *items = NULL;
        size_t count;
        uint64_t n = 0;
        char why[300] = "";

        int err = read_metadata(j, &p, &n);
        if (!err && j->own)
                err = plan_own(j, p, n);
        if (err)
                dcp_say(j, "load of " DCP_METADATA, err);
        if (err || j->own)
                return err;
        err = dcp_read(p, n, &items, &count, why, sizeof why);
        if (err)
                run_error(j->run, "%s/" DCP_METADATA " cannot be loaded: %s", j->dir,
                          *why ? why : strerror(-err));
        return err ? err : dcp_plan_load(j, items, count);
}

static int load_files(void *arg, struct sample *out)
{
        struct dcp_job *j = arg;
        uint64_t begin = clock_ns();
        int err = dcp_files_work(&j->files, true, false, out);
        out->total = clock_s(clock_ns() - begin);
        if (err)
                dcp_say(j, "load", err);
        return err;
}

static void no_line(void *arg, const char *what, int err)
{
        dcp_say(arg, what, err);
}

/* Before the clock: pages of the files go, and held memory is overwritten. */
static int make_ready(struct dcp_job *j)
{
        double most = (double)j->files.n;
        int err = j->part.ops->max(&j->part, &most, 1);

        for (size_t i = 0; i < (size_t)most && !err; i++) {
                /* collective: a rank with fewer files names .metadata instead */
                struct dcp_file *f = i < j->files.n ? j->files.v[i] : NULL;
                struct timed t = j->timed;
                t.io = f ? f->io : t.io;
                err = timed_drop(&t, f ? f->name : DCP_METADATA, j->k->drop, &j->dropped, no_line,
                                 j);
                if (!err)
                        err = coll_agree(&j->part,
                                         f && j->k->verify ? payload_wipe(&f->payload) : 0);
        }
        return err;
}

static int check_files(struct dcp_job *j)
{
        int err = 0;
        for (size_t i = 0; i < j->files.n && j->k->verify && !err; i++) {
                err = payload_check(&j->files.v[i]->payload);
                if (err) {
                        j->files.v[i]->err = err;
                        dcp_say(j, "load", err);
                }
        }
        return coll_agree(&j->part, err);
}

int dcp_load_epoch(struct dcp_job *j, size_t epoch)
{
        snprintf(j->dir, sizeof j->dir, "%.*s", (int)strcspn(j->k->suffix, "/"), j->k->suffix);
        j->plan.seed = dcp_seed(j->k->seed, j->dir);
        int err = dcp_start(j); /* one of its own, for .metadata */
        if (!err)
                err = coll_agree(&j->part, plan_files(j));
        if (!err)
                err = dcp_hold(j);
        if (!err)
                err = dcp_start(j);
        if (!err)
                err = make_ready(j);
        if (err)
                return err;
        uint64_t begin = clock_ns();
        err = timed_work(&j->timed, load_files, j, &j->samples[epoch]);
        j->processing[epoch] = j->own_s[epoch] = clock_s(clock_ns() - begin);
        if (!err)
                err = j->part.ops->max(&j->part, &j->processing[epoch], 1);
        return err ? err : check_files(j);
}
