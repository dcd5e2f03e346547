/* SPDX-License-Identifier: Apache-2.0 */
/* async_table.c: see async_table.h. */
#include "bench/scenario/async/async_table.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "bench/measure/measure.h"
#include "bench/report/job.h"
#include "bench/report/shards_table.h"
#include "bench/measure/stats.h"

#include "base/banned.h"

static const char *const names[ASYNC_VALUES] = {"blocked_s", "waited_s", "staged_s", "durable_s",
                                                "visible_s"};
static const char *const words[ASYNC_VALUES] = {"blocked", "waited", "staged", "durable",
                                                "visible"};

/* The seconds of a save as an array. */
static void values_of(const struct async_save *s, double v[ASYNC_VALUES])
{
        v[0] = s->blocked;
        v[1] = s->waited;
        v[2] = s->staged;
        v[3] = s->durable;
        v[4] = s->visible;
}

int async_json(const struct async_facts *f, struct json *job)
{
        struct json *o = json_add_object(job, "model");
        json_add_string(o, "name", f->model);
        o = json_add_object(job, "setup");
        json_add_number(o, "ranks", f->ranks);
        json_add_number(o, "bytes_a_rank", f->bytes);
        json_add_string(o, "work", f->work);
        json_add_string(o, "state", f->state);
        json_add_string(o, "suffix", f->suffix);
        o = json_add_object(job, "metrics");
        CLEANUP(freep) double *column = calloc(f->saves + 1, sizeof *column);
        if (!column)
                return -ENOMEM;
        for (int i = 0; i < ASYNC_VALUES; i++) {
                struct json *each = json_add_array(o, names[i]);
                for (size_t s = 0; s < f->saves; s++) {
                        double v[ASYNC_VALUES];
                        values_of(&f->save[s], v);
                        column[s] = v[i];
                        json_add_number(each, NULL, v[i]);
                }
                char name[32];
                snprintf(name, sizeof name, "%s_stats", words[i]);
                if (measure_values_json(o, name, column, f->saves))
                        return -ENOMEM;
        }
        json_add_number(o, "step_s", f->step_idle);
        json_add_number(o, "step_while_saving_s", f->step_busy);
        json_add_number(o, "step_inflation_percent",
                        100 * (stats_ratio(f->step_busy, f->step_idle) - 1));
        json_add_number(o, "fit_s", f->fit);
        json_add_number(o, "steps_s", f->steps);
        json_add_number(o, "peak_memory_bytes", f->peak);
        if (f->writer_peak > 0)
                json_add_number(o, "peak_memory_writer_bytes", f->writer_peak);
        return 0;
}

static double metric(const struct json *job, const char *name)
{
        return json_number(json_get(json_get(job, "metrics"), name), 0);
}

static double median(const struct json *job, int i)
{
        char name[32];
        snprintf(name, sizeof name, "%s_stats", words[i]);
        return json_number(json_get(json_get(json_get(job, "metrics"), name), "median"), 0);
}

/* "disk: a save stalls training for 0.100 s and is durable 3.200 s after it was asked for." */
static void stall_words(const struct json *job, const char *label, struct buf *to)
{
        if (!json_get(json_get(job, "metrics"), "blocked_stats"))
                return;
        job_says(to,
                 "%s: a save stalls training for %.3f s and is durable %.3f s after it was asked "
                 "for.",
                 label, median(job, 0), median(job, 3));
}

void async_says(const struct json *run, struct buf *to)
{
        const struct json *jobs = json_get(run, "job_results");
        CLEANUP(job_labels_release) struct job_labels labels = job_labels_of(jobs);

        for (size_t j = 0; j < labels.n; j++)
                stall_words(json_at(jobs, j), job_label(&labels, j), to);
}

