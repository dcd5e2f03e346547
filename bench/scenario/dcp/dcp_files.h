/* SPDX-License-Identifier: Apache-2.0 */
/* dcp_files.h: the files of one rank in a directory of torch.distributed.checkpoint, saved or
 * loaded at once, a thread each, which share a client of the storage. */
#ifndef CKPTFS_BENCH_SCENARIO_DCP_FILES_H
#define CKPTFS_BENCH_SCENARIO_DCP_FILES_H

#include <pthread.h>

#include "bench/format/dcp.h"
#include "bench/core/io.h"
#include "bench/measure/measure.h"
#include "bench/data/payload.h"

struct dcp_file {
        char name[DCP_FILE_MAX];
        struct payload payload;
        struct io *io; /* NULL: not started */
        struct sample sample;
        struct io_range *ranges; /* of a load that needs a part; owned */
        uint64_t whole;          /* bytes that the file has, whatever is needed of it */
        pthread_t thread;
        bool load, sync;
        int err;
};

struct dcp_files {
        struct dcp_file **v;
        size_t n;
};

/* Which files of which save. */
struct dcp_plan {
        const struct model *model;
        bool optimizer, verify;
        enum shard_cut cut;
        unsigned ranks;   /* that saved */
        unsigned threads; /* files of each of them */
        /* Rows are divided among so many ranks; each further group of as many has the same ones,
         * and of these copies one is written, by the groups in turn. */
        unsigned group;
        uint64_t seed;
};

/* The files of rank `rank` of the save, appended. 0 or -ENOMEM. */
int dcp_files_plan(struct dcp_files *f, const struct dcp_plan *p, unsigned rank);
void dcp_files_release(struct dcp_files *f); /* those that were started are to be stopped before */

uint64_t dcp_files_bytes(const struct dcp_files *f);

/* Opens the storage for directory `dir`, once a file. 0 or a negative errno with `why`. */
int dcp_files_start(struct dcp_files *f, const struct keys *k, const struct io_storage *storage,
                    const char *dir, unsigned rank, char *why, size_t nwhy);
void dcp_files_stop(struct dcp_files *f, bool clean);

/* Saves or loads all of them at once: the longest of each phase and all bytes in `out`. 0, or the
 * first error; the file's own is in its err. Blocks. */
int dcp_files_work(struct dcp_files *f, bool load, bool sync, struct sample *out);

#endif
