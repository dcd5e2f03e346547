/* SPDX-License-Identifier: Apache-2.0 */
/* train_save.c: see train_save.h. */
#include "bench/scenario/train/train_save.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "bench/core/clock.h"
#include "bench/core/job_log.h"
#include "bench/format/format.h"

#include "base/banned.h"

size_t train_saves_planned(const struct keys *k)
{
        return k->train_save == TRAIN_SAVE_OFF ? 0 : k->steps / k->steps_per_save;
}

static bool is_joint(const struct keys *k)
{
        return k->format == FORMAT_DCP;
}

uint64_t train_saves_memory(const struct keys *k, uint64_t state, unsigned ranks,
                            unsigned host_ranks)
{
        if (!train_saves_planned(k))
                return 0;
        return is_joint(k) ? state / ranks + 1 : state / host_ranks + 1;
}

/* The name of this rank's file of a save. */
static void name_file(const struct train_saves *s, size_t i, char out[64])
{
        unsigned long long step = s->v[i].step;
        char file[DCP_FILE_MAX];

        dcp_file_name(file, s->run->coll->rank, 0);
        if (is_joint(s->k))
                snprintf(out, 64, "step-%08llu/%s", step, file);
        else
                snprintf(out, 64, "step-%08llu%s", step, formats[s->k->format].ending);
}

static void name_metadata(const struct train_saves *s, size_t i, char out[64])
{
        snprintf(out, 64, "step-%08llu/" DCP_METADATA, (unsigned long long)s->v[i].step);
}

int train_saves_begin(struct train_saves *s, const struct run *r, const struct keys *k,
                      const struct trainer *t)
{
        struct coll *c = r->coll;
        char why[512] = "out of memory: give a smaller model=";
        int err = 0;

        *s = (struct train_saves){.run = r, .k = k, .trace = t->setup.trace, .metadata = BUF_INIT};
        if (!train_saves_planned(k))
                return 0;
        err = run_name(c, s->dir);
        if (err)
                return err;
        bool writes = is_joint(k) || c->rank == 0;
        s->storage = io_find(k->storage, why, sizeof why);
        s->v = calloc(train_saves_planned(k), sizeof *s->v);
        if (!s->storage || !s->v)
                err = -ENOMEM;
        else if (writes)
                err = train_state_init(&s->state, t,
                                       is_joint(k) ? TRAIN_SHARE_DEALT : TRAIN_SHARE_ALL);
        if (!err && writes && s->state.trained.n) /* more ranks than rows: some have nothing */
                err = s->storage->ops->start(k, k->storage, s->dir, c->rank, &s->io, why,
                                             sizeof why);
        return run_agree(r, err, why);
}

/* --- one save --------------------------------------------------------------------------------- */

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

/* The thread of a save, of each of its files. */
static void *write_file(void *arg)
{
        struct train_saves *s = arg;
        struct train_flight *f = &s->flight;
        struct train_saved *save = &s->v[s->begun - 1];
        struct io_data d = {.size = s->metadata.len, .mem = s->metadata.p};
        struct sample took = {0};
        uint64_t mark = clock_ns();

        f->err = 0;
        if (s->phase == TRAIN_WRITING) {
                f->err = formats[s->k->format].wrap(&s->state.shard);
                d = data_of(s);
        }
        if (!f->err)
                f->err = timed_save_file(s->io, f->name, &d, s->k->fsync, &took);
        save->durable_ns = mark;
        double seconds = clock_lap(&save->durable_ns);
        const bool share = s->phase == TRAIN_WRITING;
        trace_add(s->trace, share ? TRACE_SAVE_WRITE : TRACE_SAVE_METADATA, TRACE_SAVES, mark,
                  save->durable_ns, save->step);
        if (share)
                save->file = seconds;
        atomic_store(&f->done, true);
        return NULL;
}

/* The thread begins to write what the phase asks of this rank. */
static int begin_file(struct train_saves *s, enum train_phase phase)
{
        struct train_flight *f = &s->flight;

        s->phase = phase;
        atomic_store(&f->done, false);
        int err = -pthread_create(&f->thread, NULL, write_file, s);
        f->running = !err;
        if (err)
                run_error(s->run, "save of %s: no thread: %s", f->name, strerror(-err));
        return err;
}

