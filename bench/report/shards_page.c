/* SPDX-License-Identifier: Apache-2.0 */
/* shards_page.c: a run whose jobs save and load in epochs, in the report. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "bench/report/job.h"
#include "bench/report/shards_table.h"
#include "bench/measure/stats.h"

#include "base/banned.h"

enum { LABEL_MAX = 160, MAX_RANKS = 1024 };

static const char *const phases[] = {"save", "load"};

/* The jobs of a run with their names. */
struct jobs {
        size_t n;
        const struct json **job;
        const struct json *list;
        struct job_labels labels;
        bool any_s3;
};

static void jobs_release(struct jobs *jobs)
{
        job_labels_release(&jobs->labels);
        free(jobs->job);
}

static const char *label_of(const struct jobs *jobs, size_t i)
{
        return job_label(&jobs->labels, i);
}

static void row(struct doc *d, const struct jobs *jobs, size_t i)
{
        static const char *const fields[] = {"seconds", "gb_per_s"};
        const struct json *job = jobs->job[i];
        bool moved = shards_moves_data(job);

        doc_text(d, label_of(jobs, i));
        for (int p = 0; p < 2; p++)
                for (int f = 0; f < 2; f++)
                        doc_figure(d, moved || !f ? shards_metric(job, phases[p], fields[f]) : 0,
                                   f ? 2 : 3);
        for (int p = 0; p < 2; p++)
                doc_figure(d, moved ? shards_metric(job, phases[p], "cpu_s_per_gb") : 0, 2);
        const struct json *s3 = shards_direct(jobs->list, &jobs->labels, i);
        for (int p = 0; jobs->any_s3 && p < 2; p++) {
                double direct = shards_metric(s3, phases[p], "gb_per_s");
                double own = moved ? shards_metric(job, phases[p], "gb_per_s") : 0;
                doc_figure(d, stats_ratio(own, direct), 2);
        }
}

static void table(struct doc *d, const struct jobs *jobs)
{
        static const char relative[] = "speed relative to s3";
        const struct doc_column columns[] = {{NULL, "storage"},        {"save", "s"},
                                             {"save", "GB/s"},         {"load", "s"},
                                             {"load", "GB/s"},         {"CPU-s per GB", "save"},
                                             {"CPU-s per GB", "load"}, {relative, "save"},
                                             {relative, "load"}};

        doc_table(d, columns, sizeof columns / sizeof columns[0] - (jobs->any_s3 ? 0 : 2));
        for (size_t i = 0; i < jobs->n; i++)
                row(d, jobs, i);
        doc_table_end(d);
}

/* The most values that a figure of a job has. */
static double most_epochs(const struct jobs *jobs)
{
        double most = 0;

        for (size_t i = 0; i < jobs->n; i++)
                for (int p = 0; p < 2; p++) {
                        const struct json *m = json_get(jobs->job[i], "metrics");
                        const struct json *st = json_get(json_get(m, phases[p]), "seconds_stats");
                        double n = json_number(json_get(st, "n"), 0);
                        most = n > most ? n : most;
                }
        return most;
}

/* How the seconds of epochs are spread, a row a job and phase. */
static void spread_table(struct doc *d, const struct jobs *jobs)
{
        static const char *const fields[] = {
                "n",   "mean", "sd",  "min",           "p25",           "median",
                "p75", "p90",  "max", "median_95_low", "median_95_high"};
        static const char interval[] = "95 % interval of the median";
        /* That of three is all of them. */
        const size_t left_out = most_epochs(jobs) > 3 ? 0 : 2;
        const struct doc_column columns[] = {
                {NULL, "seconds"}, {NULL, "n"},   {NULL, "mean"},     {NULL, "std"},
                {NULL, "min"},     {NULL, "p25"}, {NULL, "p50"},      {NULL, "p75"},
                {NULL, "p90"},     {NULL, "max"}, {interval, "from"}, {interval, "to"}};

        doc_table(d, columns, sizeof columns / sizeof columns[0] - left_out);
        for (size_t i = 0; i < jobs->n; i++)
                for (int p = 0; p < 2; p++) {
                        const struct json *m = json_get(jobs->job[i], "metrics");
                        const struct json *st = json_get(json_get(m, phases[p]), "seconds_stats");
                        CLEANUP(buf_release) struct buf name = BUF_INIT;
                        if (!st)
                                continue;
                        buf_addf(&name, "%s, %s", label_of(jobs, i), phases[p]);
                        doc_text(d, name.p);
                        for (size_t f = 0; f < sizeof fields / sizeof fields[0] - left_out; f++)
                                doc_figure(d, json_number(json_get(st, fields[f]), 0), f ? 3 : 0);
                }
        doc_table_end(d);
}

