/* SPDX-License-Identifier: Apache-2.0 */
/* job_log.h: what happens in a job, line by line with the time of day, as the suites' benchmark.log
 * has it. Rank 0's is written; what others say goes nowhere. */
#ifndef CKPTFS_BENCH_JOB_LOG_H
#define CKPTFS_BENCH_JOB_LOG_H

#include <stdio.h>

enum job_log_level { JOB_LOG_INFO, JOB_LOG_WARNING, JOB_LOG_ERROR };

/* From here on lines of this scenario go there; NULL: nowhere, as before the first call. Before
 * threads are there. */
void job_log_to(FILE *to, const char *scenario);

/* Thread-safe. */
void job_log(enum job_log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
