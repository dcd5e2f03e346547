/* SPDX-License-Identifier: Apache-2.0 */
/* torch.h: saves and loads of one file with the whole model, as torch.save() or Lightning's trainer
 * writes it, by one rank: what the scenarios of single files share. */
#ifndef CKPTFS_BENCH_SCENARIO_TORCH_H
#define CKPTFS_BENCH_SCENARIO_TORCH_H

#include "bench/data/run_name.h"
#include "bench/measure/measure.h"
#include "bench/data/model.h"
#include "bench/data/payload.h"
#include "bench/core/run.h"
#include "bench/measure/sampler.h"
#include "bench/report/shards_table.h"
#include "bench/measure/timed.h"

enum { TORCH_NAME_MAX = 128 };

struct torch_job {
        const struct run *run;
        const struct keys *k;
        const struct io_storage *storage;
        struct model model;
        struct payload payload;
        struct timed timed;
        bool lightning;     /* the file and its save are Lightning's, not torch.save()'s */
        struct io *staging; /* NULL: the file is written where it stays */
        const char *file;   /* that is saved, loaded or removed */
        char dir[FRESH_NAME_MAX];
        struct sample *save, *load; /* nsaves and nloads of them */
        size_t nsaves, nloads;
        const char *dropped;
        struct sampler use;
};

/* How many of the epochs save one, by epochs and save_one_in. */
size_t torch_count_saves(const struct keys *k);
/* Whether storage and model can be had for so many saves, at least one, and with --dry-run what
 * would be done: 0, or -EINVAL with one line in `why`. */
int torch_plan_epochs(const struct run *r, const struct keys *k, FILE *dry, char *why, size_t nwhy);

/* Ready to save so often and to load so often, into `dir` or, where that is NULL, a fresh
 * directory; sampling of the machine begins. 0 or a negative errno after run_error(). torch_end()
 * in both cases. */
int torch_begin(struct torch_job *j, const struct run *r, const struct keys *k, const char *dir,
                size_t saves, size_t loads);
void torch_end(struct torch_job *j);

/* The file of save i: MODEL-i.ckpt. */
void torch_name(const struct torch_job *j, size_t i, char out[TORCH_NAME_MAX]);

/* Saves the bytes of save i under a name; loads and verifies them. What it took goes to *out, one
 * of j->save and j->load or the caller's. 0 or a negative errno after run_error(). */
int torch_save(struct torch_job *j, size_t i, const char *name, struct sample *out);
int torch_load(struct torch_job *j, size_t i, const char *name, struct sample *out);
int torch_remove(struct torch_job *j, const char *name);

/* Adds what was measured; *suite is where the fields of the suites are, and more may be added. 0 or
 * -ENOMEM. */
int torch_report(struct torch_job *j, struct json *job, struct json **suite);

/* What the suite's scenarios of one file have alike. */
extern const char *const torch_defaults[];
#define TORCH_EPOCHS                                                                               \
        .device = true, .defaults = torch_defaults, .plan = torch_plan_epochs,                     \
        .table = shards_table, .says = shards_says, .page = shards_page

#endif