/* A chart with a bar or group a job (per_phase false) or two (true: save and load). */
static void chart(struct doc *d, const struct jobs *jobs, struct plot *p, bool per_phase,
                  const char *const *fields)
{
        size_t bars = 0, most = jobs->n * 2;
        CLEANUP(freep) double *v = calloc(most * PLOT_SERIES_MAX, sizeof *v);
        CLEANUP(freep) const char **label = calloc(most, sizeof *label);
        CLEANUP(freep) char(*text)[LABEL_MAX + 8] = calloc(most, sizeof *text);

        if (!v || !label || !text)
                return;
        for (size_t i = 0; i < jobs->n; i++) {
                if (!shards_moves_data(jobs->job[i]) || json_get(jobs->job[i], "error"))
                        continue;
                for (int ph = 0; ph < (per_phase ? 2 : 1); ph++) {
                        const struct json *m = json_get(jobs->job[i], "metrics");
                        if (per_phase && !json_get(m, phases[ph]))
                                continue;
                        snprintf(text[bars], sizeof text[bars], "%s%s%s", label_of(jobs, i),
                                 per_phase ? " " : "", per_phase ? phases[ph] : "");
                        label[bars] = text[bars];
                        for (size_t s = 0; s < p->nseries; s++)
                                v[bars * p->nseries + s] =
                                        shards_metric(jobs->job[i], phases[per_phase ? ph : (int)s],
                                                      fields[per_phase ? s : 0]);
                        bars++;
                }
        }
        p->label = label;
        p->v = v;
        p->npoints = bars;
        if (bars)
                doc_plot(d, p);
}

/* The seconds of one rank over epochs: median, least and most. False when there are none. */
static bool rank_seconds(const struct json *epochs, size_t rank, double out[3])
{
        size_t n = json_count(epochs);
        CLEANUP(freep) double *v = calloc(n + 1, sizeof *v);
        struct stats st;

        for (size_t e = 0; v && e < n; e++)
                v[e] = json_number(json_get(json_at(json_at(epochs, e), rank), "total_s"), 0);
        if (!v || !n || stats_of(v, n, &st))
                return false;
        out[0] = st.median;
        out[1] = st.min;
        out[2] = st.max;
        return true;
}

/* Seconds of each rank, a series for each of the first jobs that did the phase. */
static void rank_chart(struct doc *d, const struct jobs *jobs, const char *phase, const char *title)
{
        struct plot p = {.title = title, .unit = "seconds", .kind = PLOT_SPREAD, .x_unit = "rank"};
        const struct json *of[PLOT_SERIES_MAX];
        size_t ranks = 0;

        for (size_t i = 0; i < jobs->n && p.nseries < PLOT_SERIES_MAX; i++) {
                const struct json *m = json_get(json_get(jobs->job[i], "metrics"), phase);
                size_t n = json_count(json_at(json_get(m, "epochs"), 0));
                if (!n)
                        continue;
                of[p.nseries] = json_get(m, "epochs");
                p.series[p.nseries++] = label_of(jobs, i);
                ranks = n > ranks ? n : ranks;
        }
        if (ranks < 2 || ranks > MAX_RANKS)
                return; /* one rank has no spread */
        size_t n = ranks * p.nseries;
        CLEANUP(freep) double *x = calloc(ranks, sizeof *x);
        CLEANUP(freep) double *v = calloc(3 * n, sizeof *v);
        for (size_t r = 0; x && v && r < ranks; r++) {
                x[r] = (double)r;
                for (size_t s = 0; s < p.nseries; s++) {
                        double one[3] = {NAN, NAN, NAN};
                        rank_seconds(of[s], r, one);
                        for (size_t i = 0; i < 3; i++)
                                v[i * n + r * p.nseries + s] = one[i];
                }
        }
        if (!x || !v)
                return;
        p.x = x;
        p.v = v;
        p.low = v + n;
        p.high = v + 2 * n;
        p.npoints = ranks;
        doc_plot(d, &p);
}

/* Whether what was saved or loaded is a directory, on whose files ranks agree before and behind. */
static bool has_plan(const struct jobs *jobs)
{
        for (size_t i = 0; i < jobs->n; i++)
                for (int p = 0; p < 2; p++)
                        if (shards_metric(jobs->job[i], phases[p], "plan_s") > 0)
                                return true;
        return false;
}

static void charts(struct doc *d, const struct jobs *jobs)
{
        static const char *const rate[] = {"gb_per_s"};
        static const char *const times[] = {"open_s", "transfer_s", "sync_s", "close_s"};
        static const char *const of_directory[] = {"plan_s", "files_s", "finish_s"};
        static const char *const cpu[] = {"cpu_ranks_s_per_gb", "cpu_mount_s_per_gb"};
        struct plot speed = {.title = "Speed of all ranks together",
                             .unit = "GB/s",
                             .series = {"save", "load"},
                             .nseries = 2};
        struct plot phase = {.title = "Where the time goes, slowest rank of each phase",
                             .unit = "seconds",
                             .kind = PLOT_STACKED,
                             .series = {"open", "transfer", "fsync", "close"},
                             .nseries = 4};
        struct plot directory = {.title = phase.title,
                                 .unit = phase.unit,
                                 .kind = phase.kind,
                                 .series = {"plan", "files", "finish"},
                                 .nseries = 3};
        struct plot cost = {.title = "Processor time",
                            .unit = "CPU-seconds per GB",
                            .kind = PLOT_STACKED,
                            .series = {"ranks", "mount"},
                            .nseries = 2};
        chart(d, jobs, &speed, false, rate);
        if (has_plan(jobs))
                chart(d, jobs, &directory, true, of_directory);
        else
                chart(d, jobs, &phase, true, times);
        chart(d, jobs, &cost, true, cpu);
        rank_chart(d, jobs, "save", "Save, each rank: median, least and most of its epochs");
        rank_chart(d, jobs, "load", "Load, each rank: median, least and most of its epochs");
}

