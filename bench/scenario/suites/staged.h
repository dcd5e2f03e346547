/* SPDX-License-Identifier: Apache-2.0 */
/* staged.h: a save to a file as Lightning makes it (_atomic_save() of its fabric): everything is
 * serialised to memory, written to a temporary file at once, and that is moved to its place. */
#ifndef CKPTFS_BENCH_SCENARIO_STAGED_H
#define CKPTFS_BENCH_SCENARIO_STAGED_H

#include "bench/data/payload.h"
#include "bench/measure/timed.h"

/* The directory above them, TMPDIR or /tmp. 0, or a negative errno with one line in `why`. */
int staged_top(char **out, char *why, size_t nwhy);

/* Ready for temporary files, in a directory `dir` of TMPDIR or /tmp. 0, or a negative errno with
 * one line in `why`. */
int staged_start(const struct keys *k, const char *dir, struct io **out, char *why, size_t nwhy);
void staged_stop(struct io *staging); /* NULL is fine */

/* Collective, as timed_save(): serialising counts as open, the move and what closes as close. */
int staged_save(const struct timed *t, struct io *staging, const char *name, struct payload *p,
                struct sample *out, timed_fail_fn *fail, void *arg);

#endif
