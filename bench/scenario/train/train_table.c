/* SPDX-License-Identifier: Apache-2.0 */
/* train_table.c: see train_table.h. */
#include "bench/scenario/train/train_table.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "bench/measure/measure.h"
#include "bench/measure/stats.h"
#include "bench/report/job.h"
#include "bench/report/shards_table.h"

#include "base/banned.h"

enum { PHASES = 6 };

/* The parts of a step; the first is all of it. */
static const struct {
        const char *name, *text;
        size_t at;
} phases[PHASES] = {
        {"step_s", "step", offsetof(struct train_step, total)},
        {"forward_s", "forward", offsetof(struct train_step, forward)},
        {"backward_s", "backward", offsetof(struct train_step, backward)},
        {"reduce_s", "reduce", offsetof(struct train_step, reduce)},
        {"update_s", "optimizer", offsetof(struct train_step, update)},
        {"zero_s", "zero_grad", offsetof(struct train_step, zero)},
};

/* What memory is taken behind, as the suite names it. */
enum { HELD = 4 };
static const struct {
        const char *name;
        size_t at;
} held_parts[HELD] = {{"forward", offsetof(struct train_held, forward)},
                      {"backward", offsetof(struct train_held, backward)},
                      {"optimizer", offsetof(struct train_held, update)},
                      {"zero_grad", offsetof(struct train_held, zero)}};

static const double *held_part(const struct train_held *h, size_t part)
{
        return (const double *)((const char *)h + held_parts[part].at);
}

static void add_setup(const struct train_facts *f, struct json *job)
{
        const struct train_setup *s = f->setup;
        struct json *o = json_add_object(job, "model");

        json_add_string(o, "name", s->model.name);
        json_add_number(o, "parameters", (double)model_params(&s->model));
        json_add_number(o, "layers", s->model.layers);
        json_add_number(o, "hidden", s->model.hidden);
        json_add_number(o, "heads", s->model.heads);
        json_add_number(o, "vocab", s->model.vocab);
        json_add_number(o, "block", s->model.block);
        o = json_add_object(job, "setup");
        json_add_number(o, "ranks", f->ranks);
        json_add_number(o, "threads_a_rank",
                        f->threads * (double)(s->stages ? s->stages : replicas_count(s)));
        json_add_number(o, "devices_a_rank", s->devices);
        json_add_string(o, "mode", trainer_mode(s));
        if (s->stages) {
                json_add_number(o, "stages", s->stages);
                json_add_number(o, "micro_batches", f->chunks);
                json_add_number(o, "bubble", (s->stages - 1.0) / (f->chunks + s->stages - 1.0));
        }
        json_add_string(o, "dtype", s->half ? "fp16" : "fp32");
        json_add_bool(o, "cpu_offload", s->offloaded);
        json_add_string(o, "activation", trainer_activation(s));
        json_add_string(o, "products", f->math);
        json_add_string(o, "averages", f->carrier);
        json_add_number(o, "lr", s->lr);
        json_add_number(o, "operations", network_flop(&s->model, s->batch));
        json_add_number(o, "operations_suite", network_flop_suite(&s->model, s->batch));
}

static int add_phases(const struct train_facts *f, struct json *metrics)
{
        CLEANUP(freep) double *v = calloc(f->nsteps, sizeof *v);
        int err = v ? 0 : -ENOMEM;

        for (size_t p = 0; p < PHASES && !err; p++) {
                for (size_t i = 0; i < f->nsteps; i++)
                        v[i] = *(const double *)((const char *)&f->step[i] + phases[p].at);
                err = measure_each_json(metrics, phases[p].name, v, f->nsteps);
        }
        return err;
}

static const struct {
        const char *name;
        size_t at;
} save_parts[] = {
        {"save_s", offsetof(struct train_saved, visible)},
        {"save_durable_s", offsetof(struct train_saved, durable)},
        {"save_blocked_s", offsetof(struct train_saved, blocked)},
        {"save_waited_s", offsetof(struct train_saved, waited)},
        {"save_copy_s", offsetof(struct train_saved, copy)},
        {"save_file_s", offsetof(struct train_saved, file)},
};

