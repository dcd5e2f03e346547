/* SPDX-License-Identifier: Apache-2.0 */
/* trace.c: see trace.h. Ranks send their events one after the other, so that no rank has those of
 * more than one other. */
#include "bench/train/trace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "bench/core/clock.h"

#include "base/banned.h"

static const struct {
        const char *name, *category, *number;
} kinds[] = {
        [TRACE_STEP] = {"step", "step", "step"},
        [TRACE_FORWARD] = {"forward", "step", "step"},
        [TRACE_BACKWARD] = {"backward", "step", "step"},
        [TRACE_REDUCE] = {"reduce", "step", "step"},
        [TRACE_BUCKET] = {"all-reduce", "collective", "bucket"},
        [TRACE_OPTIMIZER] = {"optimizer", "step", "step"},
        [TRACE_ZERO_GRAD] = {"zero_grad", "step", "step"},
        [TRACE_GATHER] = {"all-gather", "collective", "unit"},
        [TRACE_SCATTER] = {"reduce-scatter", "collective", "unit"},
        [TRACE_CHUNK_FORWARD] = {"forward", "micro-batch", "micro_batch"},
        [TRACE_CHUNK_AGAIN] = {"forward again", "micro-batch", "micro_batch"},
        [TRACE_CHUNK_BACKWARD] = {"backward", "micro-batch", "micro_batch"},
        [TRACE_SAVE_BLOCKED] = {"save blocked", "save", "step"},
        [TRACE_SAVE_COPY] = {"save copy", "save", "step"},
        [TRACE_SAVE_WRITE] = {"save write", "save", "step"},
        [TRACE_SAVE_METADATA] = {"save .metadata", "save", "step"},
};

static const char *const tracks_of_ranks[TRACE_STAGE] = {
        [TRACE_STEPS] = "steps", [TRACE_SAVES] = "saves", [TRACE_COLLECTIVES] = "collectives"};

int trace_init(struct trace *t)
{
        *t = (struct trace){.v = calloc(TRACE_EVENTS_MAX, sizeof *t->v)};
        return t->v ? 0 : -ENOMEM;
}

void trace_release(struct trace *t)
{
        freep(&t->v);
}

void trace_begin(struct trace *t)
{
        t->begin_ns = clock_ns();
}

void trace_add(struct trace *t, enum trace_what what, uint32_t track, uint64_t begin_ns,
               uint64_t end_ns, uint64_t number)
{
        if (!t || !t->begin_ns)
                return;
        size_t i = atomic_fetch_add(&t->n, 1);
        if (i < TRACE_EVENTS_MAX)
                t->v[i] = (struct trace_event){.begin_ns = begin_ns,
                                               .end_ns = end_ns,
                                               .what = what,
                                               .track = track,
                                               .number = (uint32_t)number};
}

static void write_name(FILE *to, uint32_t track)
{
        const uint32_t of_device = track - TRACE_DEVICE;

        if (track < TRACE_STAGE)
                fprintf(to, "%s", tracks_of_ranks[track]);
        else if (track < TRACE_DEVICE)
                fprintf(to, "stage %" PRIu32, track - TRACE_STAGE);
        else
                fprintf(to, "device %" PRIu32 " %s", of_device / 2 + 1,
                        tracks_of_ranks[of_device % 2 ? TRACE_COLLECTIVES : TRACE_STEPS]);
}

/* The names of a rank and of those tracks. */
static void write_names(FILE *to, unsigned rank, const bool *tracks)
{
        fprintf(to,
                "%s{\"name\": \"process_name\", \"ph\": \"M\", \"pid\": %u, \"tid\": 0, \"args\": "
                "{\"name\": \"rank %u\"}}",
                rank ? ",\n" : "", rank, rank);
        for (uint32_t i = 0; i < TRACE_TRACKS; i++) {
                if (!tracks[i])
                        continue;
                fprintf(to,
                        ",\n{\"name\": \"thread_name\", \"ph\": \"M\", \"pid\": %u, \"tid\": "
                        "%" PRIu32 ", \"args\": {\"name\": \"",
                        rank, i);
                write_name(to, i);
                fputs("\"}}", to);
        }
}

static void write_event(FILE *to, unsigned rank, const struct trace_event *e, uint64_t begin_ns)
{
        const double from = (double)(int64_t)(e->begin_ns - begin_ns) / 1e3;

        fprintf(to,
                ",\n{\"name\": \"%s\", \"cat\": \"%s\", \"ph\": \"X\", \"ts\": %.3f, \"dur\": "
                "%.3f, \"pid\": %u, \"tid\": %" PRIu32 ", \"args\": {\"%s\": %" PRIu32 "}}",
                kinds[e->what].name, kinds[e->what].category, from,
                (double)(e->end_ns - e->begin_ns) / 1e3, rank, e->track, kinds[e->what].number,
                e->number);
}

static void write_rank(FILE *to, unsigned rank, const struct trace_event *v, uint64_t n,
                       uint64_t begin_ns)
{
        bool tracks[TRACE_TRACKS] = {
                [TRACE_STEPS] = true, [TRACE_SAVES] = true, [TRACE_COLLECTIVES] = true};

        for (uint64_t i = 0; i < n; i++)
                tracks[v[i].track] = true;
        write_names(to, rank, tracks);
        for (uint64_t i = 0; i < n; i++)
                write_event(to, rank, &v[i], begin_ns);
}

int trace_write(struct trace *t, struct coll *c, const char *path, size_t *lost)
{
        CLEANUP(freep) struct trace_event *v = calloc(TRACE_EVENTS_MAX, sizeof *v);
        FILE *to = c->rank ? NULL : fopen(path, "we");
        int own = v ? c->rank || to ? 0 : -errno : -ENOMEM;
        int err = coll_agree(c, own);

        *lost = 0;
        if (to)
                fputs("[\n", to);
        for (unsigned r = 0; r < c->ranks && !err; r++) {
                const size_t n = atomic_load(&t->n);
                uint64_t head[] = {n < TRACE_EVENTS_MAX ? n : TRACE_EVENTS_MAX, n, t->begin_ns};
                const bool mine = r == c->rank;
                err = c->ops->share(c, r, head, sizeof head);
                if (!err)
                        err = c->ops->share(c, r, mine ? t->v : v, head[0] * sizeof *v);
                if (!err && to)
                        write_rank(to, r, mine ? t->v : v, head[0], head[2]);
                *lost += head[1] - head[0];
        }
        if (to) {
                fputs("\n]\n", to);
                own = ferror(to) ? -EIO : 0;
                own = fclose(to) && !own ? -errno : own;
        }
        return err ? err : coll_agree(c, own);
}
