/* SPDX-License-Identifier: Apache-2.0 */
/* compare.c: see compare.h. Jobs belong together when all keys are the same that say what is
 * measured; of whatever they measured several times the medians are set beside each other, and an
 * interval of their ratio that covers 1 is no difference. */
#include "bench/compare.h"

#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "bench/run.h"
#include "bench/shards_table.h"
#include "bench/stats.h"

#include "base/banned.h"

/* Keys that say where, not what. */
static const char *const places[] = {"out",         "disambiguator", "mount.path",   "mount.pid",
                                     "server.pid",  "path",          "suffix",       "s3.uri",
                                     "s3.endpoint", "gcs.uri",       "gcs.endpoint", "progress"};

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

static bool same_job(const struct json *a, const struct json *b)
{
        const struct json *x = json_get(a, "config"), *y = json_get(b, "config");
        for (size_t i = 0; i < json_count(x); i++) {
                const struct json *v = json_at(x, i);
                if (!is_place(json_name(v)) && !same_value(v, json_get(y, json_name(v))))
                        return false;
        }
        return json_number(json_get(json_get(a, "setup"), "ranks"), 0) ==
               json_number(json_get(json_get(b, "setup"), "ranks"), 0);
}

/* --- what a job measured more than once ----------------------------------------------------------
 */

/* Values of one figure, malloc'ed; whether more is better or less. */
struct values {
        char name[48];
        const char *unit;
        bool higher;
        double *v;
        size_t n;
};

static void values_release(struct values *f)
{
        free(f->v);
        *f = (struct values){0};
}

/* Seconds of each epoch of a phase, the longest of its ranks. */
static void of_phase(const struct json *epochs, struct values *f)
{
        f->n = json_count(epochs);
        f->v = f->n ? calloc(f->n, sizeof *f->v) : NULL;
        for (size_t e = 0; f->v && e < f->n; e++)
                for (const struct json *r = json_first(json_at(epochs, e)); r; r = json_next(r)) {
                        double s = json_number(json_get(r, "total_s"), 0);
                        f->v[e] = s > f->v[e] ? s : f->v[e];
                }
}

static void of_list(const struct json *list, struct values *f)
{
        size_t i = 0;

        f->n = json_count(list);
        f->v = f->n ? calloc(f->n, sizeof *f->v) : NULL;
        for (const struct json *v = json_first(list); f->v && v; v = json_next(v))
                f->v[i++] = json_number(v, 0);
}

/* Lists that stand in "metrics" by themselves. */
static const struct {
        const char *at, *name, *unit;
        bool higher;
} lists[] = {
        {"blocked_s", "blocked", "s", false},       {"staged_s", "staged", "s", false},
        {"durable_s", "durable", "s", false},       {"visible_s", "visible", "s", false},
        {"save_times_s", "checkpoint", "s", false}, {"epoch_samples_per_s", "samples", "1/s", true},
};

/* The unit is at the end of a name: "store_ms". What has none is a rate in GB/s. */
static void of_each(const struct json *of, struct values *f)
{
        const char *name = json_name(of), *end = strrchr(name, '_');
        bool ms = end && !strcmp(end, "_ms"), s = end && !strcmp(end, "_s");

        snprintf(f->name, sizeof f->name, "%.*s", ms || s ? (int)(end - name) : 40, name);
        f->unit = ms ? "ms" : s ? "s" : "GB/s";
        f->higher = !ms && !s;
        of_list(json_get(of, "each"), f);
}

/* Takes an entry of "metrics" for a figure. False: it is none, or there is no memory. */
static bool read_figure(const struct json *of, struct values *f)
{
        const char *name = json_name(of);

        *f = (struct values){.unit = "s"};
        snprintf(f->name, sizeof f->name, "%.40s", name);
        if (json_get(of, "epochs"))
                of_phase(json_get(of, "epochs"), f);
        else if (json_get(of, "each"))
                of_each(of, f);
        for (size_t i = 0; json_is_array(of) && i < sizeof lists / sizeof lists[0]; i++) {
                if (strcmp(name, lists[i].at))
                        continue;
                snprintf(f->name, sizeof f->name, "%s", lists[i].name);
                f->unit = lists[i].unit;
                f->higher = lists[i].higher;
                of_list(of, f);
        }
        return f->v;
}

/* --- beside each other --------------------------------------------------------------------------
 */

static const char *verdict(const struct interval *in, bool higher)
{
        if (in->low <= 1 && in->high >= 1)
                return "no difference";
        return (in->high < 1) == higher ? "the first is faster" : "the second is faster";
}