/* The timed steps that a save was under way beside, or those without one. *n is how many. */
static int add_steps(const struct train_facts *f, bool busy, struct json *m, struct stats *out,
                     size_t *n)
{
        CLEANUP(freep) double *v = calloc(f->nsteps, sizeof *v);

        *n = 0;
        for (size_t i = 0; i < f->nsteps && v; i++)
                if (f->busy[i] == busy)
                        v[(*n)++] = f->step[i].total;
        int err = v ? stats_of(v, *n, out) : -ENOMEM;
        if (!err && *n)
                err = measure_values_json(m, busy ? "step_busy_s" : "step_idle_s", v, *n);
        return err;
}

/* What all saves cost: the time that steps waited for them, and that by which steps beside a save
 * were longer than the median of those without. */
static int add_cost(const struct train_facts *f, struct json *m)
{
        struct stats idle, busy;
        size_t nidle, nbusy;
        double cost = 0;

        int err = add_steps(f, false, m, &idle, &nidle);
        if (!err)
                err = add_steps(f, true, m, &busy, &nbusy);
        if (err)
                return err;
        if (nidle && nbusy && busy.mean > idle.median)
                cost = (busy.mean - idle.median) * (double)nbusy;
        if (nidle && nbusy)
                json_add_number(m, "step_inflation_percent",
                                100 * (stats_ratio(busy.median, idle.median) - 1));
        for (size_t i = 0; i < f->nsaves; i++)
                cost += f->save[i].blocked;
        double steps = (nidle ? idle.median : busy.median) * (double)f->nsteps;
        json_add_number(m, "save_cost_s", cost / (double)f->nsaves);
        json_add_number(m, "saves_cost_percent", 100 * stats_ratio(cost, steps));
        json_add_number(m, "oldest_save_s", f->oldest);
        return 0;
}

static int add_saves(const struct train_facts *f, struct json *job, struct json *m)
{
        CLEANUP(freep) double *v = calloc(f->nsaves + 1, sizeof *v);
        int err = 0;

        if (!v || !f->nsaves)
                return v ? 0 : -ENOMEM;
        struct json *setup = json_open_object(job, "setup");
        json_add_string(setup, "suffix", f->suffix);
        json_add_number(setup, "bytes_a_save", (double)f->bytes);
        json_add_number(setup, "staging_bytes", f->staged);
        json_add_number(setup, "first_step", (double)f->first);
        struct json *steps = json_add_array(setup, "saved_steps");
        for (size_t i = 0; i < f->nsaves; i++)
                json_add_number(steps, NULL, (double)f->save[i].step);
        for (size_t p = 0; p < sizeof save_parts / sizeof save_parts[0] && !err; p++) {
                for (size_t i = 0; i < f->nsaves; i++)
                        v[i] = *(const double *)((const char *)&f->save[i] + save_parts[p].at);
                err = measure_each_json(m, save_parts[p].name, v, f->nsaves);
        }
        return err ? err : add_cost(f, m);
}

static size_t count_skipped(const struct train_step *v, size_t n)
{
        size_t skipped = 0;

        for (size_t i = 0; i < n; i++)
                skipped += v[i].skipped;
        return skipped;
}