static double rate(const struct jobs *jobs, size_t i, int phase)
{
        return shards_moves_data(jobs->job[i]) && !json_get(jobs->job[i], "error")
                       ? shards_metric(jobs->job[i], phases[phase], "gb_per_s")
                       : 0;
}

/* What speaks against a job being faster than another for certain, or "". */
static const char *doubt(const struct jobs *jobs, size_t fast, size_t slow, int phase)
{
        const struct json *st[2];
        const size_t of[2] = {fast, slow};

        for (int i = 0; i < 2; i++) {
                const struct json *m = json_get(jobs->job[of[i]], "metrics");
                st[i] = json_get(json_get(m, phases[phase]), "seconds_stats");
                if (json_number(json_get(st[i], "n"), 0) < 2)
                        return " (one epoch has no range)";
        }
        double bytes[2]; /* by which seconds become a rate: jobs of a sweep differ in size */
        for (int i = 0; i < 2; i++)
                bytes[i] = rate(jobs, of[i], phase) * json_number(json_get(st[i], "median"), 0);
        double least = bytes[0] * json_number(json_get(st[1], "min"), 0);
        double most = bytes[1] * json_number(json_get(st[0], "max"), 0);
        return least > most ? "" : " (ranges overlap)";
}

/* "Save: disk is fastest, 1.50 times as fast as s3, 2.80 times as fast as mount.", where no range
 * of the others overlaps its own; else "has the best median". Of one alone its speed. */
static void say_fastest(struct buf *to, const struct jobs *jobs, int phase)
{
        enum { OTHERS_MAX = 6 };
        const char *word = phase ? "Load" : "Save";
        CLEANUP(buf_release) struct buf text = BUF_INIT;
        size_t best = 0, others = 0;
        bool sure = true;

        for (size_t i = 1; i < jobs->n; i++)
                if (rate(jobs, i, phase) > rate(jobs, best, phase))
                        best = i;
        for (size_t i = 0; i < jobs->n; i++) {
                if (i == best || rate(jobs, i, phase) <= 0)
                        continue;
                const char *but = doubt(jobs, best, i, phase);
                sure = sure && !*but;
                if (others++ < OTHERS_MAX)
                        buf_addf(&text, ", %.2f times as fast as %s%s",
                                 rate(jobs, best, phase) / rate(jobs, i, phase), label_of(jobs, i),
                                 but);
        }
        if (others)
                job_says(to, "%s: %s %s%s.", word, label_of(jobs, best),
                         sure ? "is fastest" : "has the best median", text.p);
        else if (jobs->n && rate(jobs, best, phase) > 0)
                job_says(to, "%s: %s reaches %.2f GB/s.", word, label_of(jobs, best),
                         rate(jobs, best, phase));
}

/* Of none where memory is short. */
static struct jobs jobs_of(const struct json *run)
{
        const struct json *list = json_get(run, "job_results");
        struct jobs jobs = {.list = list, .labels = job_labels_of(list)};

        jobs.any_s3 = shards_any_s3(&jobs.labels);
        jobs.job = calloc(jobs.labels.n + 1, sizeof *jobs.job);
        for (const struct json *job = json_first(list); jobs.job && job && jobs.n < jobs.labels.n;
             job = json_next(job))
                jobs.job[jobs.n++] = job;
        return jobs;
}

void shards_says(const struct json *run, struct buf *to)
{
        CLEANUP(jobs_release) struct jobs jobs = jobs_of(run);

        for (int p = 0; jobs.n && p < 2; p++)
                say_fastest(to, &jobs, p);
}

void shards_page(const struct json *run, struct doc *d)
{
        CLEANUP(jobs_release) struct jobs jobs = jobs_of(run);
        char line[300];

        shards_headline(json_get(run, "job_results"), line, sizeof line);
        doc_say(d, "%s. Seconds are the maximum over ranks, the median over epochs.", line);
        table(d, &jobs);
        charts(d, &jobs);
        spread_table(d, &jobs);
        for (size_t i = 0; i < jobs.n; i++) {
                char note[512];
                shards_note(jobs.job[i], note, sizeof note);
                doc_pair(d, label_of(&jobs, i), note);
        }
}
