/* SPDX-License-Identifier: Apache-2.0 */
/* compare.c: see compare.h.
 *
 * A run is one value: the median of what it measured of a figure. Epochs of one run share its
 * machine's mood, and a drift of 5 % between two runs would make most equal pairs look different.
 * So runs are the replicates, five of each at least, made in turns; whether the two differ is asked
 * of all ways to deal the runs to two sides, corrected for the number of figures. Jobs belong
 * together when they are of one scenario and all keys are the same that say what is measured. */
#include "bench/report/compare.h"

#include <errno.h>
#include <fts.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/grow.h"
#include "base/text/json.h"
#include "bench/measure/measured.h"
#include "bench/core/keys.h"
#include "bench/core/run.h"
#include "bench/report/job.h"
#include "bench/report/job_labels.h"
#include "bench/report/shards_table.h"
#include "bench/measure/stats.h"

#include "base/banned.h"

enum { RUNS_MIN = 5, RUNS_MAX = 256, ROWS_MAX = 4096 };
#define LEVEL 0.05

struct side_run {
        struct json *of;
        char *path;
};

/* The runs of one side, in the order of their time. */
struct side {
        struct side_run v[RUNS_MAX];
        size_t n;
};

/* A job that a run of the first side has, and no run before it. */
struct kind {
        const struct json *run, *job;
};

/* A figure of a job: a value a run of either side. */
struct row {
        char label[160], figure[64];
        bool higher;
        double *v[2];
        size_t n[2];
        bool in_turns; /* the runs that have the figure */
        double p;      /* of the two being the same; 1 before it is known */
        double apart;  /* how far the test finds the second above the first */
};

struct table {
        struct row *v;
        size_t n;
        int width;             /* of labels */
        struct json *defaults; /* a job to which no key was given */
        struct kind *kind;
        size_t nkinds, room;
};

/* Keys that say where, not what. */
static const char *const places[] = {
        "out",          "disambiguator", "mount.path",      "mount.pid",   "server.pid",
        "path",         "suffix",        "s3.uri",          "s3.endpoint", "gcs.uri",
        "gcs.endpoint", "progress",      "hydra.sweep.dir", "mount.cache"};

static bool is_place(const char *name)
{
        for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
                if (!strcmp(places[i], name))
                        return true;
        return false;
}

static bool same_value(const struct json *a, const struct json *b)
{
        if (json_is_string(a) || json_is_string(b))
                return !strcmp(json_string(a, ""), json_string(b, ""));
        if (json_is_bool(a) || json_is_bool(b))
                return json_bool(a, false) == json_bool(b, false);
        return json_number(a, 0) == json_number(b, 0);
}

/* The value of a key that was not there yet is that which it has by itself. */
static const struct json *value_of(const struct table *t, const struct json *job, const char *key)
{
        const struct json *v = job_key(job, key);
        return v ? v : job_key(t->defaults, key);
}

/* The scenario of a job, one by its older name as by the newer. */
static const char *scenario_of(const struct kind *k)
{
        const char *name = json_string(json_get(k->run, "scenario"), "");
        return strcmp(name, "dcp") ? name : "dcp_ddp_save";
}

static bool same_job(const struct table *t, const struct kind *x, const struct kind *y)
{
        const struct json *a = x->job, *b = y->job;

        if (strcmp(scenario_of(x), scenario_of(y)) != 0)
                return false;
        for (size_t i = 0; i < key_tab.count; i++) {
                const char *key = key_tab.table[i].name;
                if (!is_place(key) && !same_value(value_of(t, a, key), value_of(t, b, key)))
                        return false;
        }
        return json_number(json_get(json_get(a, "setup"), "ranks"), 0) ==
               json_number(json_get(json_get(b, "setup"), "ranks"), 0);
}

/* --- reading --- */

static double time_of(const struct json *run)
{
        return json_number(json_get(run, "timestamp_utc"), 0);
}

