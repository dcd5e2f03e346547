/* SPDX-License-Identifier: Apache-2.0 */
/* report.c: see report.h. */
#include "bench/report/report.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/text/json.h"
#include "bench/report/doc.h"
#include "bench/core/run.h"
#include "bench/measure/sampler.h"
#include "bench/report/runs.h"
#include "bench/report/shards_table.h"

#include "base/banned.h"

enum { USE_CHARTS = 6 };

/* --- what every run has --- */

/* What ran where: versions and machine. */
static void say_machine(struct doc *d, const struct json *run)
{
        const struct json *v = json_get(run, "versions"), *m = json_get(run, "machine");
        const struct json *ec2 = json_get(run, "ec2_metadata");
        const char *word = json_string(json_get(run, "disambiguator"), "");
        double mine = json_number(json_get(m, "cores"), 0);
        double online = json_number(json_get(m, "cores_online"), mine);
        char text[200], of[40] = "";

        if (online > mine)
                snprintf(of, sizeof of, " a rank of the machine's %g", online);
        snprintf(text, sizeof text, "%.100s, %g core%s%s, %.0f GiB",
                 json_string(json_get(m, "cpu"), "?"), mine, mine > 1 ? "s" : "", of,
                 json_number(json_get(m, "memory_bytes"), 0) / (1 << 30));
        doc_pair(d, "machine", text);
        if (json_count(ec2)) {
                snprintf(text, sizeof text, "%.60s in %.60s, image %.60s",
                         json_string(json_get(ec2, "instance_type"), "?"),
                         json_string(json_get(ec2, "region"), "?"),
                         json_string(json_get(ec2, "image_id"), "?"));
                doc_pair(d, "instance", text);
        }
        for (size_t i = 0; i < json_count(v); i++)
                doc_pair(d, json_name(json_at(v, i)), json_string(json_at(v, i), "?"));
        if (*word)
                doc_pair(d, "disambiguator", word);
}

/* CPU-seconds of each job, all of it: what is made and checked outside of the clocks counts too. */
static void cpu_table(struct doc *d, const struct json *jobs, const struct job_labels *labels)
{
        static const struct doc_column columns[] = {{NULL, "storage"},
                                                    {"CPU-seconds of", "ranks"},
                                                    {"CPU-seconds of", "mount"},
                                                    {"CPU-seconds of", "store"},
                                                    {"CPU-seconds of", "kernel"},
                                                    {NULL, "elapsed s"}};
        static const char *const fields[] = {"ranks_s", "mount_s", "server_s", "kernel_s"};

        if (!json_get(json_at(jobs, 0), "cpu"))
                return;
        doc_heading(d, "Processor time of whole jobs");
        doc_table(d, columns, sizeof columns / sizeof columns[0]);
        for (size_t i = 0; i < labels->n; i++) {
                doc_text(d, job_label(labels, i));
                for (size_t f = 0; f < sizeof fields / sizeof fields[0]; f++)
                        doc_figure(
                                d,
                                json_number(json_get(json_get(json_at(jobs, i), "cpu"), fields[f]),
                                            0),
                                2);
                doc_figure(d, json_number(json_get(json_at(jobs, i), "elapsed_s"), 0), 2);
        }
        doc_table_end(d);
}

/* Percentages over the seconds of a job, as sampled. */
static void use_chart(struct doc *d, const struct json *use, const char *label)
{
        static const struct {
                const char *name, *text;
        } kinds[PLOT_SERIES_MAX] = {{"cpu_util", "processors"},
                                    {"cpu_mem", "memory"},
                                    {"gpu_util", "GPU"},
                                    {"gpu_mem", "GPU memory"}};
        const struct json *of[PLOT_SERIES_MAX];
        double period = json_number(json_get(use, "period_s"), 0);
        char title[256];
        struct plot p = {
                .title = title, .unit = "percent", .kind = PLOT_LINES, .x_unit = "seconds"};

        snprintf(title, sizeof title, "How busy the machine was: %s", label);
        for (size_t i = 0; i < PLOT_SERIES_MAX; i++) {
                const struct json *v = json_get(use, kinds[i].name);
                if (json_count(v) < 2)
                        continue;
                of[p.nseries] = v;
                p.series[p.nseries++] = kinds[i].text;
                p.npoints = json_count(v) > p.npoints ? json_count(v) : p.npoints;
        }
        if (!p.nseries || period <= 0 || p.npoints > SAMPLER_CURVE)
                return;
        CLEANUP(freep) double *x = calloc(p.npoints, sizeof *x);
        CLEANUP(freep) double *v = calloc(p.npoints * p.nseries, sizeof *v);
        for (size_t i = 0; x && v && i < p.npoints; i++) {
                x[i] = period * (double)(i + 1);
                for (size_t s = 0; s < p.nseries; s++)
                        v[i * p.nseries + s] = json_number(json_at(of[s], i), NAN);
        }
        p.x = x;
        p.v = v;
        if (x && v)
                doc_plot(d, &p);
}

