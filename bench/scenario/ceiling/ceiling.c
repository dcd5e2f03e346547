/* SPDX-License-Identifier: Apache-2.0 */
/* ceiling.c: the scenario "ceiling": the limits of this machine, one after the other in one run, by
 * which the speed of a mount is divided. */
#include "bench/scenario/ceiling/ceiling.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "bench/core/cpu.h"
#include "bench/core/io.h"
#include "bench/core/run.h"
#include "bench/report/doc.h"
#include "bench/report/job.h"
#include "bench/measure/stats.h"
#include "bench/core/signal_cleanup.h"

#include "base/banned.h"

#define KiB 1024ULL
#define MiB (1024 * KiB)
#define GiB (1024 * MiB)

/* Bytes of a measurement when size=0: about a second each on a machine of 2026. */
static const struct ceiling_row {
        const char *name, *text;
        ceiling_fn *measure;
        enum ceiling_kind kind;
        uint64_t block, bytes;
} rows[] = {
        {"memcpy", "memory copy, one core", ceiling_memcpy, CEILING_ALONE, MiB, 8 * GiB},
        {"disk_write", "disk, write and fsync", ceiling_disk_write, CEILING_DISK, MiB, GiB},
        {"disk_read", "disk, read", ceiling_disk_read, CEILING_DISK, MiB, GiB},
        {"fuse_write_1m", "null FUSE, write", ceiling_fuse_write, CEILING_FUSE, MiB, 4 * GiB},
        {"fuse_write_64k", "null FUSE, write", ceiling_fuse_write, CEILING_FUSE, 64 * KiB, 2 * GiB},
        {"fuse_write_4k", "null FUSE, write", ceiling_fuse_write, CEILING_FUSE, 4 * KiB, GiB / 2},
        {"fuse_read_1m", "null FUSE, read, page cache", ceiling_fuse_read, CEILING_FUSE, MiB,
         4 * GiB},
        {"fuse_read_64k", "null FUSE, read, page cache", ceiling_fuse_read, CEILING_FUSE, 64 * KiB,
         2 * GiB},
        {"fuse_read_4k", "null FUSE, read, page cache", ceiling_fuse_read, CEILING_FUSE, 4 * KiB,
         GiB},
        {"http_put", "HTTP alone, put of parts", ceiling_http_put, CEILING_HTTP, 0, 4 * GiB},
        {"http_get", "HTTP alone, get of ranges", ceiling_http_get, CEILING_HTTP, 0, 4 * GiB},
};
enum { NROWS = sizeof rows / sizeof rows[0] };

/* The two limits, and what each is composed of. */
static const struct limit {
        const char *name, *word, *fuse, *http;
        const char *beyond; /* what goes beyond it, or NULL */
} limits[] = {
        {"limit_write", "write", "fuse_write_1m", "http_put", NULL},
        {"limit_read", "read", "fuse_read_1m", "http_get",
         "It is that of reads through the page cache: those past it may be faster."},
};
enum { NLIMITS = sizeof limits / sizeof limits[0] };

static int by_speed(const void *a, const void *b)
{
        double x = ((const struct figure *)a)->gb_per_s, y = ((const struct figure *)b)->gb_per_s;
        return (x > y) - (x < y);
}

/* So many measurements as there are epochs, the slowest first, and a warm-up before. */
static int measure(struct ceiling *c, const struct ceiling_row *row, struct figure *v)
{
        size_t n = c->keys->epochs;
        uint64_t bytes = c->keys->size ? c->keys->size : row->bytes, block = row->block;
        int err = 0;

        if (block && bytes > block)
                bytes -= bytes % block;
        if (!err && row->kind != CEILING_DISK)
                err = row->measure(c, block, bytes / 8 > block ? bytes / 8 / MiB * MiB : bytes, v);
        for (size_t i = 0; i < n && !err; i++)
                err = signal_came() ? -ECANCELED : row->measure(c, block, bytes, &v[i]);
        if (!err)
                qsort(v, n, sizeof *v, by_speed);
        return err;
}

