/* SPDX-License-Identifier: Apache-2.0 */
/* dataset_table.c: what "dataset" measured, as JSON and as the table made of it. */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "bench/report/job.h"
#include "bench/report/shards_table.h"
#include "bench/scenario/dataset/dataset.h"

#include "base/banned.h"

static double longest(const struct dataset_facts *f, size_t epoch)
{
        double most = 0;

        for (unsigned r = 0; r < f->ranks; r++)
                if (f->epoch[epoch * f->ranks + r].total > most)
                        most = f->epoch[epoch * f->ranks + r].total;
        return most;
}

static void add_setup(const struct dataset_facts *f, struct json *job)
{
        struct json *o = json_add_object(job, "setup");

        json_add_number(o, "ranks", f->ranks);
        json_add_string(o, "storage", f->storage);
        json_add_string(o, "address", f->address);
        json_add_string(o, "dataloader", f->kind->name);
        json_add_string(o, "access", f->kind->map ? "map" : "iterable");
        json_add_string(o, "reader", f->how.stream.ahead ? "sequential" : "range_based");
        json_add_number(o, "block_bytes", (double)f->how.stream.block);
        json_add_number(o, "workers", (double)f->how.workers);
        json_add_number(o, "objects", (double)f->objects);
        json_add_string(o, "verified",
                        !f->how.verify                    ? "no"
                        : f->seen.good == f->seen.samples ? "every sample, inside the clock"
                                                          : "no: datagen did not make them");
        json_add_string(o, "page_cache_dropped", f->dropped);
        if (f->learner) {
                json_add_number(o, "parameters", (double)model_params(&f->learner->setup.model));
                json_add_number(o, "labels", f->learner->setup.model.vocab);
                json_add_number(o, "threads", f->learner->threads);
                json_add_string(o, "math", f->learner->setup.ops->version());
        }
        if (f->kind->cached)
                json_add_number(o, "cache_bytes", f->cache_bytes);
}

static void add_saves(const struct dataset_facts *f, struct json *to)
{
        struct json *times = json_add_array(to, "save_times_s");

        for (size_t i = 0; i < f->saves; i++)
                json_add_number(times, NULL, f->save[i]);
}

/* Of rank 0, whose steps are those of all. */
static void add_learnt(const struct dataset_facts *f, double training, struct json *to)
{
        const struct learner *l = f->learner;

        if (!l)
                return;
        json_add_number(to, "steps", (double)l->steps);
        json_add_number(to, "step_s", stats_ratio(l->seconds, (double)l->steps));
        json_add_number(to, "step_share", stats_ratio(l->seconds, training));
        struct json *losses = json_add_array(to, "epoch_losses");
        for (size_t e = 0; e < f->epochs; e++)
                json_add_number(losses, NULL, l->losses[e]);
}

/* The Python suite's fields under its names: what it calls MiB/s are samples a second. */
static int add_suite(const struct dataset_facts *f, double training, struct json *metrics)
{
        double samples = (double)f->seen.samples;

        json_add_number(metrics, "throughput_mibs", stats_ratio(samples, training));
        json_add_number(metrics, "volume_mibs", (double)f->seen.bytes / (1 << 20));
        struct json *v = json_add_array(metrics, "epoch_durations_s");
        for (size_t e = 0; e < f->epochs; e++)
                json_add_number(v, NULL, longest(f, e));
        return sampler_json(f->use, json_add_object(metrics, "utilization"));
}

int dataset_json(const struct dataset_facts *f, struct json *job)
{
        struct summary s;
        double training = 0, first = 0;

        for (size_t e = 0; e < f->epochs; e++)
                training += longest(f, e);
        for (unsigned r = 0; r < f->ranks; r++)
                first = f->epoch[r].open > first ? f->epoch[r].open : first;
        add_setup(f, job);
        struct json *m = json_add_object(job, "metrics");
        json_add_number(m, "samples", (double)f->seen.samples);
        json_add_number(m, "bytes", (double)f->seen.bytes);
        json_add_number(m, "training_duration_s", training);
        json_add_number(m, "samples_per_s", stats_ratio((double)f->seen.samples, training));
        json_add_number(m, "mib_per_s", stats_ratio((double)f->seen.bytes / (1 << 20), training));
        json_add_number(m, "list_s", f->list_s);
        json_add_number(m, "first_batch_s", first);
        struct json *rates = json_add_array(m, "epoch_samples_per_s");
        double samples = (double)f->seen.samples / (double)f->epochs; /* the same in each */
        for (size_t e = 0; e < f->epochs; e++)
                json_add_number(rates, NULL, stats_ratio(samples, longest(f, e)));
        add_saves(f, m);
        add_learnt(f, training, m);
        int err = measure_summary(f->epoch, f->epochs, f->ranks, &s);
        if (err)
                return err;
        measure_json(m, "load", &s, f->epoch, f->epochs, f->ranks);
        return add_suite(f, training, m);
}

