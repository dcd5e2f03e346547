/* SPDX-License-Identifier: Apache-2.0 */
/* train_writer.h: who writes what was staged, one save at a time, beside the steps: this process,
 * or one of its own that shares the staging memory. Its functions are called from one thread at a
 * time. */
#ifndef CKPTFS_BENCH_SCENARIO_TRAIN_WRITER_H
#define CKPTFS_BENCH_SCENARIO_TRAIN_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/core/child.h"
#include "bench/core/io.h"
#include "bench/core/keys.h"
#include "bench/scenario/train/train_stage.h"

/* How a save went. */
struct train_wrote {
        int err;
        char why[512];
        uint64_t durable_ns, visible_ns; /* on the monotonic clock of this machine */
        double peak;                     /* bytes of memory of the writing process */
};

struct train_writer {
        struct io *io;      /* of this process */
        struct child child; /* pid 0: none, this process writes */
        int sock;           /* to the child; -1: none */
        bool sync;          /* files are durable before they have their names */
};
#define TRAIN_WRITER_INIT                                                                          \
        {                                                                                          \
                .child = {.out = -1}, .sock = -1                                                   \
        }

/* Starts a process that writes below `dir`; without it the writer is io itself. 0 or a negative
 * errno with one line in `why`. Blocks. */
int train_writer_start(struct train_writer *w, const struct keys *k, const char *dir, unsigned rank,
                       char *why, size_t nwhy);
void train_writer_stop(struct train_writer *w);

/* Writes a file in this process; blocks. */
void train_write_here(struct io *io, const char *name, const struct io_data *d, bool sync,
                      struct train_wrote *out);

/* Writes `size` bytes of the stage to a file; blocks. */
void train_write(struct train_writer *w, const char *name, const struct stage *s, uint64_t size,
                 struct train_wrote *out);

/* A file is to stay, even when a signal comes; blocks for a moment. */
void train_writer_keep(struct train_writer *w, const char *name);

/* The process: main() of "ckptbench async-writer FD". */
int train_writer_main(const char *fd);

#endif
