/* SPDX-License-Identifier: Apache-2.0 */
/* async_writer.h: who writes what was staged, one save at a time, beside the steps: this process,
 * or one of its own that shares the staging memory. Its functions are called from one thread at a
 * time. */
#ifndef CKPTFS_BENCH_SCENARIO_ASYNC_WRITER_H
#define CKPTFS_BENCH_SCENARIO_ASYNC_WRITER_H

#include <stddef.h>
#include <stdint.h>

#include "bench/core/child.h"
#include "bench/core/io.h"
#include "bench/core/keys.h"
#include "bench/scenario/async/async_stage.h"

/* How a save went. */
struct async_wrote {
        int err;
        char why[512];
        uint64_t durable_ns, visible_ns; /* on the monotonic clock of this machine */
        double peak;                     /* bytes of memory of the writing process */
};

struct async_writer {
        struct io *io;      /* of this process */
        struct child child; /* pid 0: none, this process writes */
        int sock;           /* to the child; -1: none */
};
#define ASYNC_WRITER_INIT                                                                          \
        {                                                                                          \
                .child = {.out = -1}, .sock = -1                                                   \
        }

/* Starts a process that writes below `dir`; without it the writer is io itself. 0 or a negative
 * errno with one line in `why`. Blocks. */
int async_writer_start(struct async_writer *w, const struct keys *k, const char *dir, unsigned rank,
                       char *why, size_t nwhy);
void async_writer_stop(struct async_writer *w);

/* Writes `size` bytes of the stage to a file; blocks. */
void async_write(struct async_writer *w, const char *name, const struct stage *s, uint64_t size,
                 struct async_wrote *out);

/* The process: main() of "ckptbench async-writer FD". */
int async_writer_main(const char *fd);

#endif
