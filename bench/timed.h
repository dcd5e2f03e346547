/* SPDX-License-Identifier: Apache-2.0 */
/* timed.h: one save and one load of a shard, timed. */
#ifndef CKPTFS_BENCH_TIMED_H
#define CKPTFS_BENCH_TIMED_H

#include <sys/types.h>

#include "bench/coll.h"
#include "bench/io.h"
#include "bench/measure.h"

struct timed {
        struct coll *coll;
        struct io *io;
        pid_t mount, server; /* whose CPU time is counted; 0: none */
};

/* Collective: barrier, create, write, sync, close; a file that failed in any rank is removed by
 * its rank. Returns the same in all ranks: 0 or a negative errno; a rank's own failure was printed
 * by `fail` before. */
typedef void timed_fail_fn(void *arg, const char *what, int err);
int timed_save(const struct timed *t, const char *name, const struct io_data *d, struct sample *out,
               timed_fail_fn *fail, void *arg);

/* Collective: barrier, open, read, close. */
int timed_load(const struct timed *t, const char *name, const struct io_data *d, struct sample *out,
               timed_fail_fn *fail, void *arg);

/* Collective: makes the page cache forget the file of each rank, as the drop key (DROP_*) says.
 * Returns 0 with the word for what was done in *done, or a negative errno. */
int timed_drop(const struct timed *t, const char *name, unsigned drop, const char **done,
               timed_fail_fn *fail, void *arg);

#endif