/* The bytes of one request: disk and HTTP take theirs from the keys. */
static uint64_t block_of(const struct ceiling *c, const struct ceiling_row *row)
{
        return row->kind == CEILING_DISK          ? c->keys->block
               : row->kind != CEILING_HTTP        ? row->block
               : row->measure == ceiling_http_put ? c->keys->s3_part_size
                                                  : c->keys->s3_read_size;
}

/* The figures are those of the median of `n`. */
static void row_json(struct json *to, const struct ceiling *c, const struct ceiling_row *row,
                     const struct figure *v, size_t n)
{
        const struct figure *f = &v[n / 2];
        struct json *o = json_add_object(to, row->name);
        char text[64];
        snprintf(text, sizeof text, "%s%s", row->text,
                 row->measure != ceiling_disk_read ? ""
                 : c->cached                       ? ", page cache kept"
                                                   : ", page cache dropped");
        json_add_string(o, "text", text);
        json_add_number(o, "block_bytes", (double)block_of(c, row));
        json_add_number(o, "seconds", f->seconds);
        json_add_number(o, "gb_per_s", f->gb_per_s);
        json_add_number(o, "cpu_machine_s_per_gb", f->cpu_machine_per_gb);
        json_add_number(o, "cpu_processes_s_per_gb", f->cpu_processes_per_gb);
        struct json *each = json_add_array(o, "each"); /* GB/s */
        for (size_t i = 0; i < n; i++)
                json_add_number(each, NULL, v[i].gb_per_s);
}

static double figure_of(const struct json *metrics, const char *row, const char *field)
{
        return json_number(json_get(json_get(metrics, row), field), 0);
}

/* cores / (c_fuse + c_http): the GB/s at which a byte that goes through both takes all cores. */
static void limit_json(struct json *metrics, const char *name, const char *fuse, const char *http)
{
        static const struct {
                const char *from, *to;
        } fields[] = {{"cpu_machine_s_per_gb", "gb_per_s"},
                      {"cpu_processes_s_per_gb", "gb_per_s_by_processes"}};
        double limit[2] = {0, 0};

        for (int i = 0; i < 2; i++) {
                double a = figure_of(metrics, fuse, fields[i].from);
                double b = figure_of(metrics, http, fields[i].from);
                if (a > 0 && b > 0)
                        limit[i] = cpu_cores() / (a + b);
        }
        if (limit[0] <= 0)
                return;
        struct json *o = json_add_object(metrics, name);
        json_add_number(o, fields[0].to, limit[0]);
        json_add_number(o, fields[1].to, limit[1]);
}

static int ceiling_plan(const struct run *r, const struct keys *k, FILE *dry, char *why,
                        size_t nwhy)
{
        const char *top;

        (void)r;
        int err = *k->path ? io_posix_top(k, "disk", &top, why, nwhy) : 0;
        if (dry && !err)
                for (size_t i = 0; i < NROWS; i++)
                        fprintf(dry, "would measure %s: %s\n", rows[i].name, rows[i].text);
        return err;
}

/* Sets up what rows of a kind need; one that cannot is left out with its reason in "left_out". */
static int run_kind(struct ceiling *c, enum ceiling_kind kind, struct json *metrics,
                    struct json *left_out)
{
        CLEANUP(freep) struct figure *v = calloc(c->keys->epochs, sizeof *v);
        int err = v ? ceiling_start(c, kind) : -ENOMEM;
        if (err == -ECANCELED || !v)
                return err;
        if (err) {
                json_add_string(left_out, ceiling_kind_name(kind), c->why);
                return 0;
        }
        for (size_t i = 0; i < NROWS && !err; i++) {
                if (rows[i].kind != kind)
                        continue;
                err = measure(c, &rows[i], v);
                if (!err)
                        row_json(metrics, c, &rows[i], v, c->keys->epochs);
        }
        if (kind == CEILING_FUSE)
                json_add_number(metrics, "fuse_read_ahead_kb", c->read_ahead_kb);
        ceiling_end(c, kind);
        return err;
}