static int by_time(const void *a, const void *b)
{
        const struct side_run *first = a, *second = b;
        double x = time_of(first->of), y = time_of(second->of);
        return (x > y) - (x < y);
}

static void side_release(struct side *s)
{
        for (size_t i = 0; i < s->n; i++) {
                json_free(s->v[i].of);
                free(s->v[i].path);
        }
        s->n = 0;
}

/* What a run lacks is missing in the figures of its side. */
static void say_failed(const struct side_run *r)
{
        const struct json *jobs = json_get(r->of, "job_results"), *job = json_first(jobs);
        CLEANUP(job_labels_release) struct job_labels labels = job_labels_of(jobs);

        for (size_t i = 0; job; job = json_next(job), i++) {
                const char *error = json_string(json_get(job, "error"), NULL);
                if (error)
                        fprintf(stderr, "ckptbench: %s: %s failed: %s: it is not compared\n",
                                r->path, job_label(&labels, i), error);
        }
}

static int read_run(const char *path, struct side *s)
{
        char why[PATH_MAX + 128] = "out of memory: free some";
        struct side_run r = {0};
        int err = s->n == RUNS_MAX ? -E2BIG : 0;

        if (err)
                snprintf(why, sizeof why, "more than %d runs: name fewer", RUNS_MAX);
        else
                err = json_read(path, &r.of, why, sizeof why);
        if (!err) {
                r.path = strdup(path);
                s->v[s->n++] = r;
                err = r.path ? 0 : -ENOMEM;
        }
        if (!err && !job_readable(r.of)) {
                snprintf(why, sizeof why,
                         "%s is no result of a run of this version or before: name a "
                         "run_results.json",
                         path);
                err = -EINVAL;
        }
        if (err)
                fprintf(stderr, "ckptbench: %s\n", why);
        else
                say_failed(&r);
        return err;
}

/* Of a directory; one that has none is none of a run. */
static int cannot_look(const char *path, int number)
{
        if (number == ENOTDIR || number == ENOENT)
                return 0;
        fprintf(stderr, "ckptbench: %s: %s: make it readable, or name another directory\n", path,
                strerror(number));
        return -EACCES;
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
        return strcmp((*a)->fts_name, (*b)->fts_name);
}

/* The file itself, or every run_results.json in or below a directory, links followed. */
static int read_side(char *arg, struct side *s)
{
        char *const roots[] = {arg, NULL};
        const size_t len = strlen(arg);
        int err = 0;

        if (len > 5 && !strcmp(arg + len - 5, ".json"))
                return read_run(arg, s);
        FTS *fts = *arg ? fts_open(roots, FTS_LOGICAL | FTS_NOCHDIR, by_name) : NULL;
        if (!fts && *arg)
                return cannot_look(arg, errno);
        for (FTSENT *e; fts && !err && (e = fts_read(fts));) {
                if (e->fts_info == FTS_NS || e->fts_info == FTS_DNR || e->fts_info == FTS_ERR)
                        err = cannot_look(e->fts_path, e->fts_errno);
                else if (e->fts_info == FTS_F && !strcmp(e->fts_name, "run_results.json"))
                        err = read_run(e->fts_path, s);
        }
        if (fts)
                fts_close(fts);
        if (!err && !s->n) {
                fprintf(stderr,
                        "ckptbench: %s: no run is there: name a run_results.json, or "
                        "a directory of some\n",
                        arg);
                return -ENOENT;
        }
        qsort(s->v, s->n, sizeof s->v[0], by_time);
        return err;
}

/* Whether no more than two runs of one side, of these times, followed each other: A B A B, or
 * A B B A. */
static bool made_in_turns(const double *const when[2], const size_t n[2])
{
        size_t at[2] = {0, 0};
        int last = -1, in_row = 0;

        while (at[0] < n[0] || at[1] < n[1]) {
                bool first = at[1] == n[1] || (at[0] < n[0] && when[0][at[0]] <= when[1][at[1]]);
                int now = first ? 0 : 1;
                in_row = now == last ? in_row + 1 : 1;
                if (in_row > 2)
                        return false;
                last = now;
                at[now]++;
        }
        return true;
}

