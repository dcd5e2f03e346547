/* SPDX-License-Identifier: Apache-2.0 */
/* train_save.c: see train_save.h. */
#include "bench/scenario/train/train_save.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "bench/core/clock.h"
#include "bench/core/job_log.h"
#include "bench/format/format.h"
#include "bench/format/read.h"

#include "base/banned.h"

size_t train_saves_planned(const struct keys *k)
{
        return k->train_save == TRAIN_SAVE_SYNC ? k->steps / k->steps_per_save : 0;
}

static void file_name(const struct train_saves *s, size_t i, char out[64])
{
        snprintf(out, 64, "step-%08llu%s", (unsigned long long)s->v[i].step,
                 formats[s->k->format].ending);
}

/* --- going on --------------------------------------------------------------------------------- */

struct resume {
        const struct keys *k;
        struct io *io;
        struct found found;
};

static int read_ranges(void *arg, const struct io_range *v, size_t n, void *dst)
{
        struct resume *r = arg;
        struct io_data d = {.ranges = v, .nranges = n, .mem = dst};
        struct sample ignored;

        for (size_t i = 0; i < n; i++)
                d.size += v[i].len;
        return d.size ? timed_load_file(r->io, r->k->resume, &d, &ignored) : 0;
}

static size_t find(const struct found *f, const struct shard_piece *want)
{
        size_t i = 0;
        while (i < f->shard.n && strcmp(f->shard.v[i].name, want->name) != 0)
                i++;
        return i;
}

/* One tensor of the state, to its place. */
static int read_tensor(struct resume *r, const struct shard_piece *want, char *to, char *why,
                       size_t nwhy)
{
        size_t i = find(&r->found, want);

        if (i == r->found.shard.n)
                return refuse(why, nwhy, "it has no tensor %s", want->name);
        const struct shard_piece *p = &r->found.shard.v[i];
        if (p->elem != want->elem || p->len != want->len)
                return refuse(why, nwhy, "%s has %llu bytes and the model wants %llu in fp32",
                              want->name, (unsigned long long)p->len,
                              (unsigned long long)want->len);
        int err = read_ranges(r, &r->found.at[i], 1, to);
        if (!err && r->found.has_crc && crc32(0, to, want->len) != r->found.crc[i])
                return refuse(why, nwhy, "%s differs from its checksum", want->name);
        return err;
}

static int read_state(struct resume *r, struct train_state *state, char *why, size_t nwhy)
{
        struct source s = {.read = read_ranges, .arg = r};
        int err = r->io->ops->size(r->io, r->k->resume, &s.size);

        if (!err)
                err = any_read(&s, &r->found, why, nwhy);
        for (size_t i = 0; i < state->shard.n && !err; i++)
                err = read_tensor(r, &state->shard.v[i],
                                  (char *)state->host + state->shard.v[i].off, why, nwhy);
        return err;
}

int train_resume(const struct run *r, const struct keys *k, struct trainer *t)
{
        CLEANUP(train_state_release) struct train_state state = {0};
        struct resume from = {.k = k};
        char why[512] = "", text[700];

        const struct io_storage *storage = io_find(k->storage, why, sizeof why);
        int err = storage ? train_state_init(&state, t) : -EINVAL;
        if (!err)
                err = storage->ops->start(k, k->storage, "", r->coll->rank, &from.io, why,
                                          sizeof why);
        if (!err)
                err = read_state(&from, &state, why, sizeof why);
        if (!err && (err = train_state_put(&state, t)) == -EBADMSG)
                snprintf(why, sizeof why, "its step is no number of steps");
        snprintf(text, sizeof text,
                 "resume=%s: %s: name a file that train has saved from this model", k->resume,
                 *why                       ? why
                 : from.io && *from.io->why ? from.io->why
                                            : strerror(-err));
        found_release(&from.found);
        if (from.io)
                storage->ops->stop(from.io, false);
        return run_agree(r, err, text);
}

/* --- saves ------------------------------------------------------------------------------------ */