static int ceiling_job(const struct run *r, const struct keys *k, struct json *job)
{
        CLEANUP(ceiling_release) struct ceiling c = {.keys = k, .child = {.out = -1}};
        struct json *metrics = json_add_object(job, "metrics");
        struct json *left_out = json_add_object(job, "left_out");
        int err = 0;

        for (int kind = 0; kind < CEILING_KINDS && !err; kind++)
                err = run_kind(&c, (enum ceiling_kind)kind, metrics, left_out);
        if (err && err != -ECANCELED)
                run_error(r, "%s", *c.why ? c.why : strerror(-err));
        if (err)
                return err;
        json_add_number(metrics, "cores", cpu_cores());
        for (size_t i = 0; i < NLIMITS; i++)
                limit_json(metrics, limits[i].name, limits[i].fuse, limits[i].http);
        return 0;
}

static void print_block(FILE *to, double bytes)
{
        if (bytes >= (double)MiB)
                fprintf(to, "%6.4g MiB", bytes / (double)MiB);
        else
                fprintf(to, "%6.4g KiB", bytes / (double)KiB);
}

/* Why a limit is below what the same run measured, and what may go beyond it; "" nothing. */
static void limit_note(const struct json *m, const struct limit *l, char *out, size_t n)
{
        const double limit = figure_of(m, l->name, "gb_per_s");
        const double fuse = figure_of(m, l->fuse, "gb_per_s");
        const double http = figure_of(m, l->http, "gb_per_s");

        *out = '\0';
        if (limit < fuse || limit < http)
                snprintf(out, n,
                         "The limit is below what was measured of one alone (FUSE %.2f GB/s, HTTP "
                         "%.2f GB/s), since together they share the cores.%s%s",
                         fuse, http, l->beyond ? " " : "", l->beyond ? l->beyond : "");
        else if (l->beyond)
                snprintf(out, n, "%s", l->beyond);
}

static void limit_line(FILE *to, const struct json *m, const struct limit *l)
{
        static const char field[] = "cpu_machine_s_per_gb";
        char note[300];

        if (!json_get(m, l->name))
                return;
        fprintf(to, "limit %-5s = %g cores / (%.3f + %.3f) = %.2f GB/s (by processes %.2f)\n",
                l->word, json_number(json_get(m, "cores"), 0), figure_of(m, l->fuse, field),
                figure_of(m, l->http, field), figure_of(m, l->name, "gb_per_s"),
                figure_of(m, l->name, "gb_per_s_by_processes"));
        limit_note(m, l, note, sizeof note);
        if (*note)
                fprintf(to, "  %s\n", note);
}

static void ceiling_table(const struct json *run, FILE *to)
{
        const struct json *jobs = json_get(run, "job_results");

        for (size_t j = 0; j < json_count(jobs); j++) {
                const struct json *m = json_get(json_at(jobs, j), "metrics");
                const struct json *left_out = json_get(json_at(jobs, j), "left_out");
                fprintf(to, "%-32s %10s %8s %17s %10s\n", "what", "block", "GB/s",
                        "CPU-s/GB machine", "processes");
                for (size_t i = 0; i < json_count(m); i++) {
                        const struct json *row = json_at(m, i);
                        if (!json_get(row, "block_bytes"))
                                continue;
                        fprintf(to, "%-32s ", json_string(json_get(row, "text"), "?"));
                        print_block(to, json_number(json_get(row, "block_bytes"), 0));
                        fprintf(to, " %8.2f %17.3f %10.3f\n",
                                json_number(json_get(row, "gb_per_s"), 0),
                                json_number(json_get(row, "cpu_machine_s_per_gb"), 0),
                                json_number(json_get(row, "cpu_processes_s_per_gb"), 0));
                }
                for (size_t i = 0; i < json_count(left_out); i++)
                        fprintf(to, "left out: %s: %s\n", json_name(json_at(left_out, i)),
                                json_string(json_at(left_out, i), ""));
                for (size_t i = 0; i < NLIMITS; i++)
                        limit_line(to, m, &limits[i]);
        }
}

