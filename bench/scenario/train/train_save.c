/* SPDX-License-Identifier: Apache-2.0 */
/* train_save.c: see train_save.h. */
#include "bench/scenario/train/train_save.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mutex.h"
#include "bench/core/clock.h"
#include "bench/core/job_log.h"
#include "bench/core/progress.h"
#include "bench/format/format.h"
#include "bench/measure/timed.h"

#include "base/banned.h"

int train_saves_count(const struct keys *k, size_t *out, char *why, size_t nwhy)
{
        *out = k->steps / k->steps_per_save;
        if (!*out)
                snprintf(why, nwhy, "steps=%llu with a save every %llu saves nothing: give more",
                         (unsigned long long)k->steps, (unsigned long long)k->steps_per_save);
        else if (*out > TRAIN_SAVES_MAX)
                snprintf(why, nwhy,
                         "steps=%llu with a save every %llu are %llu saves: give a steps_per_save "
                         "with which they are %d at most",
                         (unsigned long long)k->steps, (unsigned long long)k->steps_per_save,
                         (unsigned long long)*out, TRAIN_SAVES_MAX);
        return *out && *out <= TRAIN_SAVES_MAX ? 0 : -EINVAL;
}

static bool is_joint(const struct keys *k)
{
        return k->format == FORMAT_DCP;
}

/* The name of this rank's file of a save. */
static void name_file(const struct train_saves *s, size_t i, char out[64])
{
        const struct coll *c = s->run->coll;
        const char *ending = formats[s->k->format].ending;
        unsigned long long step = s->v[i].step;
        char file[DCP_FILE_MAX];

        dcp_file_name(file, c->rank, 0);
        if (is_joint(s->k))
                snprintf(out, 64, "step-%08llu/%s", step, file);
        else if (s->how.each)
                snprintf(out, 64, "step-%08llu-%05u-of-%05u%s", step, c->rank, c->ranks, ending);
        else
                snprintf(out, 64, "step-%08llu%s", step, ending);
}

static void name_metadata(const struct train_saves *s, size_t i, char out[64])
{
        snprintf(out, 64, "step-%08llu/" DCP_METADATA, (unsigned long long)s->v[i].step);
}

static int begin_storage(struct train_saves *s, char *why, size_t nwhy)
{
        const struct keys *k = s->k;
        const unsigned rank = s->run->coll->rank;
        int err = s->storage->ops->start(k, k->storage, s->dir, rank, &s->io, why, nwhy);

        s->writer.io = s->io;
        s->writer.sync = k->fsync;
        return err || !s->how.stage.shared
                       ? err
                       : train_writer_start(&s->writer, k, s->dir, rank, why, nwhy);
}

int train_saves_begin(struct train_saves *s, const struct run *r, const struct keys *k,
                      const struct train_how *how, size_t planned, struct train_source *from)
{
        char why[512] = "out of memory: give a smaller model=";

        *s = (struct train_saves){.run = r,
                                  .k = k,
                                  .how = *how,
                                  .writer = TRAIN_WRITER_INIT,
                                  .planned = planned,
                                  .metadata = BUF_INIT};
        if (!planned)
                return 0;
        const bool writes = from->shard.n; /* more ranks than rows: some have nothing */
        int err = train_copy_init(&s->copy, from, formats[k->format].wrap, how->stage);
        int named = run_name(r->coll, s->dir);
        if (named)
                return named;
        s->storage = io_find(k->storage, why, sizeof why);
        s->v = calloc(planned, sizeof *s->v);
        if (!err && (!s->storage || !s->v))
                err = -ENOMEM;
        if (!err && writes)
                err = begin_storage(s, why, sizeof why);
        return run_agree(r, err, why);
}

/* --- one save --- */

/* One file of this process. */
static void write_metadata(struct train_saves *s, struct train_wrote *out)
{
        const struct io_data d = {.size = s->metadata.len, .mem = s->metadata.p};
        train_write_here(s->io, s->flight.name, &d, s->k->fsync, out);
}

