/* SPDX-License-Identifier: Apache-2.0 */
/* runs.h: the runs that a report is of: found below directories, in order of time, and what all of
 * them show together. Of each only the summary is kept, so that many fit into memory. */
#ifndef CKPTFS_BENCH_RUNS_H
#define CKPTFS_BENCH_RUNS_H

#include <stddef.h>

#include "base/buf.h"
#include "base/text/json.h"
#include "bench/core/run.h"
#include "bench/report/doc.h"

enum { RUNS_MAX = 1000 };

/* Speeds of a job that moved data, in GB/s; 0: it did not do that. */
struct run_speed {
        char label[160];
        double save, load;
};

struct run_found {
        char *path;
        const struct scenario *scenario;
        char title[128]; /* scenario and time */
        double when;     /* seconds since 1970 */
        char *says;      /* the scenario's sentences */
        struct run_speed *speed;
        size_t nspeeds;
};

struct runs {
        struct run_found *v;
        size_t n, cap;
        size_t beyond;  /* those that are no longer kept */
        size_t skipped; /* files and directories that could not be read, or are none of ours */
};
#define RUNS_INIT                                                                                  \
        {                                                                                          \
                0                                                                                  \
        }

/* Adds the results in a directory or file. One that cannot be read, is not ours, or of a later
 * version, is skipped with a line on standard error. 0 or a negative errno. Blocks. */
int runs_find(struct runs *r, char *dir);
void runs_sort(struct runs *r);
void runs_release(struct runs *r);

/* Reads one again; NULL with a line on standard error when it cannot be read or is none. */
struct json *runs_read(const char *path);

/* The list of all with their sentences, and a chart of their speeds where there are several. */
void runs_page(const struct runs *r, struct doc *d);

#endif