/* What became of it. */
static int end_file(struct train_saves *s)
{
        struct train_flight *f = &s->flight;

        if (!f->running)
                return 0;
        pthread_join(f->thread, NULL);
        f->running = false;
        if (f->err && f->err != -ECANCELED)
                run_error(s->run, "save of %s: %s", f->name,
                          *s->io->why ? s->io->why : strerror(-f->err));
        return f->err;
}

/* All shares are written: rank 0 begins to write which they are. */
static int begin_metadata(struct train_saves *s)
{
        struct coll *c = s->run->coll;
        const struct shard *shard = &s->state.shard;
        CLEANUP(freep) struct dcp_item *mine = calloc(shard->n + 1, sizeof *mine);
        CLEANUP(freep) struct dcp_item *all = NULL;
        char file[DCP_FILE_MAX];
        size_t n = 0, nall = 0;

        dcp_file_name(file, c->rank, 0);
        if (mine)
                n = dcp_items(shard, file, mine);
        int err = coll_agree(c, mine ? 0 : -ENOMEM);
        if (!err)
                err = dcp_gather_items(c, mine, n, &all, &nall);
        buf_release(&s->metadata);
        s->bytes = 0;
        for (size_t i = 0; i < nall; i++)
                s->bytes += all[i].len;
        s->phase = TRAIN_COMMITTING;
        if (!err && c->rank == 0) {
                name_metadata(s, s->begun - 1, s->flight.name);
                err = dcp_metadata(all, nall, &s->metadata);
                if (!err)
                        err = begin_file(s, TRAIN_COMMITTING);
        }
        return coll_agree(c, err);
}

/* The save can be loaded. */
static void finish(struct train_saves *s)
{
        struct coll *c = s->run->coll;
        struct train_saved *save = &s->v[s->begun - 1];

        save->durable = c->rank ? 0 : clock_s(save->durable_ns - save->wanted_ns);
        s->phase = TRAIN_IDLE;
        s->n = s->begun;
        if (s->k->train_save == TRAIN_SAVE_SYNC)
                save->blocked = clock_s(clock_ns() - save->wanted_ns);
        job_log(JOB_LOG_INFO, "save of step %llu: blocked for %.4f s, durable after %.4f s",
                (unsigned long long)save->step, save->blocked, save->durable);
        if (!is_joint(s->k))
                s->bytes = s->state.shard.size;
}

/* Steps have waited for that save since then. */
static void note_blocked(const struct train_saves *s, size_t i, uint64_t since)
{
        trace_add(s->trace, TRACE_SAVE_BLOCKED, TRACE_STEPS, since, clock_ns(), s->v[i].step);
}

int train_saves_advance(struct train_saves *s, bool wait)
{
        struct coll *c = s->run->coll;
        int err = 0;

        while (s->phase != TRAIN_IDLE && !err) {
                double busy = !wait && s->flight.running && !atomic_load(&s->flight.done);
                err = c->ops->max(c, &busy, 1);
                if (err || busy > 0)
                        break;
                uint64_t mark = clock_ns();
                err = coll_agree(c, end_file(s));
                bool commits = s->phase == TRAIN_WRITING && is_joint(s->k);
                if (!err && commits)
                        err = begin_metadata(s);
                if (!wait) { /* the next step stands meanwhile */
                        const uint64_t begin = mark;
                        s->v[s->begun - 1].blocked += clock_lap(&mark);
                        note_blocked(s, s->begun - 1, begin);
                }
                if (!err && !commits)
                        finish(s);
        }
        return err;
}

static int add_save(struct train_saves *s, const struct trainer *t)
{
        struct coll *c = s->run->coll;
        struct train_saved *save = &s->v[s->begun];
        uint64_t mark = clock_ns();

        save->step = t->step;
        save->wanted_ns = mark;
        int err = train_saves_advance(s, true);
        save->waited = clock_lap(&mark);
        const uint64_t begin = mark;
        if (!err && s->io)
                err = train_state_take(&s->state, t);
        if (err)
                return coll_agree(c, err);
        save->copy = clock_lap(&mark);
        trace_add(s->trace, TRACE_SAVE_COPY, TRACE_STEPS, begin, mark, save->step);
        save->blocked = save->waited + save->copy;
        name_file(s, s->begun++, s->flight.name);
        s->phase = TRAIN_WRITING;
        if (s->io)
                err = begin_file(s, TRAIN_WRITING);
        err = coll_agree(c, err);
        return err || s->k->train_save == TRAIN_SAVE_ASYNC ? err : train_saves_advance(s, true);
}