/* --- rows --- */

static void table_release(struct table *t)
{
        for (size_t i = 0; i < t->n; i++) {
                free(t->v[i].v[0]);
                free(t->v[i].v[1]);
        }
        free(t->v);
        free(t->kind);
        json_free(t->defaults);
        *t = (struct table){0};
}

/* The job of a run that is the same as `like`, or NULL. */
static const struct json *job_like(const struct table *t, const struct json *run,
                                   const struct kind *like)
{
        struct kind k = {.run = run, .job = json_first(json_get(run, "job_results"))};

        for (; k.job; k.job = json_next(k.job))
                if (same_job(t, like, &k))
                        return k.job;
        return NULL;
}

/* The value of each run of a side that has it, and when that was. False: no memory. */
static bool values_of(const struct table *t, const struct side *s, const struct kind *kind,
                      const char *name, struct row *r, int which, double *when)
{
        r->v[which] = calloc(s->n, sizeof(double));
        if (!r->v[which])
                return false;
        for (size_t i = 0; i < s->n; i++) {
                CLEANUP(measured_release) struct measured m = {0};
                struct stats st;
                const struct json *j = job_like(t, s->v[i].of, kind);
                const struct json *metrics = json_get(j, "metrics");
                if (!measured_read(metrics, json_get(metrics, name), &m))
                        continue;
                if (stats_of(m.v, m.n, &st))
                        return false;
                when[r->n[which]] = time_of(s->v[i].of);
                r->v[which][r->n[which]++] = st.median;
        }
        return true;
}

/* A row for each figure of a job that both sides have. False: no memory. */
static bool add_rows(struct table *t, const struct side side[2], const struct kind *kind,
                     const char *label)
{
        const struct json *metrics = json_get(kind->job, "metrics");
        double when[2][RUNS_MAX];
        const double *const times[] = {when[0], when[1]};

        for (const struct json *of = json_first(metrics); of; of = json_next(of)) {
                CLEANUP(measured_release) struct measured m = {0};
                struct row *r = &t->v[t->n];
                if (t->n == ROWS_MAX || !measured_read(metrics, of, &m))
                        continue;
                *r = (struct row){.higher = m.higher, .p = 1};
                snprintf(r->label, sizeof r->label, "%s", label);
                snprintf(r->figure, sizeof r->figure, "%s, %s", m.name, m.unit);
                t->n++;
                for (int which = 0; which < 2; which++)
                        if (!values_of(t, &side[which], kind, json_name(of), r, which, when[which]))
                                return false;
                r->in_turns = made_in_turns(times, r->n);
                if (r->n[0] && r->n[1])
                        continue;
                free(r->v[0]);
                free(r->v[1]);
                t->n--;
        }
        return true;
}

/* Notes the job unless an earlier run has it, too; one that failed has no figures. */
static int add_kind(struct table *t, const struct kind *k)
{
        if (!json_get(k->job, "metrics"))
                return 0;
        for (size_t i = 0; i < t->nkinds; i++)
                if (same_job(t, &t->kind[i], k))
                        return 0;
        if (GROW(t->kind, t->nkinds, t->room, 16))
                return -ENOMEM;
        t->kind[t->nkinds++] = *k;
        return 0;
}

static int add_kinds(struct table *t, const struct side *s)
{
        int err = 0;

        for (size_t i = 0; i < s->n && !err; i++) {
                const struct json *run = s->v[i].of;
                struct kind k = {.run = run, .job = json_first(json_get(run, "job_results"))};
                for (; k.job && !err; k.job = json_next(k.job))
                        err = add_kind(t, &k);
        }
        return err;
}

static struct json *default_job(void)
{
        struct json *job = json_new_object();
        struct keys k;

