/* SPDX-License-Identifier: Apache-2.0 */
/* shards_table.c: see shards_table.h. */
#include "bench/shards_table.h"

#include <errno.h>
#include <string.h>

#include "bench/stats.h"

#include "base/banned.h"

static int phase_json(const struct shards_facts *f, struct json *metrics, const char *name,
                      const struct sample *v)
{
        struct summary s;
        if (!v)
                return 0;
        int err = measure_summary(v, f->keys->epochs, f->ranks, &s);
        if (!err)
                measure_json(metrics, name, &s, v, f->keys->epochs, f->ranks);
        return err;
}

int shards_json(const struct shards_facts *f, struct json *job)
{
        const struct model *m = f->model;
        struct json *o = json_add_object(job, "model");
        json_add_string(o, "name", m->name);
        json_add_number(o, "layers", m->layers);
        json_add_number(o, "hidden", m->hidden);
        json_add_number(o, "heads", m->heads);
        json_add_number(o, "parameters", (double)model_params(m));
        json_add_number(o, "tensors", (double)model_ntensors(m));
        json_add_number(o, "bytes_a_parameter", model_param_bytes(m, f->keys->optimizer));

        o = json_add_object(job, "setup");
        json_add_number(o, "ranks", f->ranks);
        json_add_string(o, "suffix", f->suffix);
        json_add_string(o, "data_made", f->held ? "before the clock" : "inside the clock");
        json_add_string(o, "verified",
                        !f->verified ? "no"
                        : f->held    ? "every timed byte, after the clock"
                                     : "every timed byte, inside the clock");
        json_add_bool(o, "moves_data", f->moves_data);
        json_add_string(o, "page_cache_dropped", f->dropped);
        json_add_number(o, "mount_pid", f->mount_pid);

        o = json_add_object(job, "metrics");
        int err = phase_json(f, o, "save", f->save);
        return err ? err : phase_json(f, o, "load", f->load);
}

/* metrics.PHASE.FIELD of a job, 0 when it was not measured. */
static double metric(const struct json *job, const char *phase, const char *name)
{
        return json_number(json_get(json_get(json_get(job, "metrics"), phase), name), 0);
}

static const char *storage_of(const struct json *job)
{
        return json_string(json_get(json_get(job, "config"), "storage"), "?");
}

/* The first job on s3: what the others are compared with. */
static const struct json *direct_job(const struct json *jobs)
{
        for (size_t i = 0; i < json_count(jobs); i++)
                if (!strcmp(storage_of(json_at(jobs, i)), "s3"))
                        return json_at(jobs, i);
        return NULL;
}

/* A figure, or "-" where there is none. */
static void cell(FILE *to, int width, int digits, double v)
{
        if (v > 0)
                fprintf(to, " %*.*f", width, digits, v);
        else
                fprintf(to, " %*s", width, "-");
}

static void row(FILE *to, const struct json *job, const struct json *direct)
{
        static const char *const phases[] = {"save", "load"};
        /* a rate of bytes that went nowhere is none */
        bool moved = json_bool(json_get(json_get(job, "setup"), "moves_data"), true);

        fprintf(to, "%-8s", storage_of(job));
        for (int p = 0; p < 2; p++) {
                cell(to, 9, 3, metric(job, phases[p], "seconds"));
                cell(to, 7, 2, moved ? metric(job, phases[p], "gb_per_s") : 0);
        }
        for (int p = 0; p < 2; p++)
                cell(to, p ? 6 : 8, 2, moved ? metric(job, phases[p], "cpu_s_per_gb") : 0);
        for (int p = 0; p < 2; p++)
                cell(to, p ? 6 : 8, 2,
                     stats_ratio(moved ? metric(job, phases[p], "gb_per_s") : 0,
                                 metric(direct, phases[p], "gb_per_s")));
        fputc('\n', to);
}

static void headings(FILE *to, const struct json *job)
{
        const struct json *setup = json_get(job, "setup"), *model = json_get(job, "model");
        double bytes = json_number(json_get(model, "parameters"), 0) *
                       json_number(json_get(model, "bytes_a_parameter"), 0);
        fprintf(to, "%s, %g layers, %.2f GB, %g ranks; seconds are the maximum over ranks\n\n",
                json_string(json_get(model, "name"), "?"),
                json_number(json_get(model, "layers"), 0), bytes / 1e9,
                json_number(json_get(setup, "ranks"), 0));
        fprintf(to, "%-8s %9s %7s %9s %7s %15s %15s\n", "", "save", "", "load", "", "CPU-s/GB",
                "ratio to s3");
        fprintf(to, "%-8s %9s %7s %9s %7s %8s %6s %8s %6s\n", "storage", "s", "GB/s", "s", "GB/s",
                "save", "load", "save", "load");
}

void shards_table(const struct json *run, FILE *to)
{
        const struct json *jobs = json_get(run, "job_results");
        const struct json *direct = direct_job(jobs);

        headings(to, json_at(jobs, 0));
        for (size_t i = 0; i < json_count(jobs); i++)
                row(to, json_at(jobs, i), direct);
        for (size_t i = 0; i < json_count(jobs); i++) {
                const struct json *job = json_at(jobs, i), *setup = json_get(job, "setup");
                fprintf(to, "%s%s: data made %s; verified: %s; page cache dropped: %s; suffix %s\n",
                        i ? "" : "\n", storage_of(job),
                        json_string(json_get(setup, "data_made"), "?"),
                        json_string(json_get(setup, "verified"), "?"),
                        json_string(json_get(setup, "page_cache_dropped"), "?"),
                        json_string(json_get(setup, "suffix"), "?"));
        }
}
