/* SPDX-License-Identifier: Apache-2.0 */
/* run.h: one start of ckptbench: its jobs, their results on disk (results.h), the table at the end.
 *
 * job_results.json and run_results.json are as conf/schema/ says. Both
 * begin with "format" and "version"; fields are added, never changed in meaning, while the version
 * stays. What reads them (report/job.h) knows version 1, too. They hold the keys given and what was
 * measured: no environment, no secrets. */
#ifndef CKPTFS_BENCH_RUN_H
#define CKPTFS_BENCH_RUN_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/text/json.h"
#include "bench/core/coll.h"
#include "bench/core/keys.h"

struct doc;
struct preflight;
struct sweep;

enum { RUN_FORMAT_VERSION = 2 };
#define RUN_FORMAT "ckptbench-run"
#define JOB_FORMAT "ckptbench-job"

struct run {
        struct coll *coll;
        const struct scenario *scenario;
        bool dry_run, legacy_names;
        size_t job;                  /* number of the one under way; its files are in DIR/JOB */
        struct preflight *preflight; /* of the job under way, as its plan() said */
        FILE *log;                   /* of the job under way, as job_log.h writes it; rank 0 */
        char warning[256];           /* of all jobs; "" none */
        char dir[PATH_MAX];          /* of the results; rank 0 */
};

/* A spelling of the suites' command lines. */
struct run_flag {
        const char *name;  /* "--steps" */
        const char *key;   /* ours; "" takes the value and does nothing */
        const char *value; /* what the flag alone stands for; NULL: its value follows */
};

/* A spelling of the suites' command lines for what is so here anyway. */
struct run_fixed {
        const char *name;    /* "--dtype" */
        const char *value;   /* which follows, and is accepted; NULL: none does, and none is */
        const char *instead; /* what is there for whoever wants another */
};

struct scenario {
        const char *name, *text;
        bool many_ranks;               /* else one rank only */
        bool device;                   /* shards live where the device key says; else on the host */
        bool carries;                  /* collectives go by what the backend key names */
        const struct run_flag *flags;  /* other spellings, up to one without a name; NULL: none */
        const struct run_fixed *fixed; /* the same */
        const char *const
                *defaults; /* "key=value", up to NULL, where keys.def's do not fit; NULL: none */
        bool dataflux;     /* takes the environment variables of dataflux_env.h */
        unsigned formats;  /* 1 << FORMAT_* of what its files can be; 0: the key means nothing */
        bool plays_ranks;  /* world_size is what it plays, and may be more than the job has */
        /* Turns keys that stand for others into those, before anybody looks at them; NULL: none.
         * 0 or -EINVAL with one line in `why`. */
        int (*resolve_keys)(struct keys *k, char *why, size_t nwhy);
        /* Looks at the keys of a job before any job starts and says, with --dry-run, what it would
         * do. 0 or a negative errno with one line in `why`. */
        int (*plan)(const struct run *r, const struct keys *k, FILE *dry, char *why, size_t nwhy);
        /* Does it and adds what was measured to `job` (NULL but in rank 0). 0, or a negative errno
         * after run_error(). All ranks return the same. r->coll is the ranks that world_size asks
         * for. */
        int (*job)(const struct run *r, const struct keys *k, struct json *job);
        /* Prints the table of a run; NULL-safe on fields. */
        void (*table)(const struct json *run, FILE *to);
        /* Adds what a run answers, in sentences for those who read no table; nothing where nothing
         * was measured. */
        void (*says)(const struct json *run, struct buf *to);
        /* Writes its part of the report, below those sentences; NULL: they are all. */
        void (*page)(const struct json *run, struct doc *d);
        /* Looks at what was measured, behind the table, in rank 0; NULL: it is as it is. 0, or a
         * negative errno after run_error(). */
        int (*verdict)(const struct run *r, const struct json *run);
};
extern const struct scenario scenario_shards, scenario_ceiling, scenario_firstbyte, scenario_list,
        scenario_dcp, scenario_dcp_ddp_save, scenario_dcp_ddp_load, scenario_dcp_fsdp_save,
        scenario_dcp_fsdp_load, scenario_pytorch_checkpointing, scenario_lightning_checkpointing,
        scenario_async, scenario_load, scenario_restore, scenario_small, scenario_lightning_async,
        scenario_lightning_multinode, scenario_lightning_singlenode, scenario_simulated,
        scenario_mlperf, scenario_datagen, scenario_dataset, scenario_selfcheck, scenario_train;
extern const struct scenario *const scenarios[];
extern const size_t scenario_count;
/* NULL when there is none of that name. */
const struct scenario *scenario_find(const char *name);

/* Runs all jobs of a sweep; collective. 0 or a negative errno after run_error(). */
int run_jobs(struct run *r, const struct sweep *s);

/* Makes the directories that stand before the last '/' of a path. 0 or a negative errno. */
int run_make_dirs(const char *path);

/* Collective: ranks that came to different errors leave together, and somebody says why. The worst
 * of them, as coll_agree() has it. */
int run_agree(const struct run *r, int err, const char *why);

/* One line on standard error: "ckptbench: rank 1: text". */
void run_error(const struct run *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
