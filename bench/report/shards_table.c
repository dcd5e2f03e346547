/* SPDX-License-Identifier: Apache-2.0 */
/* shards_table.c: see shards_table.h. */
#include "bench/report/shards_table.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "bench/core/io.h"
#include "bench/data/preflight.h"
#include "bench/measure/stats.h"
#include "bench/report/job.h"

#include "base/banned.h"

static int phase_json(const struct shards_facts *f, struct json *metrics, const char *name,
                      const struct sample *v, size_t epochs)
{
        struct summary s;
        if (!v)
                return 0;
        int err = measure_summary(v, epochs, f->ranks, &s);
        if (!err)
                measure_json(metrics, name, &s, v, epochs, f->ranks);
        return err;
}

/* What became of the pages that a save left in this machine's memory, before they were loaded. */
static const char *page_cache_words(const struct shards_facts *f)
{
        char why[128];
        const struct io_storage *s = io_find(f->keys->storage, why, sizeof why);

        if (!f->load)
                return "nothing was loaded";
        if (!s || !(s->ops->flags & IO_CACHED))
                return "not in the way: the storage is no file system";
        if (!strcmp(f->dropped, "file"))
                return "dropped: the pages of the files that were loaded";
        if (!strcmp(f->dropped, "caches"))
                return "dropped: all of the machine";
        return f->keys->drop == DROP_NONE
                       ? "kept: drop=none"
                       : "not dropped: not possible here, what was loaded may have "
                         "come from memory";
}

static void model_json(const struct shards_facts *f, struct json *o)
{
        const struct model *m = f->model;

        json_add_string(o, "name", m ? m->name : f->file);
        json_add_number(o, "layers", m ? m->layers : 0);
        json_add_number(o, "hidden", m ? m->hidden : 0);
        json_add_number(o, "heads", m ? m->heads : 0);
        json_add_number(o, "parameters", m ? (double)model_params(m) : f->elements);
        json_add_number(o, "tensors", m ? (double)model_ntensors(m) : (double)f->tensors);
        json_add_number(o, "bytes_a_parameter",
                        m ? model_param_bytes(m, f->keys->optimizer)
                          : stats_ratio(f->bytes, f->elements));
}

static const char *made_words(const struct shards_facts *f)
{
        return !f->model ? "by who saved it" : f->held ? "before the clock" : "inside the clock";
}

static const char *verified_words(const struct shards_facts *f)
{
        if (f->verified_by)
                return f->verified_by;
        return !f->verified ? "no"
               : f->held    ? "every timed byte, after the clock"
                            : "every timed byte, inside the clock";
}

int shards_json(const struct shards_facts *f, struct json *job)
{
        model_json(f, json_add_object(job, "model"));
        struct json *o = json_add_object(job, "setup");
        json_add_number(o, "ranks", f->ranks);
        json_add_string(o, "suffix", f->suffix);
        json_add_string(o, "data_made", made_words(f));
        json_add_string(o, "verified", verified_words(f));
        json_add_bool(o, "moves_data", f->moves_data);
        if (f->save)
                json_add_bool(o, "fsync", f->keys->fsync || f->keys->sync_files);
        json_add_string(o, "page_cache_dropped", f->dropped);
        json_add_string(o, "page_cache", page_cache_words(f));
        json_add_number(o, "mount_pid", f->mount_pid);

        o = json_add_object(job, "metrics");
        int err = phase_json(f, o, "save", f->save, f->epochs);
        return err ? err : phase_json(f, o, "load", f->load, f->loads ? f->loads : f->epochs);
}

double shards_metric(const struct json *job, const char *phase, const char *field)
{
        return json_number(json_get(json_get(json_get(job, "metrics"), phase), field), 0);
}

bool shards_moves_data(const struct json *job)
{
        return json_bool(json_get(json_get(job, "setup"), "moves_data"), true);
}

/* The job on s3 that differs from the i-th in the storage alone; NULL: there is none. */
const struct json *shards_direct(const struct json *jobs, const struct job_labels *labels, size_t i)
{
        for (size_t k = 0; k < labels->n; k++)
                if (!strcmp(labels->storage[k], "s3") &&
                    !strcmp(job_label_rest(labels, k), job_label_rest(labels, i)))
                        return json_at(jobs, k);
        return NULL;
}

