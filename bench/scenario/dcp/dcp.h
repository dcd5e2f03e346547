/* SPDX-License-Identifier: Apache-2.0 */
/* dcp.h: one job of the scenarios that save and load directories of torch.distributed.checkpoint.
 */
#ifndef CKPTFS_BENCH_SCENARIO_DCP_H
#define CKPTFS_BENCH_SCENARIO_DCP_H

#include "bench/data/run_name.h"
#include "bench/core/io.h"
#include "bench/data/model.h"
#include "bench/core/run.h"
#include "bench/scenario/dcp/dcp_files.h"
#include "bench/measure/sampler.h"
#include "bench/measure/timed.h"

struct dcp_job {
        const struct run *run;
        const struct keys *k;
        const struct io_storage *storage;
        struct coll part; /* the ranks that take part */
        struct model model;
        bool fsdp, load;
        bool own; /* a load reads the files that this rank saved, whole */
        struct dcp_plan plan;
        struct dcp_files files;
        char dir[FRESH_NAME_MAX]; /* of this epoch */
        bool named;               /* a save goes to `dir` as it is, not to a fresh one */
        struct timed timed;
        const char *dropped;
        struct sample *samples; /* of this rank, an epoch each */
        bool held;
        uint64_t needed;     /* bytes of a load that this rank's tensors have */
        double *processing;  /* seconds of all ranks together, an epoch each */
        struct sampler *use; /* looks while something is saved; NULL: nobody wants to know */
};

/* Gives `part` the carrier that the backend key names. 0 or the same error in all of it, after
 * run_error(). Collective. */
int dcp_carry(struct dcp_job *j);

/* Makes ready what all epochs share, once `part` is set. Collective. dcp_end() frees it; with
 * `clean` the storage removes the directory that is empty. */
int dcp_prepare(struct dcp_job *j);
void dcp_end(struct dcp_job *j, bool clean);

/* Behind each epoch: its files and its storage end. */
void dcp_end_epoch(struct dcp_job *j, bool clean);

/* dcp_save.c: an epoch's save to its directory; dcp_load.c: an epoch's load of the directory
 * that `suffix` names. Collective among the part. 0 or a negative errno after run_error(). */
int dcp_save_epoch(struct dcp_job *j, size_t epoch);
int dcp_load_epoch(struct dcp_job *j, size_t epoch);
/* What the part saved to a directory goes, then the directory, between two epochs. The same. */
int dcp_remove_save(struct dcp_job *j, const char *dir);

/* Plans the files and ranges that this rank needs of a checkpoint with those items, which are
 * sorted by it. 0, or a negative errno after run_error(). */
int dcp_plan_load(struct dcp_job *j, struct dcp_item *v, size_t n);

/* What both do with the files of a plan: memory, storage, one line about what failed. */
int dcp_hold(struct dcp_job *j);
int dcp_start(struct dcp_job *j);
/* Collective: makes the page cache forget them, or .metadata where there are none, as the drop key
 * says. */
int dcp_drop(struct dcp_job *j, const struct dcp_files *files);
/* Whether what was loaded is right; it is said here what is not. */
int dcp_check(struct dcp_job *j, const struct dcp_files *files, const char *what);
void dcp_say(struct dcp_job *j, const struct dcp_files *files, const char *what, int err);

/* Collective: a number and the samples of each rank, malloc'ed. */
int dcp_gather(struct dcp_job *j, double mine, double **of_ranks, struct sample **all);
/* What the samples of all ranks make. 0 or -ENOMEM. */
int dcp_json(const struct dcp_job *j, const struct sample *all, struct json *job);

/* The seed of a directory's bytes, so that one save cannot pass for another: FNV-1a of the name. */
uint64_t dcp_seed(uint64_t seed, const char *dir);

#endif
