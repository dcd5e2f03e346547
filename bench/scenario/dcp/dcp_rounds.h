/* SPDX-License-Identifier: Apache-2.0 */
/* dcp_rounds.h: several sharded saves to directories of torch.distributed.checkpoint, then several
 * loads of them: what the scenarios of sharded trainers share. */
#ifndef CKPTFS_BENCH_SCENARIO_DCP_ROUNDS_H
#define CKPTFS_BENCH_SCENARIO_DCP_ROUNDS_H

#include "bench/scenario/dcp/dcp.h"
#include "bench/scenario/dcp/rotation.h"

struct dcp_rounds {
        /* set by the caller */
        const struct run *run;
        const struct keys *k;
        size_t saves, loads;
        unsigned play;  /* ranks that are played, tensor by tensor; 0: those of the job, by rows */
        const char *in; /* the directory of the saves, which then are ckpt_0.ckpt and so on; NULL:
                           each has a fresh one of its own, and `suffix` is one of these */
        struct rotation *rotation; /* NULL: all saves stay while the job runs */
        struct sampler *use;       /* started, looks while something is saved; NULL: none */
        /* set here */
        struct model model;
        char (*dirs)[FRESH_NAME_MAX]; /* a save each */
        double *save_s, *load_s; /* seconds from the barrier until all ranks agree, of this rank */
        struct sample *save, *load; /* of all ranks, [round * ranks + rank] */
        const char *dropped;
        pid_t mount;
        bool held, moves_data;
};

/* Saves and loads; unless keep is on, or nothing is loaded, all saves are removed in the end. With
 * no save, loads take what `suffix` names. Collective. 0 or a negative errno after
 * run_error(). dcp_rounds_release() in both cases. */
int dcp_rounds(struct dcp_rounds *r);
void dcp_rounds_release(struct dcp_rounds *r);

/* Adds model, setup and metrics. 0 or -ENOMEM. */
int dcp_rounds_json(const struct dcp_rounds *r, struct json *job);

#endif
