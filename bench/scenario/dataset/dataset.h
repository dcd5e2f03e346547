/* SPDX-License-Identifier: Apache-2.0 */
/* dataset.h: what the files dataset*.c of the scenario "dataset" share. */
#ifndef CKPTFS_BENCH_DATASET_H
#define CKPTFS_BENCH_DATASET_H

#include "bench/core/run.h"
#include "bench/measure/sampler.h"
#include "bench/scenario/dataset/loader.h"
#include "bench/measure/timed.h"
#include "bench/train/trainer.h"

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
 * preflight_check(). (dataset_preflight.c) */
int dataset_preflight(const struct run *r, const struct keys *k, const char *storage, FILE *dry,
                      char *why, size_t nwhy);
/* How a rank of the job reads. */
struct loader_how dataset_how(const struct dataset_kind *kind, const struct keys *k,
                              const struct coll *c);

/* --- model=vit: a vision transformer that learns (dataset_train.c) --- */

/* What the keys ask for. 0, or -EINVAL or -EOPNOTSUPP with one line in `why`. */
int learner_setup(const struct keys *k, struct train_setup *out, char *why, size_t nwhy);
/* Its labels; 0: the model is another. */
unsigned learner_labels(const struct keys *k);
/* Bytes of memory that a rank needs for it, with those of the batches under way. */
uint64_t learner_bytes(const struct keys *k, unsigned ranks);

struct learner {
        const struct run *run;
        struct train_setup setup;
        struct trainer trainer;
        unsigned threads;
        size_t steps;
        double seconds;       /* of them, in this rank */
        double loss, samples; /* of the epoch under way: the sum over its samples */
        double *losses;       /* the mean of each epoch */
};
/* Collective, all that return an error: 0, or the same negative errno in all ranks after
 * run_error(). *out is NULL where the model is another. */
int learner_open(const struct run *r, const struct keys *k, struct learner **out);
/* A step of a batch, which may be empty here but not in all ranks: then *more is false. `own` is an
 * error that this rank comes with. */
int learner_batch(struct learner *l, int own, const struct batch *b, bool *more);
/* An epoch has ended. */
void learner_epoch(struct learner *l, size_t epoch);
void learner_free(struct learner *l); /* NULL is fine */

/* --- checkpoints (dataset_save.c) --- */

struct saver;
/* Collective: makes ready to save the state of what learns or, where nothing does, of
 * checkpoint.model, in rank 0, every save_one_in batches. *out is NULL where nothing is to be
 * saved. 0, or a negative errno after run_error(). */
int saver_open(const struct run *r, const struct keys *k, const struct learner *l,
               struct saver **out);
/* Saves if the batch, counted from 1 in its epoch, is one of those. NULL is fine. */
int saver_batch(struct saver *s, size_t batch);
/* Seconds of each save, those of saver_batch() in order. */
size_t saver_times(const struct saver *s, const double **out);
/* Loads the last one back, checks it, removes all unless they are kept; frees s. NULL is fine. 0 or
 * a negative errno after run_error(). */
int saver_close(struct saver *s);

/* --- results (dataset_table.c) --- */

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
        const struct learner *learner; /* NULL: nothing learns */
};
/* Adds "setup" and "metrics". 0 or -ENOMEM. */
int dataset_json(const struct dataset_facts *f, struct json *job);
void dataset_table(const struct json *run, FILE *to);
void dataset_says(const struct json *run, struct buf *to);
void dataset_page(const struct json *run, struct doc *d);

#endif
