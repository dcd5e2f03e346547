/* SPDX-License-Identifier: Apache-2.0 */
/* shards_page.c: a run of "shards" in the report. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "bench/html.h"
#include "bench/shards_table.h"
#include "bench/stats.h"

#include "base/banned.h"

enum { LABEL_MAX = 160, MAX_JOBS = 64 };

static const char *const phases[] = {"save", "load"};

/* The jobs of a run, at most MAX_JOBS, with their names. */
struct jobs {
        size_t n;
        const struct json *job[MAX_JOBS];
        const struct json *direct;
        char label[MAX_JOBS][LABEL_MAX];
};

static void row(struct buf *b, const struct jobs *jobs, size_t i)
{
        static const char *const fields[] = {"seconds", "gb_per_s"};
        const struct json *job = jobs->job[i];
        bool moved = shards_moves_data(job);

        buf_adds(b, "<tr><td>");
        html_text(b, jobs->label[i]);
        for (int p = 0; p < 2; p++)
                for (int f = 0; f < 2; f++) {
                        buf_adds(b, f ? "</td><td>" : "</td><td class=\"g\">");
                        html_figure(b, moved || !f ? shards_metric(job, phases[p], fields[f]) : 0,
                                    f ? 2 : 3);
                }
        for (int p = 0; p < 2; p++) {
                buf_adds(b, p ? "</td><td>" : "</td><td class=\"g\">");
                html_figure(b, moved ? shards_metric(job, phases[p], "cpu_s_per_gb") : 0, 2);
        }
        for (int p = 0; p < 2; p++) {
                double direct = shards_metric(jobs->direct, phases[p], "gb_per_s");
                double own = moved ? shards_metric(job, phases[p], "gb_per_s") : 0;
                buf_adds(b, p ? "</td><td>" : "</td><td class=\"g\">");
                html_figure(b, stats_ratio(own, direct), 2);
        }
        buf_adds(b, "</td></tr>\n");
}

static void table(struct buf *b, const struct jobs *jobs)
{
        buf_adds(b,
                 "<div class=\"scroll\"><table><thead><tr><th></th><th class=\"g\" colspan=\"2\">"
                 "save</th><th class=\"g\" colspan=\"2\">load</th><th class=\"g\" colspan=\"2\">"
                 "CPU-s per GB</th><th class=\"g\" colspan=\"2\">ratio to s3</th></tr>\n<tr><th>"
                 "storage</th><th class=\"g\">s</th><th>GB/s</th><th class=\"g\">s</th><th>GB/s"
                 "</th><th class=\"g\">save</th><th>load</th><th class=\"g\">save</th><th>load"
                 "</th></tr></thead><tbody>\n");
        for (size_t i = 0; i < jobs->n; i++)
                row(b, jobs, i);
        buf_adds(b, "</tbody></table></div>\n");
}

/* A chart with a bar or group a job (per_phase false) or two (true: save and load). */
static void chart(struct buf *b, const struct jobs *jobs, struct plot *p, bool per_phase,
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
                for (int ph = 0; ph < (per_phase ? 2 : 1); ph++, bars++) {
                        snprintf(text[bars], sizeof text[bars], "%s%s%s", jobs->label[i],
                                 per_phase ? " " : "", per_phase ? phases[ph] : "");
                        label[bars] = text[bars];
                        for (size_t s = 0; s < p->nseries; s++)
                                v[bars * p->nseries + s] =
                                        shards_metric(jobs->job[i], phases[per_phase ? ph : (int)s],
                                                      fields[per_phase ? s : 0]);
                }
        }
        p->label = label;
        p->v = v;
        p->nbars = bars;
        if (bars)
                html_plot(b, p);
}

static void charts(struct buf *b, const struct jobs *jobs, size_t index)
{
        static const char *const rate[] = {"gb_per_s"};
        static const char *const times[] = {"open_s", "transfer_s", "sync_s", "close_s"};
        static const char *const cpu[] = {"cpu_ranks_s_per_gb", "cpu_mount_s_per_gb"};
        char id[3][32];

        for (size_t i = 0; i < 3; i++)
                snprintf(id[i], sizeof id[i], "shards_%zu_%zu", index, i);
        struct plot speed = {.id = id[0],
                             .title = "Speed of all ranks together",
                             .unit = "GB/s",
                             .series = {"save", "load"},
                             .nseries = 2};
        struct plot phase = {.id = id[1],
                             .title = "Where the time goes, slowest rank of each phase",
                             .unit = "seconds",
                             .stacked = true,
                             .series = {"open", "transfer", "fsync", "close"},
                             .nseries = 4};
        struct plot cost = {.id = id[2],
                            .title = "Processor time",
                            .unit = "CPU-seconds per GB",
                            .stacked = true,
                            .series = {"ranks", "mount"},
                            .nseries = 2};
        buf_adds(b, "<div class=\"plots\">\n");
        chart(b, jobs, &speed, false, rate);
        chart(b, jobs, &phase, true, times);
        chart(b, jobs, &cost, true, cpu);
        buf_adds(b, "</div>\n");
}

/* How each job was measured, in words. */
static void notes(struct buf *b, const struct jobs *jobs)
{
        buf_adds(b, "<dl>");
        for (size_t i = 0; i < jobs->n; i++) {
                char note[400];
                shards_note(jobs->job[i], note, sizeof note);
                buf_adds(b, "<dt>");
                html_text(b, jobs->label[i]);
                buf_adds(b, "</dt><dd>");
                html_text(b, note);
                buf_adds(b, "</dd>");
        }
        buf_adds(b, "</dl>\n");
}

void shards_page(const struct json *run, size_t index, struct buf *b)
{
        const struct json *list = json_get(run, "job_results");
        CLEANUP(freep) struct jobs *jobs = calloc(1, sizeof *jobs);
        char line[300];

        if (!jobs)
                return;
        jobs->direct = shards_direct(list);
        for (size_t i = 0; i < json_count(list) && jobs->n < MAX_JOBS; i++) {
                jobs->job[jobs->n] = json_at(list, i);
                shards_label(list, i, jobs->label[jobs->n++], LABEL_MAX);
        }
        shards_headline(list, line, sizeof line);
        buf_adds(b, "<p>");
        html_text(b, line);
        buf_adds(b, ". Seconds are the maximum over ranks, the median over epochs.</p>\n");
        table(b, jobs);
        charts(b, jobs, index);
        notes(b, jobs);
}
