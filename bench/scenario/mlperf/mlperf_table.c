/* SPDX-License-Identifier: Apache-2.0 */
/* mlperf_table.c: see mlperf_table.h. */
#include "bench/scenario/mlperf/mlperf_table.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "bench/measure/stats.h"

#include "base/banned.h"

#define GIB ((double)(1 << 30))

static void add_figure(struct json *suite, const char *what, const char *figure, double v)
{
        char name[64];
        snprintf(name, sizeof name, "%s_checkpoint_%s", what, figure);
        json_add_number(suite, name, v);
}

/* Durations, the slowest rank's of each checkpoint, and the rates they make. */
static int add_figures(struct json *suite, const char *what, const struct sample *v, size_t n,
                       unsigned ranks, double size)
{
        CLEANUP(freep) double *seconds = calloc(n + 1, sizeof *seconds);
        CLEANUP(freep) double *rates = calloc(n + 1, sizeof *rates);
        struct stats s, r;
        char name[64];

        if (!v || !n)
                return 0;
        if (!seconds || !rates)
                return -ENOMEM;
        snprintf(name, sizeof name, "%s_checkpoint_duration_seconds", what);
        struct json *each = json_add_array(suite, name);
        for (size_t i = 0; i < n; i++) {
                for (unsigned k = 0; k < ranks; k++)
                        if (v[i * ranks + k].total > seconds[i])
                                seconds[i] = v[i * ranks + k].total;
                rates[i] = stats_ratio(size / GIB, seconds[i]);
                json_add_number(each, NULL, seconds[i]);
        }
        if (stats_of(seconds, n, &s) || stats_of(rates, n, &r))
                return -ENOMEM;
        add_figure(suite, what, "duration_mean_seconds", s.mean);
        add_figure(suite, what, "duration_stdev_seconds", s.sd);
        add_figure(suite, what, "io_mean_GiB_per_second", r.mean);
        add_figure(suite, what, "io_stdev_GiB_per_second", r.sd);
        return 0;
}

int mlperf_json(const struct shards_facts *f, const struct mlperf_shape *s, uint64_t here,
                uint64_t all, struct json *job)
{
        int err = shards_json(f, job);
        struct json *suite = json_open_object(job, "metrics");

        json_add_string(suite, "mode", f->ranks == mlperf_ranks(s) ? "full" : "subset");
        json_add_number(suite, "ranks_of_shape", mlperf_ranks(s));
        json_add_number(suite, "tensor_parallelism", s->tp);
        json_add_number(suite, "pipeline_parallelism", s->pp);
        json_add_number(suite, "data_parallelism", s->dp);
        json_add_number(suite, "zero_stage", s->zero);
        json_add_number(suite, "checkpoint_size_GiB", (double)here / GIB);
        json_add_number(suite, "checkpoint_size_of_shape_GiB", (double)all / GIB);
        if (!err)
                err = add_figures(suite, "save", f->save, f->epochs, f->ranks, (double)here);
        if (!err)
                err = add_figures(suite, "load", f->load, f->loads, f->ranks, (double)here);
        return err;
}

void mlperf_table(const struct json *run, FILE *to)
{
        static const char *const figures[] = {
                "checkpoint_size_GiB", "save_checkpoint_duration_mean_seconds",
                "save_checkpoint_io_mean_GiB_per_second", "load_checkpoint_duration_mean_seconds",
                "load_checkpoint_io_mean_GiB_per_second"};
        const struct json *jobs = json_get(run, "job_results");
        CLEANUP(job_labels_release) struct job_labels labels = job_labels_of(jobs);
        char text[400];

        fprintf(to,
                "means over checkpoints, each the maximum over ranks\n\n%-32s %-7s %9s %9s %9s "
                "%9s %9s\n",
                "storage", "mode", "GiB", "save s", "GiB/s", "load s", "GiB/s");
        for (size_t j = 0; j < json_count(jobs); j++) {
                const struct json *suite = json_get(json_at(jobs, j), "metrics");
                const char *error = json_string(json_get(json_at(jobs, j), "error"), NULL);
                if (error) {
                        fprintf(to, "%-32s failed: %s\n", job_label(&labels, j), error);
                        continue;
                }
                fprintf(to, "%-32s %-7s", job_label(&labels, j),
                        json_string(json_get(suite, "mode"), "-"));
                for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++)
                        fprintf(to, " %9.3f", json_number(json_get(suite, figures[i]), 0));
                fputc('\n', to);
        }
        for (size_t j = 0; j < json_count(jobs); j++) {
                shards_note(json_at(jobs, j), text, sizeof text);
                fprintf(to, "%s%s\n", j ? "" : "\n", text);
        }
}