int train_json(const struct train_facts *f, struct json *job)
{
        const struct train_setup *s = f->setup;
        struct stats delay;

        add_setup(f, job);
        struct json *m = json_add_object(job, "metrics");
        int err = add_phases(f, m);
        if (!err)
                err = measure_each_json(m, "delay_s", f->delay, f->ranks);
        if (!err)
                err = stats_of(f->delay, f->ranks, &delay);
        if (err)
                return err;
        err = add_saves(f, job, m);
        if (err)
                return err;
        json_add_number(m, "tflops",
                        stats_ratio(network_flop(&s->model, s->batch) / 1e12, delay.mean));
        json_add_number(m, "tflops_suite",
                        stats_ratio(network_flop_suite(&s->model, s->batch) / 1e12, delay.mean));
        if (s->stages)
                json_add_number(m, "tflops_stage",
                                stats_ratio(network_flop(&s->model, s->batch) / 1e12 / s->stages,
                                            delay.mean));
        json_add_number(
                m, "tflops_device",
                stats_ratio(network_flop(&s->model, s->batch) / 1e12 / s->devices, delay.mean));
        json_add_number(m, "peak_memory_bytes", f->peak);
        json_add_number(m, "peak_device_bytes", f->device_peak);
        json_add_number(m, "build_s", f->build);
        struct json *held = json_add_object(m, "memory_bytes");
        json_add_number(held, "model", f->built);
        for (size_t p = 0; p < HELD && f->nwarmup; p++)
                json_add_number(held, held_parts[p].name, *held_part(&f->held, p));
        if (s->half) {
                json_add_number(m, "skipped_steps",
                                (double)(count_skipped(f->warmup, f->nwarmup) +
                                         count_skipped(f->step, f->nsteps)));
                json_add_number(m, "loss_scale", (double)f->loss_scale);
        }
        struct json *losses = json_add_array(m, "losses");
        for (size_t i = 0; i < f->nwarmup; i++)
                json_add_number(losses, NULL, f->warmup[i].loss);
        for (size_t i = 0; i < f->nsteps; i++)
                json_add_number(losses, NULL, f->step[i].loss);
        return 0;
}

static const struct json *metrics_of(const struct json *job)
{
        return json_get(job, "metrics");
}

static double figure(const struct json *job, const char *name)
{
        return json_number(json_get(metrics_of(job), name), 0);
}

/* Of the memory that the model is in. */
static double peak_of(const struct json *job)
{
        const double device = figure(job, "peak_device_bytes");
        return device > 0 ? device : figure(job, "peak_memory_bytes");
}

static double setup_figure(const struct json *job, const char *name)
{
        return json_number(json_get(json_get(job, "setup"), name), 0);
}

static double of_each(const struct json *job, const char *name, const char *what)
{
        return json_number(json_get(json_get(metrics_of(job), name), what), 0);
}

/* What a save every ten minutes costs, in percent. */
static double cost_of_10_minutes(const struct json *job)
{
        return 100 * figure(job, "save_cost_s") / 600;
}

/* What is beyond a float is null in JSON. */
static double loss_at(const struct json *job, bool last)
{
        const struct json *losses = json_get(metrics_of(job), "losses");
        size_t n = json_count(losses);
        return n ? json_number(json_at(losses, last ? n - 1 : 0), INFINITY) : 0;
}

/* What saves cost, of a job that made some. */
static void print_saves(const struct json *job, const char *label, FILE *to)
{

        if (of_each(job, "save_s", "median") <= 0)
                return;
        fprintf(to,
                "%s: a save of %.3f GB blocks for %.4f s (wait %.4f, copy %.4f), can be loaded "
                "after %.4f s and takes %.3f GB of memory; the newest was %.2f s old at most: a "
                "save "
                "every 10 minutes costs %.2f %%\n",
                label, setup_figure(job, "bytes_a_save") / 1e9,
                of_each(job, "save_blocked_s", "median"), of_each(job, "save_waited_s", "median"),
                of_each(job, "save_copy_s", "median"), of_each(job, "save_s", "median"),
                setup_figure(job, "staging_bytes") / 1e9, figure(job, "oldest_save_s"),
                cost_of_10_minutes(job));
}

/* What became of the gradients of a job with halves. */
static void print_scale(const struct json *job, const char *label, FILE *to)
{

        if (!json_get(metrics_of(job), "loss_scale"))
                return;
        fprintf(to,
                "%s: %.0f of %zu steps, with the warm-up, were skipped, in which a gradient was "
                "too large for a half; the loss scale is %g\n",
                label, figure(job, "skipped_steps"),
                json_count(json_get(metrics_of(job), "losses")), figure(job, "loss_scale"));
}

/* What building the model took, and the memory behind each part of the warm-up. */
static void print_memory(const struct json *job, const char *label, FILE *to)
{
        const struct json *held = json_get(metrics_of(job), "memory_bytes");

        if (!held)
                return;
        fprintf(to, "%s: the model was built in %.3f s; GB of memory then %.3f", label,
                figure(job, "build_s"), json_number(json_get(held, "model"), 0) / 1e9);
        for (size_t p = 0; p < HELD; p++) {
                const struct json *part = json_get(held, held_parts[p].name);
                if (part)
                        fprintf(to, "%s %s %.3f", p ? "," : ", in the warm-up behind",
                                held_parts[p].name, json_number(part, 0) / 1e9);
        }
        fputc('\n', to);
}