int train_saves_begin(struct train_saves *s, const struct run *r, const struct keys *k,
                      const struct trainer *t)
{
        struct coll *c = r->coll;
        char why[512] = "out of memory: free some";
        int err = 0;

        *s = (struct train_saves){.run = r, .k = k};
        if (!train_saves_planned(k))
                return 0;
        err = run_name(c, s->dir);
        if (err)
                return err;
        s->storage = io_find(k->storage, why, sizeof why);
        s->v = calloc(train_saves_planned(k), sizeof *s->v);
        if (!s->storage || !s->v)
                err = -ENOMEM;
        else if (c->rank == 0)
                err = train_state_init(&s->state, t);
        if (!err && c->rank == 0)
                err = s->storage->ops->start(k, k->storage, s->dir, 0, &s->io, why, sizeof why);
        return run_agree(r, err, why);
}

static int fill(void *arg, uint64_t off, void *dst, size_t len)
{
        const struct train_state *state = arg;
        shard_fill(&state->shard, off, dst, len);
        return 0;
}

static int check(void *arg, uint64_t off, const void *p, size_t len)
{
        const struct train_state *state = arg;
        struct shard_fault fault;
        return shard_check(&state->shard, off, p, len, &fault);
}

static struct io_data data_of(struct train_saves *s)
{
        return (struct io_data){
                .size = s->state.shard.size, .fill = fill, .check = check, .arg = &s->state};
}

/* In rank 0. */
static int write_state(struct train_saves *s, const struct trainer *t, struct train_saved *save)
{
        struct sample took = {0};
        char name[64];
        uint64_t mark = clock_ns();

        int err = train_state_take(&s->state, t);
        if (!err)
                err = formats[s->k->format].wrap(&s->state.shard);
        save->stage = clock_lap(&mark);
        file_name(s, s->n, name);
        struct io_data d = data_of(s);
        if (!err)
                err = timed_save_file(s->io, name, &d, s->k->fsync, &took);
        save->file = clock_lap(&mark);
        if (err && err != -ECANCELED)
                run_error(s->run, "save of %s: %s", name,
                          *s->io->why ? s->io->why : strerror(-err));
        else if (!err)
                job_log(JOB_LOG_INFO, "save of %s: %.4f s, of which copied and wrapped in %.4f s",
                        name, save->stage + save->file, save->stage);
        return err;
}

int train_saves_add(struct train_saves *s, const struct trainer *t)
{
        struct train_saved *save = &s->v[s->n];
        uint64_t begin = clock_ns();

        save->step = t->step;
        int err = coll_agree(s->run->coll, s->run->coll->rank ? 0 : write_state(s, t, save));
        save->total = clock_s(clock_ns() - begin);
        s->n += !err;
        return err;
}

int train_saves_verify(struct train_saves *s)
{
        struct sample ignored;
        char name[64];
        int err = 0;

        if (!s->io || !s->n || !s->k->verify || s->io->ops->flags & IO_EMPTY)
                return coll_agree(s->run->coll, 0);
        file_name(s, s->n - 1, name);
        struct io_data d = data_of(s);
        err = timed_load_file(s->io, name, &d, &ignored);
        if (err && err != -ECANCELED)
                run_error(s->run, "load of %s: %s", name,
                          err == -EBADMSG ? "the storage gave other bytes than were saved"
                          : *s->io->why   ? s->io->why
                                          : strerror(-err));
        return coll_agree(s->run->coll, err);
}

int train_saves_end(struct train_saves *s)
{
        int err = 0;

        for (size_t i = 0; i < s->n && s->io && !s->k->keep; i++) {
                char name[64];
                file_name(s, i, name);
                int gone = s->io->ops->remove(s->io, name);
                if (gone && !err)
                        run_error(s->run, "removing %s: %s", name, s->io->why);
                err = err ? err : gone;
        }
        if (s->io)
                s->storage->ops->stop(s->io, !s->k->keep);
        train_state_release(&s->state);
        free(s->v);
        return err;
}
