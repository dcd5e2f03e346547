/* SPDX-License-Identifier: Apache-2.0 */
/* dcp_files.c: see dcp_files.h. */
#include "bench/scenario/dcp/dcp_files.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "bench/measure/timed.h"

#include "base/banned.h"

static int plan_file(struct dcp_file *f, const struct shard *of_rank, const struct dcp_plan *p,
                     unsigned rank, unsigned i)
{
        int err = shard_deal(of_rank, i, p->threads, &f->payload.shard);

        dcp_file_name(f->name, rank, i);
        if (!err)
                err = dcp_wrap(&f->payload.shard);
        if (!err)
                payload_init(&f->payload, p->verify);
        f->whole = f->payload.data.size;
        return err;
}

/* What of the model one rank writes. */
static int plan_rank(const struct dcp_plan *p, unsigned rank, struct shard *out)
{
        CLEANUP(shard_release) struct shard of_group = {0};
        if (p->cut == SHARD_WHOLE || p->group == p->ranks)
                return shard_plan(p->model, p->optimizer, p->cut, rank, p->ranks, out);
        int err = shard_plan(p->model, p->optimizer, p->cut, rank % p->group, p->group, &of_group);
        return err ? err : shard_deal(&of_group, rank / p->group, p->ranks / p->group, out);
}

int dcp_files_plan(struct dcp_files *f, const struct dcp_plan *p, unsigned rank)
{
        CLEANUP(shard_release) struct shard of_rank = {0};
        struct dcp_file **v = realloc(f->v, (f->n + p->threads) * sizeof *v);

        if (!v)
                return -ENOMEM;
        f->v = v;
        int err = plan_rank(p, rank, &of_rank);
        of_rank.seed = p->seed;
        for (unsigned i = 0; i < p->threads && !err; i++) {
                struct dcp_file *file = calloc(1, sizeof *file);
                if (!file)
                        return -ENOMEM;
                v[f->n++] = file;
                err = plan_file(file, &of_rank, p, rank, i);
                if (!err && !file->payload.shard.n) { /* fewer tensors than files */
                        free(file);
                        f->n--;
                }
        }
        return err;
}

void dcp_files_release(struct dcp_files *f)
{
        for (size_t i = 0; i < f->n; i++) {
                payload_release(&f->v[i]->payload);
                free(f->v[i]->ranges);
                free(f->v[i]);
        }
        free(f->v);
        *f = (struct dcp_files){0};
}

uint64_t dcp_files_bytes(const struct dcp_files *f)
{
        uint64_t sum = 0;
        for (size_t i = 0; i < f->n; i++)
                sum += f->v[i]->payload.data.size;
        return sum;
}

int dcp_files_start(struct dcp_files *f, const struct keys *k, const struct io_storage *storage,
                    const char *dir, unsigned rank, char *why, size_t nwhy)
{
        int err = 0;
        for (size_t i = 0; i < f->n && !err; i++)
                err = storage->ops->start(k, storage->name, dir, rank, &f->v[i]->io, why, nwhy);
        return err;
}

void dcp_files_stop(struct dcp_files *f, bool clean)
{
        for (size_t i = 0; i < f->n; i++) {
                if (f->v[i]->io)
                        f->v[i]->io->ops->stop(f->v[i]->io, clean);
                f->v[i]->io = NULL;
        }
}

static void *work_on_file(void *arg)
{
        struct dcp_file *f = arg;
        f->err = f->load ? timed_load_file(f->io, f->name, &f->payload.data, &f->sample)
                         : timed_save_file(f->io, f->name, &f->payload.data, f->sync, &f->sample);
        return NULL;
}

static void longest(double *to, double v)
{
        if (v > *to)
                *to = v;
}

int dcp_files_work(struct dcp_files *f, bool load, bool sync, struct sample *out)
{
        size_t begun = 0;
        int err = 0;

        for (size_t i = 0; i < f->n; i++) {
                f->v[i]->load = load;
                f->v[i]->sync = sync;
                f->v[i]->err = 0;
                f->v[i]->sample = (struct sample){0};
        }
        for (; begun + 1 < f->n; begun++) {
                err = -pthread_create(&f->v[begun]->thread, NULL, work_on_file, f->v[begun]);
                if (err)
                        break;
        }
        if (!err && f->n)
                work_on_file(f->v[f->n - 1]);
        for (size_t i = 0; i < begun; i++)
                pthread_join(f->v[i]->thread, NULL);
        for (size_t i = 0; i < f->n; i++) {
                const struct sample *s = &f->v[i]->sample;
                longest(&out->open, s->open);
                longest(&out->transfer, s->transfer);
                longest(&out->sync, s->sync);
                longest(&out->close, s->close);
                longest(&out->total, s->total);
                out->bytes += f->v[i]->payload.data.size;
                if (!err)
                        err = f->v[i]->err;
        }
        return err;
}
