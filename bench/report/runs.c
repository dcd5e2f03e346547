/* SPDX-License-Identifier: Apache-2.0 */
/* runs.c: see runs.h. */
#include "bench/report/runs.h"

#include <errno.h>
#include <fts.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "bench/report/job.h"
#include "bench/report/shards_table.h"

#include "base/banned.h"

enum { SPEEDS_MAX = 16, BARS_MAX = 40 };

static void release_one(struct run_found *f)
{
        free(f->path);
        free(f->says);
        free(f->speed);
}

void runs_release(struct runs *r)
{
        for (size_t i = 0; i < r->n; i++)
                release_one(&r->v[i]);
        free(r->v);
        *r = (struct runs)RUNS_INIT;
}

/* --- one run --- */

struct json *runs_read(const char *path)
{
        CLEANUP(json_freep) struct json *run = NULL;
        char why[512];

        if (json_read(path, &run, why, sizeof why)) {
                fprintf(stderr, "ckptbench: %s\n", why);
                return NULL;
        }
        if (!job_readable(run) || !scenario_find(json_string(json_get(run, "scenario"), ""))) {
                fprintf(stderr, "ckptbench: %s is no result of this version or before: left out\n",
                        path);
                return NULL;
        }
        return TAKE_PTR(run);
}

static void name_run(struct run_found *f)
{
        char when[40];
        time_t t = (time_t)f->when;
        struct tm tm = {0}; /* a time that is none stays so */

        gmtime_r(&t, &tm);
        strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S UTC", &tm);
        snprintf(f->title, sizeof f->title, "%s, %s", f->scenario->name, when);
}

static int add_speeds(struct run_found *f, const struct json *jobs)
{
        CLEANUP(job_labels_release) struct job_labels labels = job_labels_of(jobs);

        f->speed = calloc(SPEEDS_MAX, sizeof *f->speed);
        for (size_t i = 0; f->speed && i < labels.n && f->nspeeds < SPEEDS_MAX; i++) {
                const struct json *job = json_at(jobs, i);
                struct run_speed *s = &f->speed[f->nspeeds];
                s->save = shards_metric(job, "save", "gb_per_s");
                s->load = shards_metric(job, "load", "gb_per_s");
                if (!shards_moves_data(job) || json_get(job, "error") ||
                    (s->save <= 0 && s->load <= 0))
                        continue;
                snprintf(s->label, sizeof s->label, "%s", job_label(&labels, i));
                f->nspeeds++;
        }
        return f->speed ? 0 : -ENOMEM;
}

static int sum_up(struct run_found *f, const struct json *run, const char *path)
{
        struct buf says = BUF_INIT;

        f->scenario = scenario_find(json_string(json_get(run, "scenario"), ""));
        f->when = json_number(json_get(run, "timestamp_utc"), 0);
        name_run(f);
        f->path = strdup(path);
        if (f->scenario->says)
                f->scenario->says(run, &says);
        f->says = says.failed ? NULL : strdup(says.p ? says.p : "");
        buf_release(&says);
        int err = f->path && f->says ? add_speeds(f, json_get(run, "job_results")) : -ENOMEM;
        if (err)
                release_one(f);
        return err;
}

/* --- all of them --- */

static int add_file(struct runs *r, const char *path)
{
        CLEANUP(json_freep) struct json *run = NULL;

        if (r->n == RUNS_MAX) {
                r->beyond++;
                return 0;
        }
        run = runs_read(path);
        if (!run) {
                r->skipped++;
                return 0;
        }
        if (GROW(r->v, r->n, r->cap, 16))
                return -ENOMEM;
        r->v[r->n] = (struct run_found){0};
        int err = sum_up(&r->v[r->n], run, path);
        if (!err)
                r->n++;
        return err;
}

/* A directory or file below the one that was named. */
static void skip(struct runs *r, const char *path, int number)
{
        fprintf(stderr, "ckptbench: %s: %s: left out\n", path, strerror(number));
        r->skipped++;
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
        return strcmp((*a)->fts_name, (*b)->fts_name);
}

int runs_find(struct runs *r, char *dir)
{
        char *const roots[] = {dir, NULL};
        FTS *fts = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, by_name);
        int err = 0;

        if (!fts)
                return -errno;
        for (FTSENT *e; !err && (e = fts_read(fts));) {
                bool root = e->fts_level == FTS_ROOTLEVEL;
                bool failed =
                        e->fts_info == FTS_NS || e->fts_info == FTS_DNR || e->fts_info == FTS_ERR;
                if (failed && root)
                        err = -e->fts_errno;
                else if (failed)
                        skip(r, e->fts_path, e->fts_errno);
                else if (e->fts_info == FTS_F && (root || !strcmp(e->fts_name, "run_results.json")))
                        err = add_file(r, e->fts_path);
        }
        fts_close(fts);
        return err;
}

/* Runs of the same second stay apart by their paths, which end in a number. */
static int by_time(const void *a, const void *b)
{
        const struct run_found *x = a, *y = b;
        return x->when != y->when ? (x->when > y->when) - (x->when < y->when)
                                  : strcmp(x->path, y->path);
}

void runs_sort(struct runs *r)
{
        if (r->n)
                qsort(r->v, r->n, sizeof *r->v, by_time);
}

/* --- what they show together --- */

/* The speeds of all runs, the newest where they are more than a chart holds. */
static void chart(const struct runs *r, struct doc *d)
{
        char text[BARS_MAX][192];
        const char *label[BARS_MAX];
        double v[BARS_MAX * 2];
        size_t first = r->n, bars = 0, of = 0;
        struct plot p = {.title = "Speed of each run, in order of time",
                         .unit = "GB/s",
                         .series = {"save", "load"},
                         .nseries = 2,
                         .label = label,
                         .v = v};

        while (first > 0 && bars + r->v[first - 1].nspeeds <= BARS_MAX)
                bars += r->v[--first].nspeeds;
        for (size_t i = first; i < r->n; i++) {
                of += r->v[i].nspeeds > 0;
                for (size_t s = 0; s < r->v[i].nspeeds; s++) {
                        const struct run_speed *speed = &r->v[i].speed[s];
                        snprintf(text[p.npoints], sizeof text[0], "%zu. %s", i + 1, speed->label);
                        label[p.npoints] = text[p.npoints];
                        v[2 * p.npoints] = speed->save;
                        v[2 * p.npoints++ + 1] = speed->load;
                }
        }
        if (of > 1)
                doc_plot(d, &p);
}

void runs_page(const struct runs *r, struct doc *d)
{
        for (size_t i = 0; i < r->n; i++)
                doc_contents(d, i + 1, r->v[i].title, r->v[i].says);
        chart(r, d);
}
