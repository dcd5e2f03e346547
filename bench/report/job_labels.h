/* SPDX-License-Identifier: Apache-2.0 */
/* job_labels.h: what names the jobs of a run among each other: the storage of each, and its value
 * of every key in which jobs differ. Found once for all of them, so that a sweep of thousands of
 * jobs is told as soon as it is measured. */
#ifndef CKPTFS_BENCH_JOB_LABELS_H
#define CKPTFS_BENCH_JOB_LABELS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text/json.h"

struct job_labels {
        size_t n;
        const char **v;       /* a label each, owned; v[i] begins with */
        const char **storage; /* those of the results */
        bool *differs;        /* by the number of the key */
        int width;            /* of the longest */
};

/* Those of "job_results"; where memory is short, of none. */
struct job_labels job_labels_of(const struct json *jobs);
/* The same of jobs of several runs, without the keys that skips() tells; NULL: it tells none. */
typedef bool job_labels_skip_fn(const char *key);
struct job_labels job_labels_of_list(const struct json *const *job, size_t n,
                                     job_labels_skip_fn *skips);
void job_labels_release(struct job_labels *l);

const char *job_label(const struct job_labels *l, size_t i);
/* The same without its storage: equal for jobs that differ in that alone. */
const char *job_label_rest(const struct job_labels *l, size_t i);
bool job_labels_differ(const struct job_labels *l, const char *key);

#endif