        if (param_tab_init(&key_tab, &k))
                return job;
        keys_json(&k, json_add_object(job, "config"));
        param_tab_release(&key_tab, &k);
        return job;
}

/* What a row calls a job: by its scenario too where there are several. */
static void name_kind(const struct table *t, size_t i, const char *job, char *out, size_t n)
{
        const char *scenario = scenario_of(&t->kind[i]);
        bool several = false;

        for (size_t k = 0; k < t->nkinds; k++)
                several |= strcmp(scenario_of(&t->kind[k]), scenario) != 0;
        snprintf(out, n, "%s%s%s", several ? scenario : "", several ? ": " : "", job);
}

static bool make_rows(struct table *t, const struct side side[2])
{
        char label[160];

        t->width = 16;
        t->v = calloc(ROWS_MAX, sizeof *t->v);
        t->defaults = default_job();
        if (!t->v || add_kinds(t, &side[0]))
                return false;
        CLEANUP(freep) const struct json **job = calloc(t->nkinds + 1, sizeof *job);
        for (size_t i = 0; job && i < t->nkinds; i++)
                job[i] = t->kind[i].job;
        CLEANUP(job_labels_release)
        struct job_labels labels = job_labels_of_list(job, job ? t->nkinds : 0, is_place);
        for (size_t i = 0; i < labels.n; i++) {
                name_kind(t, i, job_label(&labels, i), label, sizeof label);
                int width = (int)strlen(label);
                t->width = width > t->width ? width : t->width;
                if (!add_rows(t, side, &t->kind[i], label))
                        return false;
        }
        return job != NULL;
}

/* --- what differs --- */

static bool enough(const struct row *r)
{
        return r->in_turns && r->n[0] >= RUNS_MIN && r->n[1] >= RUNS_MIN;
}

/* The chance of each row by dealing the runs anew, times the number of rows that are asked, in
 * Holm's steps. */
static int judge(struct table *t)
{
        CLEANUP(freep) double *p = calloc(t->n, sizeof *p);
        size_t asked = 0;

        if (!p)
                return -ENOMEM;
        for (size_t i = 0; i < t->n; i++) {
                struct row *r = &t->v[i];
                if (!enough(r))
                        continue;
                int err = stats_dealt_anew(r->v[0], r->n[0], r->v[1], r->n[1], &p[asked++],
                                           &r->apart);
                if (err)
                        return err;
        }
        int err = stats_holm(p, asked);
        for (size_t i = 0, k = 0; i < t->n; i++)
                if (enough(&t->v[i]))
                        t->v[i].p = p[k++];
        return err;
}

/* `apart`: of the medians, which have to differ as what was tested does. */
static void print_verdict(const struct table *t, const struct row *r, double apart)
{
        const char *better = (apart < 0) == r->higher ? "first" : "second";

        if (r->n[0] < RUNS_MIN || r->n[1] < RUNS_MIN)
                printf("no verdict: %zu and %zu runs, %d of each are needed\n", r->n[0], r->n[1],
                       RUNS_MIN);
        else if (!r->in_turns)
                printf("no verdict: the runs were not made in turns\n");
        else if (r->p >= LEVEL && stats_dealt_least(r->n[0], r->n[1]) * (double)t->n >= LEVEL)
                printf("no verdict: %zu figures need more runs of each\n", t->n);
        else if (r->p >= LEVEL)
                printf("no difference shown (p %.2f)\n", r->p);
        else if (!(apart * r->apart > 0))
                printf("no verdict: the medians do not differ as the means do\n");
        else if (r->p < 0.001)
                printf("the %s is faster (p < 0.001)\n", better);
        else
                printf("the %s is faster (p %.3f)\n", better, r->p);
}