/* One line. False when there is no memory. */
static bool compare_values(const struct values *a, const struct values *b, const char *label,
                           int width)
{
        struct stats sa, sb;
        struct interval in;
        char figure[64];

        if (stats_of(a->v, a->n, &sa) || stats_of(b->v, b->n, &sb))
                return false;
        snprintf(figure, sizeof figure, "%s, %s", a->name, a->unit);
        printf("%-*s %-18s %-6s %10.4g %10.4g %7.3f  ", width, label, figure,
               a->higher ? "higher" : "lower", sa.median, sb.median,
               stats_ratio(sb.median, sa.median));
        int err = stats_ratio_interval(a->v, a->n, b->v, b->n, &in);
        if (err)
                printf("%s\n",
                       err == -EINVAL ? "no interval: fewer than 3 of each" : strerror(-err));
        else
                printf("%.3f-%.3f  %s\n", in.low, in.high, verdict(&in, a->higher));
        return true;
}

/* Every figure that both jobs have. True when there was one. */
static bool compare_jobs(const struct json *a, const struct json *b, const char *label, int width)
{
        const struct json *x = json_get(a, "metrics"), *y = json_get(b, "metrics");
        bool any = false;

        for (const struct json *of = json_first(x); of; of = json_next(of)) {
                CLEANUP(values_release) struct values va = {0};
                CLEANUP(values_release) struct values vb = {0};
                const struct json *other = json_get(y, json_name(of));
                if (other && read_figure(of, &va) && read_figure(other, &vb))
                        any |= compare_values(&va, &vb, label, width);
        }
        return any;
}

static int compare(const struct json *a, const struct json *b)
{
        const struct json *x = json_get(a, "job_results"), *y = json_get(b, "job_results");
        char label[160];
        int width = 16;
        bool any = false;

        for (size_t i = 0; i < json_count(x); i++) {
                shards_label(x, i, label, sizeof label);
                width = (int)strlen(label) > width ? (int)strlen(label) : width;
        }
        printf("%-*s %-18s %-6s %10s %10s %7s  95 %% interval\n", width, "job", "figure", "better",
               "first", "second", "ratio");
        for (size_t i = 0; i < json_count(x); i++)
                for (size_t j = 0; j < json_count(y); j++) {
                        if (!same_job(json_at(x, i), json_at(y, j)))
                                continue;
                        shards_label(x, i, label, sizeof label);
                        any |= compare_jobs(json_at(x, i), json_at(y, j), label, width);
                        break;
                }
        if (any)
                return 0;
        fprintf(stderr, "ckptbench: the runs have no job in common: give two with the same keys\n");
        return 1;
}

/* The file itself, or the only run_results.json in or below a directory, two levels deep. */
static int find_run(const char *arg, char out[PATH_MAX])
{
        static const char *const below[] = {"", "/run_results.json", "/*/run_results.json",
                                            "/*/*/run_results.json"};
        for (size_t i = 0; i < sizeof below / sizeof below[0]; i++) {
                CLEANUP(buf_release) struct buf pattern = BUF_INIT;
                glob_t g = {0};
                size_t n = strlen(arg);
                if (i == 0 && (n < 5 || strcmp(arg + n - 5, ".json")))
                        continue;
                buf_addf(&pattern, "%s%s", arg, below[i]);
                size_t found = glob(pattern.p, 0, NULL, &g) ? 0 : g.gl_pathc;
                if (found == 1)
                        snprintf(out, PATH_MAX, "%s", g.gl_pathv[0]);
                globfree(&g);
                if (found)
                        return found == 1 ? 0 : -E2BIG;
        }
        return -ENOENT;
}

static int read_run(const char *arg, struct json **out)
{
        char path[PATH_MAX], why[PATH_MAX + 128];
        int err = find_run(arg, path);

        if (err)
                snprintf(why, sizeof why, "%s: %s: name one run_results.json", arg,
                         err == -E2BIG ? "more than one run is there" : "no run is there");
        else
                err = json_read(path, out, why, sizeof why);
        if (!err && strcmp(json_string(json_get(*out, "format"), ""), RUN_FORMAT)) {
                snprintf(why, sizeof why, "%s is no result of a run: name a run_results.json",
                         path);
                err = -EINVAL;
        }
        if (err)
                fprintf(stderr, "ckptbench: %s\n", why);
        return err;
}

int compare_main(int argc, char **argv)
{
        CLEANUP(json_freep) struct json *a = NULL;
        CLEANUP(json_freep) struct json *b = NULL;

        if (argc != 3) {
                fprintf(stderr, "usage: ckptbench compare FIRST SECOND\n");
                return 1;
        }
        if (read_run(argv[1], &a) || read_run(argv[2], &b))
                return 1;
        return compare(a, b);
}