bool shards_any_s3(const struct job_labels *labels)
{
        for (size_t i = 0; i < labels->n; i++)
                if (!strcmp(labels->storage[i], "s3"))
                        return true;
        return false;
}

/* "; the store counted 1.000 times what was saved and 1.000 times what was loaded" */
static void counted_note(const struct json *job, char *out, size_t n)
{
        static const char *const phases[][2] = {{"save", "saved"}, {"load", "loaded"}};
        int used = 0;

        for (int p = 0; p < 2; p++) {
                const struct json *of = json_get(json_get(job, "metrics"), phases[p][0]);
                double times = json_number(json_get(json_get(of, "counted"), "over_ranks"), 0);
                if (times > 0)
                        used += snprintf(out + used, n - (size_t)used, "%s %.3f times what was %s",
                                         used ? " and" : "; the store counted", times,
                                         phases[p][1]);
        }
}

/* What the results say, for who reads the table. */
static const char *in_words(const char *said)
{
        static const char *const words[][2] = {
                {"before the clock", "generated before timing"},
                {"inside the clock", "generated while timed"},
                {"by who saved it", "generated by the save"},
                {"no", "not read back"},
                {"every timed byte, after the clock", "every timed byte, after timing"},
                {"every timed byte, inside the clock", "every timed byte, while timed"},
        };
        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
                if (!strcmp(said, words[i][0]))
                        return words[i][1];
        return said;
}

/* Where the saves are, and whether they stay there. */
static void place_note(const struct json *job, char *out, size_t n)
{
        const struct json *metrics = json_get(job, "metrics");
        const char *suffix = json_string(json_get(json_get(job, "setup"), "suffix"), "");
        bool saved = json_get(metrics, "save") != NULL, loaded = json_get(metrics, "load") != NULL;
        bool stay = saved && (!loaded || json_bool(job_key(job, "keep"), false));

        if (*suffix)
                snprintf(out, n, stay ? "; the saves stay in %s" : "; suffix %s", suffix);
}

void shards_note(const struct json *job, char *out, size_t n)
{
        const struct json *setup = json_get(job, "setup");
        const struct json *restore = json_get(job, "restore");
        const char *error = json_string(json_get(job, "error"), NULL);
        const struct json *sync = json_get(setup, "fsync");
        const char *verified = json_string(json_get(setup, "verified"), "?");
        const bool loaded = json_get(json_get(job, "metrics"), "load") != NULL;
        char fetched[64] = "", counted[160] = "", place[160] = "";

        if (restore)
                snprintf(fetched, sizeof fetched, "; fetched %.2f times what is unique",
                         json_number(json_get(restore, "fetched_over_unique"), 0));
        counted_note(job, counted, sizeof counted);
        place_note(job, place, sizeof place);
        if (error)
                snprintf(out, n, "failed: %s", error);
        else
                snprintf(out, n, "data %s; %s%s%s%s%s%s%s%s",
                         in_words(json_string(json_get(setup, "data_made"), "?")),
                         strcmp(verified, "no") ? "verified: " : "", in_words(verified),
                         loaded ? "; page cache " : "",
                         loaded ? json_string(json_get(setup, "page_cache"), "?") : "",
                         !sync                    ? ""
                         : json_bool(sync, false) ? "; saves end with fsync"
                                                  : "; saves end without fsync",
                         place, fetched, counted);
}

/* What jobs saved or loaded: the least and the most of them where they differ. */
struct extent {
        double least, most;
};

static void extend(struct extent *e, double v)
{
        e->least = e->least <= 0 || v < e->least ? v : e->least;
        e->most = v > e->most ? v : e->most;
}

static double bytes_of(const struct json *job)
{
        const struct json *model = json_get(job, "model");
        return json_number(json_get(model, "parameters"), 0) *
               json_number(json_get(model, "bytes_a_parameter"), 0);
}

static void model_text(const struct json *job, char *out, size_t n)
{
        const struct json *model = json_get(job, "model");
        double layers = json_number(json_get(model, "layers"), 0);
        char depth[32] = "", size[BYTES_TEXT];

        if (layers > 0)
                snprintf(depth, sizeof depth, "%g layer%s, ", layers, layers > 1 ? "s" : "");
        snprintf(out, n, "%s, %s%s", json_string(json_get(model, "name"), "?"), depth,
                 bytes_text((uint64_t)bytes_of(job), size));
}