static double metric(const struct json *job, const char *name)
{
        return json_number(json_get(json_get(job, "metrics"), name), 0);
}

static const char *setup(const struct json *job, const char *name)
{
        return json_string(json_get(json_get(job, "setup"), name), "?");
}

static void say_learnt(const struct json *job, const char *label, FILE *to)
{
        const struct json *losses = json_get(json_get(job, "metrics"), "epoch_losses");

        if (losses)
                fprintf(to,
                        "%s: %.0f steps of %.3f s, %.0f %% of the time; loss of an epoch %.4g to "
                        "%.4g\n",
                        label, metric(job, "steps"), metric(job, "step_s"),
                        100 * metric(job, "step_share"), json_number(json_at(losses, 0), 0),
                        json_number(json_at(losses, json_count(losses) - 1), 0));
}

void dataset_table(const struct json *run, FILE *to)
{
        const struct json *jobs = json_get(run, "job_results");
        CLEANUP(job_labels_release) struct job_labels labels = job_labels_of(jobs);
        const int width = labels.width > 10 ? labels.width : 10;

        fprintf(to, "%-*s %10s %9s %9s %9s %9s\n", width, "storage", "samples/s", "MiB/s",
                "epoch s", "total s", "CPU-s/GB");
        for (size_t i = 0; i < json_count(jobs); i++) {
                const struct json *job = json_at(jobs, i);
                const char *label = job_label(&labels, i);
                if (json_get(job, "error"))
                        fprintf(to, "%-*s failed: %s\n", width, label,
                                json_string(json_get(job, "error"), "?"));
                else
                        fprintf(to, "%-*s %10.0f %9.1f %9.3f %9.3f %9.2f\n", width, label,
                                metric(job, "samples_per_s"), metric(job, "mib_per_s"),
                                shards_metric(job, "load", "seconds"),
                                metric(job, "training_duration_s"),
                                shards_metric(job, "load", "cpu_s_per_gb"));
        }
        for (size_t i = 0; i < json_count(jobs); i++) {
                const struct json *job = json_at(jobs, i);
                if (json_get(job, "error"))
                        continue;
                const char *label = job_label(&labels, i);
                say_learnt(job, label, to);
                fprintf(to, "%s%s: %s, %s, %s; verified: %s; page cache dropped: %s\n",
                        i ? "" : "\n", label, setup(job, "address"), setup(job, "access"),
                        setup(job, "reader"), setup(job, "verified"),
                        setup(job, "page_cache_dropped"));
        }
}

void dataset_says(const struct json *run, struct buf *to)
{
        const struct json *jobs = json_get(run, "job_results");
        CLEANUP(job_labels_release) struct job_labels labels = job_labels_of(jobs);

        for (size_t i = 0; i < json_count(jobs); i++) {
                const struct json *job = json_at(jobs, i);
                if (metric(job, "samples_per_s") <= 0)
                        continue;
                const char *label = job_label(&labels, i);
                job_says(to, "%s: %.0f samples a second.", label, metric(job, "samples_per_s"));
        }
}

void dataset_page(const struct json *run, struct doc *d)
{
        static const struct doc_column columns[] = {{NULL, "storage"},
                                                    {NULL, "samples/s"},
                                                    {NULL, "MiB/s"},
                                                    {NULL, "epoch s"},
                                                    {NULL, "total s"}};
        const struct json *jobs = json_get(run, "job_results");
        CLEANUP(job_labels_release) struct job_labels labels = job_labels_of(jobs);

        doc_table(d, columns, sizeof columns / sizeof columns[0]);
        for (size_t i = 0; i < json_count(jobs); i++) {
                const struct json *job = json_at(jobs, i);
                const double v[] = {metric(job, "samples_per_s"), metric(job, "mib_per_s"),
                                    shards_metric(job, "load", "seconds"),
                                    metric(job, "training_duration_s")};
                const char *label = job_label(&labels, i);
                doc_text(d, label);
                for (size_t c = 0; c < sizeof v / sizeof v[0]; c++)
                        doc_figure(d, v[c], c < 2 ? 1 : 3);
        }
        doc_table_end(d);
}