static void say_all(struct doc *d, const struct json *run)
{
        const struct json *jobs = json_get(run, "job_results");
        CLEANUP(job_labels_release) struct job_labels labels = job_labels_of(jobs);

        cpu_table(d, jobs, &labels);
        for (size_t i = 0; i < labels.n && i < USE_CHARTS; i++)
                use_chart(d, json_get(json_at(jobs, i), "utilization_over_time"),
                          job_label(&labels, i));
        for (size_t i = 0; i < labels.n; i++) {
                const char *error = json_string(json_get(json_at(jobs, i), "error"), NULL);
                if (error)
                        doc_say(d, "Failed: %s: %s.", job_label(&labels, i), error);
        }
        doc_heading(d, "Where");
        say_machine(d, run);
}

/* --- the runs --- */

static void section(struct doc *d, const struct run_found *f, size_t number, const struct json *run)
{
        char title[160];

        snprintf(title, sizeof title, "%zu. %s", number, f->title);
        doc_section(d, title, f->path);
        if (*f->says)
                doc_say(d, "%s", f->says);
        if (f->scenario->page)
                f->scenario->page(run, d);
        say_all(d, run);
        doc_section_end(d);
}

static void page_of(struct doc *d, const struct runs *r)
{
        doc_begin(d, "ckptbench: checkpoints saved and loaded");
        runs_page(r, d);
        for (size_t i = 0; i < r->n; i++) {
                CLEANUP(json_freep) struct json *run = runs_read(r->v[i].path);
                section(d, &r->v[i], i + 1, run);
        }
        doc_end(d);
}

static int write_page(const struct buf *page, const char *path)
{
        CLEANUP(fclosep) FILE *f = fopen(path, "we");
        if (!f)
                return -errno;
        if (fwrite(page->p, 1, page->len, f) != page->len || fflush(f))
                return -errno;
        return 0;
}

static int fail(const char *what, int err, const char *remedy)
{
        fprintf(stderr, "ckptbench: %s: %s: %s\n", what, strerror(-err), remedy);
        return 1;
}

/* PAGE.html and PAGE.md: the Markdown's name is the page's with the other ending. */
static void beside(const char *page, char *out, size_t n)
{
        const char *dot = strrchr(page, '.'), *slash = strrchr(page, '/');
        size_t stem = dot && (!slash || dot > slash) ? (size_t)(dot - page) : strlen(page);
        snprintf(out, n, "%.*s.md", (int)stem, page);
}

static int write_report(const struct doc *d, const char *page)
{
        char md[PATH_MAX];

        beside(page, md, sizeof md);
        if (!strcmp(md, page)) {
                fprintf(stderr,
                        "ckptbench: -o %s is where the Markdown goes: give a page that "
                        "ends in .html\n",
                        page);
                return 1;
        }
        int err = d->html.failed || d->md.failed ? -ENOMEM : write_page(&d->html, page);
        if (err)
                return fail(page, err, "give -o a file that can be written");
        err = write_page(&d->md, md);
        if (err)
                return fail(md, err, "give -o a file that can be written");
        return 0;
}

static int make_report(char **dirs, size_t ndirs, const char *page)
{
        CLEANUP(runs_release) struct runs runs = RUNS_INIT;
        CLEANUP(doc_release) struct doc doc = DOC_INIT;

        for (size_t i = 0; i < ndirs; i++) {
                int err = runs_find(&runs, dirs[i]);
                if (err)
                        return fail(dirs[i], err, "give a directory of results");
        }
        if (!runs.n) {
                fprintf(stderr, "ckptbench: no results %sbelow the directories given: %s\n",
                        runs.skipped ? "that can be read are " : "",
                        runs.skipped ? "name others" : "run a scenario first");
                return 1;
        }
        if (runs.beyond)
                fprintf(stderr,
                        "ckptbench: the report has the first %d runs, %zu more are left out: give "
                        "fewer directories\n",
                        RUNS_MAX, runs.beyond);
        runs_sort(&runs);
        page_of(&doc, &runs);
        int status = write_report(&doc, page);
        if (!status)
                printf("report of %zu run%s: %s\n", runs.n, runs.n == 1 ? "" : "s", page);
        return runs.skipped ? 1 : status; /* the page is of less than was asked for */
}

int report_main(int argc, char **argv)
{
        const char *page = "report.html";
        size_t n = 0;

        for (int i = 1; i < argc; i++) {
                if (!strcmp(argv[i], "-o") && i + 1 == argc) {
                        fprintf(stderr, "ckptbench: -o needs the name of a page behind it\n");
                        return 1;
                }
                if (!strcmp(argv[i], "-o"))
                        page = argv[++i];
                else
                        argv[n++] = argv[i];
        }
        if (!n || *argv[0] == '-') {
                fprintf(stderr, "ckptbench: no results are named: give ckptbench report DIR... "
                                "[-o PAGE.html]\n");
                return 1;
        }
        return make_report(argv, n, page);
}
