/* SPDX-License-Identifier: Apache-2.0 */
/* async_table.h: what "async" measured, as JSON, and the table and page made of that. */
#ifndef CKPTFS_BENCH_SCENARIO_ASYNC_TABLE_H
#define CKPTFS_BENCH_SCENARIO_ASYNC_TABLE_H

#include <stddef.h>
#include <stdio.h>

#include "base/text/json.h"
#include "bench/report/doc.h"

/* One save. Seconds from when the step wanted it: until the step went on, until the storage had it
 * durably, until it is visible under its name; `staged` is the copy alone, `waited` the wait for
 * the save before. */
struct async_save {
        double blocked, waited, staged, durable, visible;
};

enum { ASYNC_VALUES = 5 };

struct async_facts {
        const char *model;
        unsigned ranks;
        double bytes; /* of one rank */
        const struct async_save *save;
        size_t saves;
        double step_idle, step_busy; /* medians, seconds */
        double fit;                  /* seconds of all steps and saves */
        double steps;                /* of that in steps */
        double peak;                 /* bytes of memory of the largest rank */
        double writer_peak;          /* of the largest process that writes; 0: threads do */
        const char *work;            /* what a step does beside that, in words */
        const char *state;           /* what it changes: "trained" or "pattern" */
        const char *suffix;          /* the directory of the saves */
};

/* Adds "model", "setup" and "metrics". 0 or -ENOMEM. */
int async_json(const struct async_facts *f, struct json *job);
void async_table(const struct json *run, FILE *to);
/* How long a save stalls training, in sentences. */
void async_says(const struct json *run, struct buf *to);
void async_page(const struct json *run, struct doc *d);

#endif