int train_saves_add(struct train_saves *s, const struct trainer *t)
{
        const size_t i = s->begun;
        const int err = add_save(s, t);

        if (!err)
                note_blocked(s, i, s->v[i].wanted_ns);
        return err;
}

/* --- afterwards ------------------------------------------------------------------------------- */

int train_saves_slowest(struct train_saves *s)
{
        struct coll *c = s->run->coll;
        int err = 0;

        for (size_t i = 0; i < s->n && !err; i++) {
                struct train_saved *x = &s->v[i];
                double v[] = {x->waited, x->copy, x->blocked, x->file, x->durable};
                err = c->ops->max(c, v, sizeof v / sizeof v[0]);
                x->waited = v[0];
                x->copy = v[1];
                x->blocked = v[2];
                x->file = v[3];
                x->durable = v[4];
        }
        return err;
}

double train_saves_oldest(const struct train_saves *s, uint64_t begin, uint64_t end)
{
        uint64_t state = begin; /* what could be loaded is of this time */
        double oldest = 0;

        for (size_t i = 0; i <= s->n; i++) {
                bool within = i < s->n && s->v[i].durable_ns < end;
                uint64_t until = within ? s->v[i].durable_ns : end;
                double age = until > state ? clock_s(until - state) : 0;
                oldest = age > oldest ? age : oldest;
                state = i < s->n ? s->v[i].wanted_ns : state;
        }
        return oldest;
}

static int load(struct train_saves *s, const char *name, struct io_data *d)
{
        struct sample ignored;
        int err = timed_load_file(s->io, name, d, &ignored);

        if (err && err != -ECANCELED)
                run_error(s->run, "load of %s: %s", name,
                          err == -EBADMSG ? "the storage gave other bytes than were saved"
                          : *s->io->why   ? s->io->why
                                          : strerror(-err));
        return err;
}

static int check_metadata(void *arg, uint64_t off, const void *p, size_t len)
{
        const struct buf *b = arg;
        return memcmp(b->p + off, p, len) ? -EBADMSG : 0;
}

int train_saves_verify(struct train_saves *s)
{
        struct io_data metadata = {
                .size = s->metadata.len, .check = check_metadata, .arg = &s->metadata};
        struct io_data d = data_of(s);
        char name[64];
        int err = 0;

        if (!s->io || !s->n || !s->k->verify || s->io->ops->flags & IO_EMPTY)
                return coll_agree(s->run->coll, 0);
        name_file(s, s->n - 1, name);
        err = load(s, name, &d);
        if (!err && metadata.size) {
                name_metadata(s, s->n - 1, name);
                err = load(s, name, &metadata);
        }
        return coll_agree(s->run->coll, err);
}

static int remove_file(struct train_saves *s, const char *name)
{
        int err = s->io->ops->remove(s->io, name);
        if (err)
                run_error(s->run, "removing %s: %s", name, s->io->why);
        return err;
}

/* Whether save i is to stay. */
static bool stays(const struct train_saves *s, size_t i)
{
        return s->k->keep && i < s->n;
}

/* First what makes saves such as can be loaded. */
static int remove_metadata(struct train_saves *s)
{
        char name[64];
        int err = 0;

        for (size_t i = 0; i < s->begun && s->io && !err; i++) {
                if (stays(s, i) || !is_joint(s->k) || s->run->coll->rank)
                        continue;
                name_metadata(s, i, name);
                err = remove_file(s, name);
        }
        int all = coll_agree(s->run->coll, err);
        return err ? err : all;
}

int train_saves_end(struct train_saves *s)
{
        char name[64];

        if (!s->run || !train_saves_planned(s->k))
                return 0;
        (void)end_file(s); /* of a save whose ranks did not meet again: it is not whole */
        int err = remove_metadata(s), gone = 0;
        bool removes = !err || err == -ECANCELED; /* after a signal no rank waits for another */
        for (size_t i = 0; i < s->begun && s->io && removes && !gone; i++) {
                if (stays(s, i))
                        continue;
                name_file(s, i, name);
                gone = remove_file(s, name);
        }
        if (s->io)
                s->storage->ops->stop(s->io, !s->k->keep || !s->n);
        train_state_release(&s->state);
        buf_release(&s->metadata);
        free(s->v);
        return err ? err : gone;
}
