/* SPDX-License-Identifier: Apache-2.0 */
/* compare.c: see compare.h.
 *
 * A run is one value: the median of what it measured of a figure. Epochs of one run share its
 * machine's mood, and a drift of 5 % between two runs would make most equal pairs look different.
 * So runs are the replicates, five of each at least, made in turns; whether the two differ is asked
 * of all ways to deal the runs to two sides, corrected for the number of figures. Jobs belong
 * together when all keys are the same that say what is measured. */
#include "bench/report/compare.h"

#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/text/json.h"
#include "bench/measure/measured.h"
#include "bench/core/keys.h"
#include "bench/core/run.h"
#include "bench/report/job.h"
#include "bench/report/shards_table.h"
#include "bench/measure/stats.h"

#include "base/banned.h"

enum { RUNS_MIN = 5, RUNS_MAX = 256, ROWS_MAX = 4096 };
#define LEVEL 0.05

/* The runs of one side, in the order of their time. */
struct side {
        struct json *v[RUNS_MAX];
        size_t n;
};

/* A figure of a job: a value a run of either side. */
struct row {
        char label[160], figure[64];
        bool higher;
        double *v[2];
        size_t n[2];
        double p;     /* of the two being the same; 1 before it is known */
        double apart; /* how far the test finds the second above the first */
};

struct table {
        struct row *v;
        size_t n;
        int width;             /* of labels */
        struct json *defaults; /* a job to which no key was given */
        bool in_turns;
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

static bool same_job(const struct table *t, const struct json *a, const struct json *b)
{
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
        double x = time_of(*(struct json *const *)a), y = time_of(*(struct json *const *)b);
        return (x > y) - (x < y);
}

static void side_release(struct side *s)
{
        for (size_t i = 0; i < s->n; i++)
                json_free(s->v[i]);
        s->n = 0;
}

static int read_run(const char *path, struct side *s)
{
        char why[PATH_MAX + 128];
        int err = s->n == RUNS_MAX ? -E2BIG : 0;

        if (err)
                snprintf(why, sizeof why, "more than %d runs: name fewer", RUNS_MAX);
        else
                err = json_read(path, &s->v[s->n], why, sizeof why);
        if (!err && !job_readable(s->v[s->n++])) {
                snprintf(why, sizeof why,
                         "%s is no result of a run of this version or before: name a "
                         "run_results.json",
                         path);
                err = -EINVAL;
        }
        if (err)
                fprintf(stderr, "ckptbench: %s\n", why);
        return err;
}

/* The file itself, or every run_results.json in or below a directory, two levels deep. */
static int read_side(const char *arg, struct side *s)
{
        static const char *const below[] = {"/run_results.json", "/*/run_results.json",
                                            "/*/*/run_results.json"};
        size_t len = strlen(arg);
        int err = 0;

        if (len > 5 && !strcmp(arg + len - 5, ".json"))
                return read_run(arg, s);
        for (size_t i = 0; i < sizeof below / sizeof below[0] && !err; i++) {
                CLEANUP(buf_release) struct buf pattern = BUF_INIT;
                glob_t g = {0};
                buf_addf(&pattern, "%s%s", arg, below[i]);
                size_t found = glob(pattern.p, 0, NULL, &g) ? 0 : g.gl_pathc;
                for (size_t f = 0; f < found && !err; f++)
                        err = read_run(g.gl_pathv[f], s);
                globfree(&g);
        }
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

/* Whether no more than two runs of one side followed each other: A B A B, or A B B A. */
static bool made_in_turns(const struct side side[2])
{
        size_t at[2] = {0, 0};
        int last = -1, in_row = 0;

        while (at[0] < side[0].n || at[1] < side[1].n) {
                bool first = at[1] == side[1].n ||
                             (at[0] < side[0].n &&
                              time_of(side[0].v[at[0]]) <= time_of(side[1].v[at[1]]));
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
        json_free(t->defaults);
        *t = (struct table){0};
}

/* The job of a run that is the same as `like`, or NULL. */
static const struct json *job_like(const struct table *t, const struct json *run,
                                   const struct json *like)
{
        for (const struct json *j = json_first(json_get(run, "job_results")); j; j = json_next(j))
                if (same_job(t, like, j))
                        return j;
        return NULL;
}

/* The value of each run of a side that has it. False: no memory. */
static bool values_of(const struct table *t, const struct side *s, const struct json *job,
                      const char *name, struct row *r, int which)
{
        r->v[which] = calloc(s->n, sizeof(double));
        if (!r->v[which])
                return false;
        for (size_t i = 0; i < s->n; i++) {
                CLEANUP(measured_release) struct measured m = {0};
                struct stats st;
                const struct json *j = job_like(t, s->v[i], job);
                const struct json *metrics = json_get(j, "metrics");
                if (!measured_read(metrics, json_get(metrics, name), &m))
                        continue;
                if (stats_of(m.v, m.n, &st))
                        return false;
                r->v[which][r->n[which]++] = st.median;
        }
        return true;
}

/* A row for each figure of a job that both sides have. False: no memory. */
static bool add_rows(struct table *t, const struct side side[2], const struct json *job,
                     const char *label)
{
        const struct json *metrics = json_get(job, "metrics");

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
                        if (!values_of(t, &side[which], job, json_name(of), r, which))
                                return false;
                if (r->n[0] && r->n[1])
                        continue;
                free(r->v[0]);
                free(r->v[1]);
                t->n--;
        }
        return true;
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

static bool make_rows(struct table *t, const struct side side[2])
{
        const struct json *jobs = json_get(side[0].v[0], "job_results");
        CLEANUP(job_labels_release) struct job_labels labels = job_labels_of(jobs);

        t->width = labels.width > 16 ? labels.width : 16;
        t->v = calloc(ROWS_MAX, sizeof *t->v);
        t->defaults = default_job();
        t->in_turns = made_in_turns(side);
        for (size_t i = 0; t->v && i < labels.n; i++)
                if (!add_rows(t, side, json_at(jobs, i), job_label(&labels, i)))
                        return false;
        return t->v;
}

/* --- what differs --- */

static bool enough(const struct table *t, const struct row *r)
{
        return t->in_turns && r->n[0] >= RUNS_MIN && r->n[1] >= RUNS_MIN;
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
                if (!enough(t, r))
                        continue;
                int err = stats_dealt_anew(r->v[0], r->n[0], r->v[1], r->n[1], &p[asked++],
                                           &r->apart);
                if (err)
                        return err;
        }
        int err = stats_holm(p, asked);
        for (size_t i = 0, k = 0; i < t->n; i++)
                if (enough(t, &t->v[i]))
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
        else if (!t->in_turns)
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
                                said(side[0].v[0], facts[f][0], facts[f][1], first, sizeof first);
                                said(side[which].v[i], facts[f][0], facts[f][1], other,
                                     sizeof other);
                                if (!strcmp(first, other))
                                        continue;
                                printf("different machines: %s is %s and %s\n", facts[f][1], first,
                                       other);
                                i = side[which].n;
                        }
        for (int which = 0; which < 2; which++)
                for (size_t i = 0; i < side[which].n; i++) {
                        said(json_first(json_get(side[0].v[0], "job_results")), "", "device", first,
                             sizeof first);
                        said(json_first(json_get(side[which].v[i], "job_results")), "", "device",
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
                fprintf(stderr,
                        "ckptbench: the runs have no job in common: give two with the same keys\n");
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
