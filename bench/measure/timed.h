/* SPDX-License-Identifier: Apache-2.0 */
/* timed.h: one save and one load of a shard, timed. */
#ifndef CKPTFS_BENCH_TIMED_H
#define CKPTFS_BENCH_TIMED_H

#include <sys/types.h>

#include "bench/core/coll.h"
#include "bench/core/io.h"
#include "bench/measure/measure.h"

struct timed {
        struct coll *coll;
        struct io *io;       /* NULL: a dataset's place */
        pid_t mount, server; /* whose CPU time is counted; 0: none */
        bool sync;           /* a save waits until its file is durable: the fsync key */
};

/* The mount's process, as mount.pid says or by its mountpoint; 0: none. */
pid_t timed_mount(const struct keys *k);

/* For work of these ranks on a storage: coll, and the processes that serve it. */
void timed_init(struct timed *t, struct coll *c, const struct keys *k, const char *storage);

/* One file in this rank alone, from create or open to close; no barrier. Fills the times. `sync`:
 * wait until it is durable before the close. */
int timed_save_file(struct io *io, const char *name, const struct io_data *d, bool sync,
                    struct sample *out);
int timed_load_file(struct io *io, const char *name, const struct io_data *d, struct sample *out);

/* Collective: barrier, work(arg, out), which fills times and bytes and says what failed; counts CPU
 * time around it, and writes a line to the job's log that begins with `what`. Returns the same in
 * all ranks. */
typedef int timed_work_fn(void *arg, struct sample *out);
int timed_work(const struct timed *t, const char *what, timed_work_fn *work, void *arg,
               struct sample *out);

/* Collective: barrier, create, write, sync if t->sync, close; a file that failed in any rank is
 * removed by its rank. Returns the same in all ranks: 0 or a negative errno; a rank's own failure
 * was printed by `fail` before. */
typedef void timed_fail_fn(void *arg, const char *what, int err);
int timed_save(const struct timed *t, const char *name, const struct io_data *d, struct sample *out,
               timed_fail_fn *fail, void *arg);

/* Collective: barrier, open, read, close. */
int timed_load(const struct timed *t, const char *name, const struct io_data *d, struct sample *out,
               timed_fail_fn *fail, void *arg);

/* After the clock: whether the file has `size` bytes, those that were loaded, and not one more. 0,
 * or a negative errno with io->why. */
int timed_check_size(struct io *io, const char *name, uint64_t size);

/* Collective: the samples of all ranks, v[epoch * ranks + rank], malloc'ed, from those of this one,
 * an epoch each. 0 or a negative errno. */
int timed_gather(struct coll *c, const struct sample *mine, size_t epochs, struct sample **out);

/* Makes the page cache forget all of the machine's files (root). 0 or a negative errno. */
int timed_drop_machine(void);

/* Collective: makes the page cache forget the file of each rank, as the drop key (DROP_*) says.
 * Returns 0 with the word for what was done in *done, or a negative errno. */
int timed_drop(const struct timed *t, const char *name, unsigned drop, const char **done,
               timed_fail_fn *fail, void *arg);

#endif
