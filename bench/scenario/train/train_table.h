/* SPDX-License-Identifier: Apache-2.0 */
/* train_table.h: what "train" measured, as JSON, and the table and page made of that. */
#ifndef CKPTFS_BENCH_SCENARIO_TRAIN_TABLE_H
#define CKPTFS_BENCH_SCENARIO_TRAIN_TABLE_H

#include <stdio.h>

#include "base/text/json.h"
#include "bench/report/doc.h"
#include "bench/scenario/train/train_save.h"
#include "bench/train/replicas.h"

struct train_facts {
        const struct train_setup *setup;
        unsigned ranks, threads;                /* threads of a stage or replica */
        unsigned chunks;                        /* micro-batches of a step */
        const char *carrier;                    /* of averages */
        const char *math;                       /* what multiplies matrices, in words */
        const struct train_step *warmup, *step; /* seconds are those of the slowest rank */
        size_t nwarmup, nsteps;
        uint64_t first;         /* number of the first timed step */
        const double *delay;    /* of each rank: seconds of all timed steps over their number */
        double build;           /* seconds until the slowest rank had its model */
        double built;           /* bytes of memory that were taken then, in the largest rank */
        struct train_held held; /* the most behind each part of a step of the warm-up */
        double peak; /* bytes of memory of the largest rank, and of its device's; 0: none */
        double device_peak;
        const struct train_saved *save;
        size_t nsaves;
        const bool *busy;   /* the timed steps beside which a save was under way */
        uint64_t bytes;     /* of one save, all files */
        double staged;      /* bytes of the copy in the memory of the largest rank */
        double oldest;      /* the most seconds that the newest save to load was old */
        const char *suffix; /* its directory */
        float loss_scale;   /* behind the last step */
};

/* Adds "model", "setup" and "metrics". 0 or -ENOMEM. */
int train_json(const struct train_facts *f, struct json *job);
void train_table(const struct json *run, FILE *to);
/* What a step takes and what saves cost, in sentences. */
void train_says(const struct json *run, struct buf *to);
void train_page(const struct json *run, struct doc *d);

#endif