void shards_headline(const struct json *jobs, char *out, size_t n)
{
        struct extent bytes = {0}, ranks = {0};
        char first[160] = "", model[160], least[BYTES_TEXT], most[BYTES_TEXT], fewest[32] = "";
        bool several = false;

        for (const struct json *job = json_first(jobs); job; job = json_next(job)) {
                if (json_get(job, "error") && (*first || json_next(job)))
                        continue;
                model_text(job, model, sizeof model);
                several = several || (*first && strcmp(first, model));
                if (!*first)
                        snprintf(first, sizeof first, "%s", model);
                extend(&bytes, bytes_of(job));
                extend(&ranks, json_number(json_get(json_get(job, "setup"), "ranks"), 0));
        }
        if (several && bytes.least < bytes.most)
                snprintf(first, sizeof first, "models of %s to %s",
                         bytes_text((uint64_t)bytes.least, least),
                         bytes_text((uint64_t)bytes.most, most));
        else if (several)
                snprintf(first, sizeof first, "models of %s",
                         bytes_text((uint64_t)bytes.most, most));
        if (ranks.least < ranks.most)
                snprintf(fewest, sizeof fewest, "%g to ", ranks.least);
        snprintf(out, n, "%s, %s%g rank%s", *first ? first : "?", fewest, ranks.most,
                 ranks.most > 1 ? "s" : "");
}

/* A figure, or "-" where there is none. */
static void cell(FILE *to, int width, int digits, double v)
{
        if (v > 0)
                fprintf(to, " %*.*f", width, digits, v);
        else
                fprintf(to, " %*s", width, "-");
}

static void row(FILE *to, const struct json *job, const char *label, int width, bool any_s3,
                const struct json *direct)
{
        static const char *const phases[] = {"save", "load"};
        bool moved = shards_moves_data(job); /* a rate of bytes that went nowhere is none */

        fprintf(to, "%-*s", width, label);
        for (int p = 0; p < 2; p++) {
                cell(to, 9, 3, shards_metric(job, phases[p], "seconds"));
                cell(to, 7, 2, moved ? shards_metric(job, phases[p], "gb_per_s") : 0);
        }
        for (int p = 0; p < 2; p++)
                cell(to, p ? 6 : 8, 2, moved ? shards_metric(job, phases[p], "cpu_s_per_gb") : 0);
        for (int p = 0; any_s3 && p < 2; p++)
                cell(to, p ? 6 : 8, 2,
                     stats_ratio(moved ? shards_metric(job, phases[p], "gb_per_s") : 0,
                                 shards_metric(direct, phases[p], "gb_per_s")));
        fputc('\n', to);
}

static void headings(FILE *to, const struct json *jobs, const struct job_labels *labels, int width)
{
        const bool any_s3 = shards_any_s3(labels);
        char line[300], median[40] = "";
        double epochs = json_number(job_key(json_first(jobs), "epochs"), 1);

        shards_headline(jobs, line, sizeof line);
        if (epochs > 1 && !job_labels_differ(labels, "epochs"))
                snprintf(median, sizeof median, ", medians of %g epochs", epochs);
        fprintf(to, "%s; seconds are the maximum over ranks%s\n\n", line, median);
        fprintf(to, "%-*s %13s %17s %19s%s\n", width, "", "save", "load", "CPU-s/GB",
                any_s3 ? "  speed / s3 [1]" : "");
        fprintf(to, "%-*s %9s %7s %9s %7s %8s %6s%s\n", width, "storage", "s", "GB/s", "s", "GB/s",
                "save", "load", any_s3 ? "     save   load" : "");
}

void shards_table(const struct json *run, FILE *to)
{
        const struct json *jobs = json_get(run, "job_results");
        CLEANUP(job_labels_release) struct job_labels labels = job_labels_of(jobs);
        const bool any_s3 = shards_any_s3(&labels);
        const int width = labels.width > 8 ? labels.width : 8;

        headings(to, jobs, &labels, width);
        for (size_t i = 0; i < labels.n; i++)
                row(to, json_at(jobs, i), job_label(&labels, i), width, any_s3,
                    shards_direct(jobs, &labels, i));
        if (any_s3)
                fputs("[1] speed relative to s3 with the same keys, higher is better\n", to);
        for (size_t i = 0; i < labels.n; i++) {
                char note[512];
                shards_note(json_at(jobs, i), note, sizeof note);
                fprintf(to, "%s%s: %s\n", i ? "" : "\n", job_label(&labels, i), note);
        }
}