static void page_row(struct doc *d, const struct json *row)
{
        double block = json_number(json_get(row, "block_bytes"), 0);
        bool large = block >= (double)MiB;
        char text[32];

        snprintf(text, sizeof text, "%.4g %s", block / (double)(large ? MiB : KiB),
                 large ? "MiB" : "KiB");
        doc_text(d, json_string(json_get(row, "text"), "?"));
        doc_text(d, text);
        doc_figure(d, json_number(json_get(row, "gb_per_s"), 0), 2);
        doc_figure(d, json_number(json_get(row, "cpu_machine_s_per_gb"), 0), 3);
        doc_figure(d, json_number(json_get(row, "cpu_processes_s_per_gb"), 0), 3);
}

static void page_limit(struct doc *d, const struct json *m, const struct limit *l)
{
        char text[500], note[300];

        if (!json_get(m, l->name))
                return;
        limit_note(m, l, note, sizeof note);
        snprintf(text, sizeof text,
                 "%.2f GB/s with the machine's CPU time, %.2f GB/s with the processes'. %s",
                 figure_of(m, l->name, "gb_per_s"), figure_of(m, l->name, "gb_per_s_by_processes"),
                 note);
        doc_pair(d, l->word, text);
}

static void ceiling_says(const struct json *run, struct buf *to)
{
        const struct json *m = json_get(json_at(json_get(run, "job_results"), 0), "metrics");

        for (size_t i = 0; i < NLIMITS; i++)
                if (json_get(m, limits[i].name))
                        job_says(to, "%s: a mount can reach %.2f GB/s on %g cores.",
                                 i ? "Load" : "Save", figure_of(m, limits[i].name, "gb_per_s"),
                                 json_number(json_get(m, "cores"), 0));
}

static void ceiling_page(const struct json *run, struct doc *d)
{
        static const struct doc_column columns[] = {{NULL, "what"},
                                                    {NULL, "block"},
                                                    {NULL, "GB/s"},
                                                    {"CPU-s per GB", "machine"},
                                                    {"CPU-s per GB", "processes"}};
        const struct json *job = json_at(json_get(run, "job_results"), 0);
        const struct json *m = json_get(job, "metrics"), *left_out = json_get(job, "left_out");
        const char *label[NROWS];
        double v[NROWS];
        struct plot p = {.title = "Speed of each alone",
                         .unit = "GB/s",
                         .series = {"GB/s"},
                         .nseries = 1,
                         .label = label,
                         .v = v};

        doc_table(d, columns, sizeof columns / sizeof columns[0]);
        for (size_t i = 0; i < json_count(m); i++) {
                const struct json *row = json_at(m, i);
                if (!json_get(row, "block_bytes"))
                        continue;
                page_row(d, row);
                if (p.npoints < NROWS) {
                        label[p.npoints] = json_name(row);
                        v[p.npoints++] = json_number(json_get(row, "gb_per_s"), 0);
                }
        }
        doc_table_end(d);
        doc_say(d, "What a byte that goes through FUSE and HTTP can reach, cores / (CPU-s per GB "
                   "of both):");
        for (size_t i = 0; i < NLIMITS; i++)
                page_limit(d, m, &limits[i]);
        for (size_t i = 0; i < json_count(left_out); i++)
                doc_pair(d, "left out", json_string(json_at(left_out, i), ""));
        if (p.npoints)
                doc_plot(d, &p);
}

const struct scenario scenario_ceiling = {
        .name = "ceiling",
        .text = "The machine's limits: null FUSE, HTTP alone, memcpy, disk (path=), and what they "
                "leave.",
        .plan = ceiling_plan,
        .job = ceiling_job,
        .table = ceiling_table,
        .says = ceiling_says,
        .page = ceiling_page,
};
