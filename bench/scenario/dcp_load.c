/* SPDX-License-Identifier: Apache-2.0 */
/* dcp_load.c: a load by the plan of the save, by as many ranks or by others: each rank reads the
 * files that hold what it needs, whole, and checks every byte of them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "bench/clock.h"
#include "bench/scenario/dcp.h"

#include "base/banned.h"

enum { METADATA_MAX = 256 << 20 };

/* Reads .metadata and finds in it how many ranks saved and how many files each at most. */
static int read_saved(struct dcp_job *j, unsigned *ranks, unsigned *threads)
{
        CLEANUP(freep) char *p = NULL;
        struct sample ignored;
        uint64_t size = 0;
        int err = j->storage->ops->size(j->timed.io, DCP_METADATA, &size);

        if (!err && size > METADATA_MAX)
                err = io_fail(j->timed.io, -EFBIG, DCP_METADATA);
        if (!err && !(p = calloc(1, size + 1)))
                err = -ENOMEM;
        if (err)
                return err;
        struct io_data d = {.size = size, .mem = p};
        err = timed_load_file(j->timed.io, DCP_METADATA, &d, &ignored);
        if (!err && !dcp_saved(p, size, ranks, threads))
                err = io_fail(j->timed.io, -EBADMSG, DCP_METADATA);
        return err;
}

/* Whether what rank `saved` of the save holds and what this rank needs have bytes in common. */
static int overlaps(struct dcp_job *j, const struct shard *mine, unsigned saved, bool *out)
{
        CLEANUP(shard_release) struct shard theirs = {0};
        int err = shard_plan(&j->model, j->plan.optimizer, j->plan.cut, saved, j->plan.ranks,
                             &theirs);
        *out = false;
        for (size_t a = 0, b = 0; !err && a < mine->n && b < theirs.n;) {
                const struct shard_piece *x = &mine->v[a], *y = &theirs.v[b];
                if (x->id == y->id && x->tensor_off < y->tensor_off + y->len &&
                    y->tensor_off < x->tensor_off + x->len) {
                        *out = true;
                        return 0;
                }
                if (x->id <= y->id)
                        a++;
                if (y->id <= x->id)
                        b++;
        }
        return err;
}

/* The files that this rank reads: under DDP all, since each rank has the whole model. */
static int plan_files(struct dcp_job *j)
{
        CLEANUP(shard_release) struct shard mine = {0};
        int err = 0;
        for (unsigned r = j->part.rank; r < j->plan.ranks && j->own && !err; r += j->part.ranks)
                err = dcp_files_plan(&j->files, &j->plan, r);
        if (err || j->own)
                return err;
        err = shard_plan(&j->model, j->plan.optimizer, SHARD_ROWS, j->part.rank, j->part.ranks,
                         &mine);
        for (unsigned r = 0; r < j->plan.ranks && !err; r++) {
                bool wanted = !j->fsdp;
                if (!wanted)
                        err = overlaps(j, &mine, r, &wanted);
                if (!err && wanted)
                        err = dcp_files_plan(&j->files, &j->plan, r);
        }
        return err;
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
        if (!err) {
                err = read_saved(j, &j->plan.ranks, &j->plan.threads);
                if (err)
                        dcp_say(j, "load of " DCP_METADATA, err);
                err = coll_agree(&j->part, err);
        }
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
