/* SPDX-License-Identifier: Apache-2.0 */
/* measure.h: what one save or load of one rank took, and what that makes over ranks and epochs. */
#ifndef CKPTFS_BENCH_MEASURE_H
#define CKPTFS_BENCH_MEASURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text/json.h"
#include "bench/core/copies.h"
#include "bench/core/io.h"
#include "bench/measure/stats.h"

/* Of one rank. Times are seconds on its own monotonic clock; `total` runs from the barrier to the
 * end of close, or, of a directory of several ranks, until all of them have agreed on its end. CPU
 * seconds of other processes are counted by one rank of each machine. */
struct sample {
        double open, transfer, sync, close, total;
        /* Of a directory of several ranks, which the others are a part of: what comes before this
         * rank's files, all of these, and what comes behind them until the ranks agree. */
        double plan, files, finish;
        double cpu_self, cpu_mount, cpu_server;
        double cpu_kernel; /* of the machine: system calls of all, interrupts, its own threads */
        uint64_t bytes;
        struct copies copied; /* by this rank itself */
        /* The same as somebody else counted it (io.h); of a machine by one rank of it. */
        bool counted;
        struct io_count count;
};

/* Of all ranks and epochs. A duration of an epoch is the maximum over ranks; `seconds` and the
 * phases are medians of these over epochs. */
struct summary {
        double seconds, open, transfer, sync, close;
        double plan, files, finish; /* zero for a phase without them */
        double gb_per_s;            /* 1e9 bytes of all ranks / seconds */
        struct stats epochs;        /* of the seconds of each epoch */
        struct interval interval;   /* 95 % of their median; zero for fewer than 3 */
        double cpu_per_gb;          /* CPU-seconds per 1e9 bytes: ranks and mount */
        double cpu_self_per_gb, cpu_mount_per_gb, cpu_server_per_gb, cpu_kernel_per_gb;
        uint64_t bytes; /* of all ranks and epochs, as the ranks say, and as was counted */
        struct copies copied;
        bool counted;
        struct io_count count;
};

/* Adds what a part of a phase took and moved, but for the times of `to`, which are the caller's. */
void measure_add(struct sample *to, const struct sample *part);

/* v[epoch * ranks + rank]. 0 or -ENOMEM. */
int measure_summary(const struct sample *v, size_t epochs, size_t ranks, struct summary *out);

/* Adds the summary and the samples behind it as object `name`. */
void measure_json(struct json *to, const char *name, const struct summary *s,
                  const struct sample *v, size_t epochs, size_t ranks);

/* Adds the figures of n values as object `name`: n, mean, sd, min, p25, median, p75, p90, max and,
 * of 3 values and more, the bootstrap interval of the median. 0 or -ENOMEM. */
int measure_values_json(struct json *to, const char *name, const double *v, size_t n);
/* The same with the values themselves, "each", unless they are more than 10,000. */
int measure_each_json(struct json *to, const char *name, const double *v, size_t n);

#endif
