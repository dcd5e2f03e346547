/* SPDX-License-Identifier: Apache-2.0 */
/* shards_table.h: what "shards" measured, as JSON and as the table made of that JSON. */
#ifndef CKPTFS_BENCH_SHARDS_TABLE_H
#define CKPTFS_BENCH_SHARDS_TABLE_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/text/json.h"
#include "bench/report/doc.h"
#include "bench/report/job_labels.h"
#include "bench/core/keys.h"
#include "bench/measure/measure.h"
#include "bench/data/model.h"

struct shards_facts {
        const struct keys *keys;
        const struct model *model; /* NULL: what somebody saved in a file: */
        const char *file;
        double elements, bytes;
        size_t tensors;
        size_t epochs; /* of saves and, where `loads` is 0, of loads */
        size_t loads;
        unsigned ranks;
        const char *suffix;
        bool held, verified, moves_data;
        const char *verified_by; /* in words, of a file */
        const char *dropped;
        pid_t mount_pid;
        const struct sample *save, *load; /* [epoch * ranks + rank]; NULL: not done */
};

/* Adds "model", "setup" and "metrics". 0 or -ENOMEM. */
int shards_json(const struct shards_facts *f, struct json *job);

/* metrics.PHASE.FIELD of a job, 0 when it was not measured. */
double shards_metric(const struct json *job, const char *phase, const char *field);
bool shards_moves_data(const struct json *job);
/* What the i-th job is compared with: the one on s3 with the same keys, or NULL. */
const struct json *shards_direct(const struct json *jobs, const struct job_labels *labels,
                                 size_t i);
/* Whether a job is on s3. */
bool shards_any_s3(const struct job_labels *labels);
/* Model, bytes and ranks of the jobs that did not fail, in one line. */
void shards_headline(const struct json *jobs, char *out, size_t n);
/* How a job was measured, or why it failed, in one line. */
void shards_note(const struct json *job, char *out, size_t n);

/* Which storage is the fastest, in sentences. */
void shards_says(const struct json *run, struct buf *to);
/* Its section of the report. */
void shards_page(const struct json *run, struct doc *d);

/* One row a job: storage, seconds and GB/s of save and load, CPU, ratio to the job on s3. */
void shards_table(const struct json *run, FILE *to);

#endif
