/* SPDX-License-Identifier: Apache-2.0 */
/* train_save.h: the saves of a training, one in flight at a time.
 *
 * A save copies the state (train_copy.h), and a thread puts the format around the copy and writes
 * it, or has a process write it: while the steps go on, or while they wait. With format=dcp each
 * rank writes its share, and when all have, rank 0 writes .metadata: only that makes the save one
 * that can be loaded. With the other formats rank 0 writes one file, or each rank its own.
 *
 * Ranks speak to each other from the main thread alone (coll.h), so that a save moves on where it
 * calls train_saves_advance(), once after each step. */
#ifndef CKPTFS_BENCH_SCENARIO_TRAIN_SAVE_H
#define CKPTFS_BENCH_SCENARIO_TRAIN_SAVE_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/buf.h"
#include "bench/core/run.h"
#include "bench/data/run_name.h"
#include "bench/scenario/train/train_copy.h"
#include "bench/scenario/train/train_writer.h"
#include "bench/train/trace.h"

enum { TRAIN_SAVES_MAX = 1000 /* a file of each is known to who cleans up at a signal */ };

/* One save, seconds in this rank: the wait for the save before, the copy, all that the steps
 * waited, the file with its format; and from when the step wanted it until the storage had durably
 * what this rank writes, and until it had its name: in rank 0, until it could be loaded. */
struct train_saved {
        uint64_t step;
        uint64_t wanted_ns, durable_ns, visible_ns;
        double waited, copy, blocked, file, durable, visible;
};

struct train_how {
        bool sync; /* steps wait for each save */
        bool each; /* where no format makes files one save, each rank writes a file of its own */
        struct stage_kind stage;
};

enum train_phase { TRAIN_IDLE, TRAIN_WRITING, TRAIN_COMMITTING };

struct train_saves {
        const struct run *run;
        const struct keys *k;
        const struct io_storage *storage;
        struct io *io; /* NULL: this rank writes nothing */
        char dir[FRESH_NAME_MAX];
        struct train_how how;
        struct train_copy copy;
        struct train_writer writer;
        struct trace *trace; /* borrowed; NULL: none */
        struct train_saved *v;
        size_t planned;
        size_t n, begun; /* saves that are whole, and all */
        uint64_t bytes;  /* of a save, of all ranks' files */
        struct buf metadata;
        enum train_phase phase; /* the same in all ranks */
        struct train_flight {
                pthread_t thread;
                bool running;
                atomic_bool done;
                char name[64]; /* of the file that is written */
                struct train_wrote wrote;
        } flight;
        bool failed;        /* this rank could not write a file */
        bool said_slow;     /* that a write stands still */
        double noted;       /* seconds for checksums of what is verified, which no save costs */
        double writer_peak; /* bytes of memory of the process that writes; 0: there is none */
};

/* Whether a job may make so many, 0 or -EINVAL with one line in `why`. */
int train_saves_count(const struct keys *k, size_t *out, char *why, size_t nwhy);

/* Collective, all that return an error: 0, or the same negative errno in all ranks after
 * run_error(). */
/* Takes over `from`, which is empty where this rank writes nothing. */
int train_saves_begin(struct train_saves *s, const struct run *r, const struct keys *k,
                      const struct train_how *how, size_t planned, struct train_source *from);
/* Of the state after so many steps. */
int train_saves_add(struct train_saves *s, uint64_t step);
/* The save in flight goes on if it can; with `wait`, to its end. */
int train_saves_advance(struct train_saves *s, bool wait);
/* Each figure of each save becomes that of its slowest rank. */
int train_saves_slowest(struct train_saves *s);
/* Seconds that the newest save which could be loaded was old at most, from `begin` to `end`; before
 * the first, those since the begin. Of rank 0. */
double train_saves_oldest(const struct train_saves *s, uint64_t begin, uint64_t end);
/* Loads the last of the planned saves and compares it with what was to be saved. */
int train_saves_verify(struct train_saves *s);
/* Waits for what this rank is writing, and removes its files unless they are to be kept; those of a
 * save that is not whole always go. Collective. */
int train_saves_end(struct train_saves *s);

#endif
