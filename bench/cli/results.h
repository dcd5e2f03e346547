/* SPDX-License-Identifier: Apache-2.0 */
/* results.h: the files that a run leaves: N/job_results.json a job, with what happened
 * in benchmark.log beside it, multirun.yaml what was swept, and run_results.json all of them. Rank
 * 0 writes them. Errors are negative errnos. */
#ifndef CKPTFS_BENCH_RESULTS_H
#define CKPTFS_BENCH_RESULTS_H

#include "bench/core/run.h"

/* Makes OUT/SCENARIO/DATE, or what hydra.sweep.dir says, a directory that was not there, and names
 * it in r->dir. 0, or a negative errno with one line in `why`. */
int results_make_dir(struct run *r, const struct sweep *s, char *why, size_t nwhy);
/* Writes what was swept: each key with its values. */
int results_write_sweep(const struct run *r, const struct sweep *s);

/* The directory of job `i`, with its log open in r->log. */
int results_open_job(struct run *r, size_t i);
/* Writes what is known of it, closes its log. */
int results_close_job(struct run *r, const struct keys *k, size_t i, const struct json *job);

int results_write_run(const struct run *r, const struct json *result);

/* Removes the directory of a run of which nothing is worth keeping. */
void results_forget(const struct run *r, size_t jobs);

#endif