/* The thread of a save, of each of its files. */
static void *write_file(void *arg)
{
        struct train_saves *s = arg;
        struct train_flight *f = &s->flight;
        struct train_saved *save = &s->v[s->begun - 1];
        const bool share = s->phase == TRAIN_WRITING;
        const uint64_t begin = clock_ns();

        f->wrote = (struct train_wrote){.err = share ? train_copy_finish(&s->copy) : 0};
        if (!f->wrote.err && share)
                train_write(&s->writer, f->name, &s->copy.stage, s->copy.size, &f->wrote);
        else if (!f->wrote.err)
                write_metadata(s, &f->wrote);
        const uint64_t end = f->wrote.err ? clock_ns() : f->wrote.visible_ns;
        save->durable_ns = f->wrote.durable_ns;
        save->visible_ns = end;
        trace_add(s->trace, share ? TRACE_SAVE_WRITE : TRACE_SAVE_METADATA, TRACE_SAVES, begin, end,
                  save->step);
        if (share)
                save->file = clock_s(end - begin);
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

/* What to do about a save that failed so, where the storage's own line has no remedy. */
static const char *remedy(int err)
{
        switch (err) {
        case -ENOSPC:
        case -EDQUOT:
                return ": give a storage with more room, or a larger steps_per_save";
        case -ENOTCONN:
        case -ECONNABORTED:
                return ": the mount has ended: see its log, and mount again";
        default:
                return "";
        }
}

/* Says once when a write stands still: what waits, and who knows why. */
static void say_slow(struct train_saves *s)
{
        char text[512];

        snprintf(text, sizeof text, "save of %s: no byte in %llu s, and steps wait%s",
                 s->flight.name, (unsigned long long)(s->k->progress / 1000),
                 strcmp(s->storage->name, "mount")
                         ? ""
                         : ": the mount tries until its deadline=, and its log says why");
        s->said_slow = true;
        progress_line(text);
        job_log(JOB_LOG_WARNING, "%s", text);
}

/* The steps wait for the thread. With a process that writes, nothing is known of its bytes. */
static void join_writer(struct train_saves *s)
{
        const bool says = s->k->progress && !s->how.stage.shared && !s->run->coll->host_rank;

        for (uint64_t before = progress_done(); says && !s->said_slow; before = progress_done()) {
                const struct timespec t = mutex_deadline(CLOCK_REALTIME, s->k->progress);
                if (!pthread_timedjoin_np(s->flight.thread, NULL, &t))
                        return;
                if (progress_done() == before)
                        say_slow(s);
        }
        pthread_join(s->flight.thread, NULL);
}

/* What became of it. */
static int end_file(struct train_saves *s)
{
        struct train_flight *f = &s->flight;

        if (!f->running)
                return 0;
        join_writer(s);
        f->running = false;
        if (s->phase == TRAIN_WRITING)
                stage_give(&s->copy.stage);
        if (s->how.stage.shared && f->wrote.peak > s->writer_peak)
                s->writer_peak = f->wrote.peak;
        s->failed |= f->wrote.err != 0;
        if (f->wrote.err && f->wrote.err != -ECANCELED)
                run_error(s->run, "save of %s: %s%s", f->name,
                          *f->wrote.why ? f->wrote.why : strerror(-f->wrote.err),
                          remedy(f->wrote.err));
        return f->wrote.err;
}

/* This rank's share of a save that is about to be whole. What a signal removes is to be no part of
 * a save that can be loaded: the share stays, or .metadata goes before it, which another rank
 * writes that may die without removing it. */
static int settle_share(struct train_saves *s)
{
        char metadata[64];

        if (!s->io)
                return 0;
        if (s->k->keep) {
                train_writer_keep(&s->writer, s->flight.name);
                return 0;
        }
        name_metadata(s, s->begun - 1, metadata);
        return s->io->ops->keep_not(s->io, metadata);
}

/* All shares are written: rank 0 begins to write which they are. */
static int begin_metadata(struct train_saves *s)
{
        struct coll *c = s->run->coll;
        const struct shard *shard = &s->copy.file;
        CLEANUP(freep) struct dcp_item *mine = calloc(shard->n + 1, sizeof *mine);
        CLEANUP(freep) struct dcp_item *all = NULL;
        char file[DCP_FILE_MAX];
        size_t n = 0, nall = 0;

        dcp_file_name(file, c->rank, 0);
        if (mine)
                n = dcp_items(shard, file, mine);
        int err = coll_agree(c, mine ? settle_share(s) : -ENOMEM);
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
        struct train_saved *save = &s->v[s->begun - 1];

        if (s->io) {
                save->durable = clock_s(save->durable_ns - save->wanted_ns);
                save->visible = clock_s(save->visible_ns - save->wanted_ns);
        }
        s->phase = TRAIN_IDLE;
        s->n = s->begun;
        if (s->io && s->k->keep)
                train_writer_keep(&s->writer, s->flight.name);
        if (s->how.sync)
                save->blocked = clock_s(clock_ns() - save->wanted_ns);
        job_log(JOB_LOG_INFO, "save of step %llu: blocked for %.4f s, there after %.4f s",
                (unsigned long long)save->step, save->blocked, save->visible);
        if (!is_joint(s->k))
                s->bytes = s->copy.size;
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

/* Whether the last save is compared with what it was to hold. */
static bool verifies(const struct train_saves *s)
{
        return s->io && s->k->verify && !(s->io->ops->flags & IO_EMPTY);
}

/* Checksums of what the last save is to hold. They are in no clock: since they are made behind the
 * wait, no save before gains time by them, and what began at *mark or before begins later. */
static int note(struct train_saves *s, struct train_saved *save, uint64_t *mark)
{
        const uint64_t begin = *mark;
        int err = verifies(s) ? train_copy_note(&s->copy, save->step) : 0;

        if (err)
                run_error(s->run, "checksums of step %llu: %s", (unsigned long long)save->step,
                          strerror(-err));
        err = coll_agree(s->run->coll, err);
        s->noted += clock_lap(mark);
        save->wanted_ns += *mark - begin;
        return err;
}

static int add_save(struct train_saves *s, uint64_t step)
{
        struct coll *c = s->run->coll;
        struct train_saved *save = &s->v[s->begun];
        uint64_t mark = clock_ns();

        save->step = step;
        save->wanted_ns = mark;
        int err = train_saves_advance(s, true);
        save->waited = clock_lap(&mark);
        if (!err && s->begun + 1 == s->planned)
                err = note(s, save, &mark);
        if (err)
                return err;
        const uint64_t begin = mark;
        if (s->io) {
                err = train_copy_take(&s->copy, step);
                if (err)
                        run_error(s->run, "staging of %zu bytes: %s%s", s->copy.stage.size,
                                  strerror(-err),
                                  s->how.stage.pins
                                          ? ": give async.staging=pageable, or raise ulimit -l"
                                          : "");
        }
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
        return err || !s->how.sync ? err : train_saves_advance(s, true);
}

int train_saves_add(struct train_saves *s, uint64_t step)
{
        const size_t i = s->begun;
        int err = add_save(s, step);

        if (!err)
                note_blocked(s, i, s->v[i].wanted_ns);
        return err;
}

/* --- afterwards --- */

int train_saves_slowest(struct train_saves *s)
{
        struct coll *c = s->run->coll;
        int err = 0;

        for (size_t i = 0; i < s->n && !err; i++) {
                struct train_saved *x = &s->v[i];
                double v[] = {x->waited, x->copy, x->blocked, x->file, x->durable, x->visible};
                err = c->ops->max(c, v, sizeof v / sizeof v[0]);
                x->waited = v[0];
                x->copy = v[1];
                x->blocked = v[2];
                x->file = v[3];
                x->durable = v[4];
                x->visible = v[5];
        }
        return err;
}

double train_saves_oldest(const struct train_saves *s, uint64_t begin, uint64_t end)
{
        uint64_t state = begin; /* what could be loaded is of this time */
        double oldest = 0;

        for (size_t i = 0; i <= s->n; i++) {
                bool within = i < s->n && s->v[i].visible_ns < end;
                uint64_t until = within ? s->v[i].visible_ns : end;
                double age = until > state ? clock_s(until - state) : 0;
                oldest = age > oldest ? age : oldest;
                state = i < s->n ? s->v[i].wanted_ns : state;
        }
        return oldest;
}

/* `why` is of who refuses the bytes, or "". */
static int loaded(struct train_saves *s, const char *name, int err, const char *why)
{
        if (err && err != -ECANCELED)
                run_error(s->run, "load of %s: %s", name,
                          *why              ? why
                          : err == -EBADMSG ? "the storage gave other bytes than were saved"
                          : *s->io->why     ? s->io->why
                                            : strerror(-err));
        return err;
}

static int load_share(struct train_saves *s)
{
        struct sample ignored;
        char name[64], why[300] = "";
        int err = train_copy_clear(&s->copy);
        struct io_data d = {.size = s->copy.size, .mem = s->copy.stage.p};

        name_file(s, s->n - 1, name);
        if (!err)
                err = timed_load_file(s->io, name, &d, &ignored);
        if (!err || err == -EBADMSG) { /* which tensor it is that a checksum refuses */
                const int wrong = train_copy_check(&s->copy, why, sizeof why);
                err = err ? err : wrong;
        }
        if (!err)
                err = timed_check_size(s->io, name, s->copy.size);
        stage_give(&s->copy.stage);
        return loaded(s, name, err, why);
}

static int check_metadata(void *arg, uint64_t off, const void *p, size_t len)
{
        const struct buf *b = arg;
        return memcmp(b->p + off, p, len) ? -EBADMSG : 0;
}

static int load_metadata(struct train_saves *s)
{
        struct io_data d = {.size = s->metadata.len, .check = check_metadata, .arg = &s->metadata};
        struct sample ignored;
        char name[64];

        name_metadata(s, s->n - 1, name);
        int err = timed_load_file(s->io, name, &d, &ignored);
        if (!err)
                err = timed_check_size(s->io, name, d.size);
        return loaded(s, name, err, "");
}

int train_saves_verify(struct train_saves *s)
{
        int err = 0;

        if (s->run && s->n == s->planned && s->n && verifies(s)) {
                err = load_share(s);
                if (!err && s->metadata.len)
                        err = load_metadata(s);
        }
        return coll_agree(s->run->coll, err);
}

static int remove_file(struct train_saves *s, const char *name)
{
        int err = s->io->ops->remove(s->io, name);
        if (err && !(s->failed && err == -ENOTCONN)) /* that a mount has ended is told */
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

        if (!s->run || !s->planned)
                return 0;
        (void)end_file(s); /* of a save whose ranks did not meet again: it is not whole */
        int err = remove_metadata(s), gone = 0;
        bool removes = !err || err == -ECANCELED; /* after a signal no rank waits for another */
        for (size_t i = 0; i < s->begun && s->io && removes && !gone; i++) {
                if (stays(s, i))
                        continue;
                if (err && is_joint(s->k)) { /* a rank 0 that died has left it */
                        name_metadata(s, i, name);
                        (void)s->io->ops->remove(s->io, name);
                }
                name_file(s, i, name);
                gone = remove_file(s, name);
        }
        train_writer_stop(&s->writer);
        if (s->io)
                s->storage->ops->stop(s->io, !s->k->keep || !s->n);
        train_copy_release(&s->copy);
        buf_release(&s->metadata);
        free(s->v);
        return err ? err : gone;
}
