/* SPDX-License-Identifier: Apache-2.0 */
/* job.h: what the JSON of a run and of its jobs says, whichever version of ckptbench wrote it.
 *
 * Version 1 had the keys in "config" under their whole names, and what the suites report apart, in
 * "suite", which nobody reads again. Since version 2 "config" is nested as the suites' files are,
 * and what they report stands in "metrics". */
#ifndef CKPTFS_BENCH_JOB_H
#define CKPTFS_BENCH_JOB_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/text/json.h"

/* Whether this is a run that can be read here. */
bool job_readable(const struct json *run);

/* The value of a key in a job; NULL: it is not there, or another key says it. */
const struct json *job_key(const struct json *job, const char *key);

/* Adds a sentence to those before it. A failure of memory shows in to->failed. */
void job_says(struct buf *to, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