static int print_row(const struct table *t, const struct row *r)
{
        struct stats a, b;
        struct interval in;
        char range[32] = "", ratio[32] = "-";

        if (stats_of(r->v[0], r->n[0], &a) || stats_of(r->v[1], r->n[1], &b))
                return -ENOMEM;
        if (a.median > 0)
                snprintf(ratio, sizeof ratio, "%.3f", b.median / a.median);
        if (a.min > 0 && r->n[0] >= RUNS_MIN && r->n[1] >= RUNS_MIN) {
                int err = stats_ratio_interval(r->v[0], r->n[0], r->v[1], r->n[1], &in);
                if (err)
                        return err;
                snprintf(range, sizeof range, "%.3f-%.3f", in.low, in.high);
        }
        printf("%-*s %-18s %-6s %10.4g %10.4g %7s  %-13s  ", t->width, r->label, r->figure,
               r->higher ? "higher" : "lower", a.median, b.median, ratio, range);
        print_verdict(t, r, b.median - a.median);
        return 0;
}

/* What a run says of itself at `group`, `name` as text. */
static void said(const struct json *run, const char *group, const char *name, char *out, size_t n)
{
        const struct json *v = json_get(*group ? json_get(run, group) : run, name);
        if (json_is_string(v))
                snprintf(out, n, "%s", json_string(v, ""));
        else
                snprintf(out, n, "%.0f", json_number(v, 0));
}

/* Different machines are said first: what differs then may be theirs. */
static void print_machines(const struct side side[2])
{
        static const char *const facts[][2] = {{"machine", "host"},
                                               {"machine", "cpu"},
                                               {"machine", "cores"},
                                               {"machine", "memory_bytes"},
                                               {"versions", "kernel"}};
        char first[256], other[256];

        for (size_t f = 0; f < sizeof facts / sizeof facts[0]; f++)
                for (int which = 0; which < 2; which++)
                        for (size_t i = 0; i < side[which].n; i++) {
                                said(side[0].v[0].of, facts[f][0], facts[f][1], first,
                                     sizeof first);
                                said(side[which].v[i].of, facts[f][0], facts[f][1], other,
                                     sizeof other);
                                if (!strcmp(first, other))
                                        continue;
                                printf("different machines: %s is %s and %s\n", facts[f][1], first,
                                       other);
                                i = side[which].n;
                        }
        for (int which = 0; which < 2; which++)
                for (size_t i = 0; i < side[which].n; i++) {
                        said(json_first(json_get(side[0].v[0].of, "job_results")), "", "device",
                             first, sizeof first);
                        said(json_first(json_get(side[which].v[i].of, "job_results")), "", "device",
                             other, sizeof other);
                        if (strcmp(first, other) != 0)
                                printf("different devices: %s and %s\n", first, other);
                }
}

static int compare(const struct side side[2])
{
        CLEANUP(table_release) struct table t = {0};

        int err = make_rows(&t, side) ? 0 : -ENOMEM;
        if (!err && !t.n) {
                fprintf(stderr, "ckptbench: the runs have no job in common: give two of one "
                                "scenario with the same "
                                "keys\n");
                return 1;
        }
        if (!err)
                err = judge(&t);
        if (!err) {
                print_machines(side);
                printf("%-*s %-18s %-6s %10s %10s %7s  %-13s  verdict\n", t.width, "job", "figure",
                       "better", "first", "second", "ratio", "95 % interval");
        }
        for (size_t i = 0; i < t.n && !err; i++)
                err = print_row(&t, &t.v[i]);
        if (err)
                fprintf(stderr, "ckptbench: %s: free some memory\n", strerror(-err));
        return err ? 1 : 0;
}

int compare_main(int argc, char **argv)
{
        static struct side side[2]; /* too large for a stack */
        int rc = 1;

        if (argc != 3) {
                fprintf(stderr, "ckptbench: two sides are compared: give ckptbench compare FIRST "
                                "SECOND, each a run_results.json or a directory of some\n");
                return 1;
        }
        if (!read_side(argv[1], &side[0]) && !read_side(argv[2], &side[1]))
                rc = compare(side);
        side_release(&side[0]);
        side_release(&side[1]);
        return rc;
}