void train_table(const struct json *run, FILE *to)
{
        const struct json *jobs = json_get(run, "job_results");
        CLEANUP(job_labels_release) struct job_labels labels = job_labels_of(jobs);
        int width = labels.width > 12 ? labels.width : 12;

        fprintf(to,
                "seconds of a step: medians over the timed steps, each the maximum over ranks\n\n"
                "%-*s",
                width, "job");
        for (size_t p = 0; p < PHASES; p++)
                fprintf(to, " %9s", phases[p].text);
        fprintf(to, " %14s %8s %12s %12s %8s\n", "delay (stdev)", "TFLOP/s", "first loss",
                "last loss", "peak GB");
        for (size_t j = 0; j < labels.n; j++) {
                const struct json *job = json_at(jobs, j);
                const char *error = json_string(json_get(job, "error"), NULL);
                if (error)
                        fprintf(to, "%-*s failed: %s\n", width, job_label(&labels, j), error);
                if (error || !metrics_of(job))
                        continue;
                fprintf(to, "%-*s", width, job_label(&labels, j));
                for (size_t p = 0; p < PHASES; p++)
                        fprintf(to, " %9.4f", of_each(job, phases[p].name, "median"));
                fprintf(to, " %7.4f (%.3f) %8.3f %12.5g %12.5g %8.2f\n",
                        of_each(job, "delay_s", "mean"), of_each(job, "delay_s", "sd"),
                        figure(job, "tflops"), loss_at(job, false), loss_at(job, true),
                        peak_of(job) / 1e9);
        }
        for (size_t j = 0; j < labels.n; j++) {
                print_memory(json_at(jobs, j), job_label(&labels, j), to);
                print_scale(json_at(jobs, j), job_label(&labels, j), to);
        }
        for (size_t j = 0; j < labels.n; j++)
                print_saves(json_at(jobs, j), job_label(&labels, j), to);
}

void train_says(const struct json *run, struct buf *to)
{
        const struct json *jobs = json_get(run, "job_results");
        CLEANUP(job_labels_release) struct job_labels labels = job_labels_of(jobs);

        for (size_t j = 0; j < labels.n; j++) {
                const struct json *job = json_at(jobs, j);
                const char *label = job_label(&labels, j);
                if (of_each(job, "step_s", "median") <= 0)
                        continue;
                job_says(to, "%s: a step takes %.3f s", label, of_each(job, "step_s", "median"));
                if (of_each(job, "save_s", "median") > 0)
                        buf_addf(to,
                                 " and a save stalls it for %.2f s: one every 10 minutes costs "
                                 "%.2f %%, and the newest was %.2f s old at most",
                                 of_each(job, "save_blocked_s", "median"), cost_of_10_minutes(job),
                                 figure(job, "oldest_save_s"));
                buf_addc(to, '.');
        }
}

/* The phases of a step, of each job. */
static void chart_phases(struct doc *d, const struct json *jobs, const char *const *label, size_t n)
{
        CLEANUP(freep) double *v = calloc(n * PLOT_SERIES_MAX, sizeof *v);
        struct plot p = {.title = "What a step consists of",
                         .unit = "seconds",
                         .kind = PLOT_STACKED,
                         .nseries = PLOT_SERIES_MAX,
                         .label = label,
                         .v = v,
                         .npoints = n};

        for (size_t s = 0; v && s < PLOT_SERIES_MAX; s++) {
                p.series[s] = phases[s + 1].text;
                for (size_t j = 0; j < n; j++)
                        v[j * PLOT_SERIES_MAX + s] =
                                of_each(json_at(jobs, j), phases[s + 1].name, "median");
        }
        if (v)
                doc_plot(d, &p);
}

enum { LINES_MAX = 8, POINTS_MAX = 10000 };

static const struct json *each_of(const struct json *job, const char *name)
{
        return json_get(json_get(metrics_of(job), name), "each");
}