void async_table(const struct json *run, FILE *to)
{
        const struct json *jobs = json_get(run, "job_results");
        CLEANUP(job_labels_release) struct job_labels labels = job_labels_of(jobs);

        fprintf(to, "medians over saves, each the maximum over ranks\n\n%-24s", "storage");
        for (int i = 0; i < ASYNC_VALUES; i++)
                fprintf(to, " %9s", names[i]);
        fprintf(to, " %9s %11s %9s\n", "step_s", "inflation %", "peak GB");
        for (size_t j = 0; j < labels.n; j++) {
                const struct json *job = json_at(jobs, j);
                const char *error = json_string(json_get(job, "error"), NULL);
                fprintf(to, "%-24s", job_label(&labels, j));
                if (error) {
                        fprintf(to, " failed: %s\n", error);
                        continue;
                }
                for (int i = 0; i < ASYNC_VALUES; i++)
                        fprintf(to, " %9.4f", median(job, i));
                fprintf(to, " %9.4f %11.1f %9.2f\n", metric(job, "step_s"),
                        metric(job, "step_inflation_percent"),
                        metric(job, "peak_memory_bytes") / 1e9);
        }
        fputc('\n', to);
        for (size_t j = 0; j < labels.n; j++) {
                CLEANUP(buf_release) struct buf line = BUF_INIT;
                stall_words(json_at(jobs, j), job_label(&labels, j), &line);
                if (line.len)
                        fprintf(to, "%s\n", line.p);
        }
}

/* Two charts: how long saves block, and when they are where. */
static void charts(struct doc *d, const char *const *label, const double *blocked,
                   const double *later, size_t n)
{
        struct plot p = {.title = "How long a save blocks training",
                         .unit = "seconds",
                         .kind = PLOT_STACKED,
                         .series = {"waits for the save before", "copies"},
                         .nseries = 2,
                         .label = label,
                         .v = blocked,
                         .npoints = n};
        struct plot q = {.title = "From when a save was wanted until it is there",
                         .unit = "seconds",
                         .series = {"durable", "visible"},
                         .nseries = 2,
                         .label = label,
                         .v = later,
                         .npoints = n};
        doc_plot(d, &p);
        doc_plot(d, &q);
}

void async_page(const struct json *run, struct doc *d)
{
        static const struct doc_column columns[] = {
                {NULL, "storage"},       {"a save, s", "blocked"}, {"a save, s", "waited"},
                {"a save, s", "staged"}, {"a save, s", "durable"}, {"a save, s", "visible"},
                {"a step", "s"},         {"a step", "slower, %"},  {NULL, "peak GB"},
        };
        const struct json *jobs = json_get(run, "job_results");
        CLEANUP(job_labels_release) struct job_labels labels = job_labels_of(jobs);
        CLEANUP(freep) double *blocked = calloc(labels.n * 2 + 1, sizeof *blocked);
        CLEANUP(freep) double *later = calloc(labels.n * 2 + 1, sizeof *later);
        if (!blocked || !later)
                return;

        doc_say(d, "Medians over saves, each the maximum over ranks.");
        doc_table(d, columns, sizeof columns / sizeof columns[0]);
        for (size_t j = 0; j < labels.n; j++) {
                const struct json *job = json_at(jobs, j);
                doc_text(d, job_label(&labels, j));
                for (int i = 0; i < ASYNC_VALUES; i++)
                        doc_figure(d, median(job, i), 4);
                doc_figure(d, metric(job, "step_s"), 4);
                doc_figure(d, metric(job, "step_inflation_percent"), 1);
                doc_figure(d, metric(job, "peak_memory_bytes") / 1e9, 2);
                blocked[2 * j] = median(job, 1);
                blocked[2 * j + 1] = median(job, 2);
                later[2 * j] = median(job, ASYNC_VALUES - 2);
                later[2 * j + 1] = median(job, ASYNC_VALUES - 1);
        }
        doc_table_end(d);
        if (labels.n)
                charts(d, labels.v, blocked, later, labels.n);
}
