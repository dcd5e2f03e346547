/* SPDX-License-Identifier: Apache-2.0 */
/* dataset.h: what the files dataset*.c of the scenario "dataset" share. */
#ifndef CKPTFS_BENCH_DATASET_H
#define CKPTFS_BENCH_DATASET_H

#include "bench/core/run.h"
#include "bench/measure/sampler.h"
#include "bench/scenario/dataset/loader.h"
#include "bench/measure/timed.h"

/* A name that the dataloader key takes, and what it means. */
struct dataset_kind {
        const char *name;
        const char *storage; /* NULL: that of the storage key */
        bool map;
        bool by_ranges; /* whatever s3reader.type says */
        bool cached;    /* through a mount with a cache on a disk */
};
/* The kind that the keys name. NULL with one line in `why`. */
const struct dataset_kind *dataset_kind(const struct keys *k, char *why, size_t nwhy);
/* The storage it reads from. NULL with one line in `why`. */
const char *dataset_storage(const struct dataset_kind *kind, const struct keys *k, char *why,
                            size_t nwhy);
/* Whether the keys go together. 0, or a negative errno with one line in `why`. */
int dataset_check(const struct dataset_kind *kind, const struct keys *k, char *why, size_t nwhy);
/* What the job moves and takes, as far as it is known before the dataset is listed:
 * preflight_check(). (dataset_needs.c) */
int dataset_needs(const struct run *r, const struct keys *k, const char *storage, FILE *dry,
                  char *why, size_t nwhy);
/* How a rank of the job reads. */
struct loader_how dataset_how(const struct dataset_kind *kind, const struct keys *k,
                              const struct coll *c);

/* --- checkpoints (dataset_save.c) */

struct saver;
/* Collective: makes ready to save the state of checkpoint.model, in rank 0, every save_one_in
 * batches. *out is NULL where nothing is to be saved. 0, or a negative errno after run_error(). */
int saver_open(const struct run *r, const struct keys *k, struct saver **out);
/* Saves if the batch, counted from 1 in its epoch, is one of those. NULL is fine. */
int saver_batch(struct saver *s, size_t batch);
/* Seconds of each save, those of saver_batch() in order. */
size_t saver_times(const struct saver *s, const double **out);
/* Loads the last one back, checks it, removes all unless they are kept; frees s. NULL is fine. 0 or
 * a negative errno after run_error(). */
int saver_close(struct saver *s);

/* --- results (dataset_table.c) */

struct dataset_facts {
        const struct keys *keys;
        const struct dataset_kind *kind;
        const char *storage, *address, *dropped;
        struct loader_how how;
        double list_s;
        double cache_bytes; /* in mount.cache, behind the last epoch */
        size_t objects;
        struct loader_seen seen; /* of all ranks and epochs */
        size_t epochs;
        unsigned ranks;
        const struct sample *epoch; /* [epoch * ranks + rank] */
        const double *save;
        size_t saves;
        const struct sampler *use;
};
/* Adds "setup" and "metrics". 0 or -ENOMEM. */
int dataset_json(const struct dataset_facts *f, struct json *job);
void dataset_table(const struct json *run, FILE *to);
void dataset_page(const struct json *run, struct doc *d);

#endif