/* The steps of a job over its time, and when a save was under way: it begins behind its step, and
 * the steps that follow stand for the time that it blocks. */
static void chart_steps(struct doc *d, const struct json *job, const char *label)
{
        const struct json *steps = each_of(job, "step_s"), *took = each_of(job, "save_s");
        const struct json *blocked = each_of(job, "save_blocked_s");
        const struct json *saved = json_get(json_get(job, "setup"), "saved_steps");
        const size_t n = json_count(steps), nsaves = json_count(took);
        const double first = setup_figure(job, "first_step");
        CLEANUP(freep) double *x = calloc(2 * n + 2 * nsaves + 1, sizeof *x);
        char title[200];
        double now = 0;
        size_t save = 0;

        if (!n || n > POINTS_MAX || !x)
                return;
        double *v = x + n, *from = v + n, *to = from + nsaves;
        for (size_t i = 0; i < n; i++) {
                v[i] = json_number(json_at(steps, i), 0);
                now += v[i];
                x[i] = now;
                if (save < nsaves && json_number(json_at(saved, save), 0) <= first + (double)i) {
                        from[save] = now;
                        to[save] = now + json_number(json_at(took, save), 0);
                        now += json_number(json_at(blocked, save++), 0);
                }
        }
        snprintf(title, sizeof title, "Steps of %s", label);
        struct plot p = {.title = title,
                         .unit = "seconds of a step",
                         .x_unit = "seconds since the first timed step",
                         .kind = PLOT_LINES,
                         .series = {"step"},
                         .nseries = 1,
                         .x = x,
                         .v = v,
                         .npoints = n,
                         .band = save ? "a save is under way" : NULL,
                         .band_from = from,
                         .band_to = to,
                         .nbands = save};
        doc_plot(d, &p);
}

void train_page(const struct json *run, struct doc *d)
{
        static const struct doc_column columns[] = {
                {NULL, "job"},
                {"a step, s", "step"},
                {"a step, s", "forward"},
                {"a step, s", "backward"},
                {"a step, s", "reduce"},
                {"a step, s", "optimizer"},
                {"a step, s", "zero_grad"},
                {NULL, "TFLOP/s"},
                {"loss", "first"},
                {"loss", "last"},
                {"a save", "blocked, s"},
                {"a save", "durable, s"},
                {"a save", "to load after, s"},
                {"a save", "oldest, s"},
                {"a save", "cost, %"},
                {"a save", "GB"},
                {"memory, GB", "of a save"},
                {"memory, GB", "peak"},
        };
        const struct json *jobs = json_get(run, "job_results");
        CLEANUP(job_labels_release) struct job_labels labels = job_labels_of(jobs);

        doc_say(d, "Medians over the timed steps, each the maximum over ranks. TFLOP/s are those "
                   "of one rank.");
        doc_table(d, columns, sizeof columns / sizeof columns[0]);
        for (size_t j = 0; j < labels.n; j++) {
                const struct json *job = json_at(jobs, j);
                doc_text(d, job_label(&labels, j));
                for (size_t p = 0; p < PHASES; p++)
                        doc_figure(d, of_each(job, phases[p].name, "median"), 4);
                doc_figure(d, figure(job, "tflops"), 3);
                doc_figure(d, loss_at(job, false), 4);
                doc_figure(d, loss_at(job, true), 4);
                doc_figure(d, of_each(job, "save_blocked_s", "median"), 4);
                doc_figure(d, of_each(job, "save_durable_s", "median"), 4);
                doc_figure(d, of_each(job, "save_s", "median"), 4);
                doc_figure(d, figure(job, "oldest_save_s"), 2);
                doc_figure(d, figure(job, "saves_cost_percent"), 2);
                doc_figure(d, setup_figure(job, "bytes_a_save") / 1e9, 3);
                doc_figure(d, setup_figure(job, "staging_bytes") / 1e9, 3);
                doc_figure(d, peak_of(job) / 1e9, 2);
        }
        doc_table_end(d);
        if (labels.n)
                chart_phases(d, jobs, labels.v, labels.n);
        for (size_t j = 0; j < labels.n && j < LINES_MAX; j++)
                chart_steps(d, json_at(jobs, j), job_label(&labels, j));
}
