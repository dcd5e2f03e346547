/* SPDX-License-Identifier: Apache-2.0 */
/* measure.c: see measure.h. */
#include "bench/measure/measure.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "bench/measure/stats.h"

#include "base/banned.h"

static const struct {
        const char *name;
        size_t sample, summary;
} phases[] = {
        {"total_s", offsetof(struct sample, total), offsetof(struct summary, seconds)},
        {"open_s", offsetof(struct sample, open), offsetof(struct summary, open)},
        {"transfer_s", offsetof(struct sample, transfer), offsetof(struct summary, transfer)},
        {"sync_s", offsetof(struct sample, sync), offsetof(struct summary, sync)},
        {"close_s", offsetof(struct sample, close), offsetof(struct summary, close)},
        /* of directories alone */
        {"plan_s", offsetof(struct sample, plan), offsetof(struct summary, plan)},
        {"files_s", offsetof(struct sample, files), offsetof(struct summary, files)},
        {"finish_s", offsetof(struct sample, finish), offsetof(struct summary, finish)},
};
enum { NPHASES = sizeof phases / sizeof phases[0], NPHASES_OF_FILES = 5 };

static double field(const struct sample *s, size_t offset)
{
        return *(const double *)((const char *)s + offset);
}

static double max_over_ranks(const struct sample *v, size_t ranks, size_t offset)
{
        double max = 0;
        for (size_t i = 0; i < ranks; i++)
                if (field(&v[i], offset) > max)
                        max = field(&v[i], offset);
        return max;
}

/* How many of the phases a summary has. */
static size_t phases_of(const struct summary *s)
{
        return s->files > 0 ? NPHASES : NPHASES_OF_FILES;
}

void measure_add(struct sample *to, const struct sample *part)
{
        to->cpu_self += part->cpu_self;
        to->cpu_mount += part->cpu_mount;
        to->cpu_server += part->cpu_server;
        to->cpu_kernel += part->cpu_kernel;
        to->bytes += part->bytes;
        for (size_t i = 0; i < COPIES_KINDS; i++)
                to->copied.n[i] += part->copied.n[i];
        to->counted &= part->counted;
        to->count.sent += part->count.sent;
        to->count.received += part->count.received;
        to->count.written += part->count.written;
        to->count.read += part->count.read;
}

static void sum_counts(const struct sample *v, size_t n, struct summary *out)
{
        for (size_t i = 0; i < n; i++) {
                out->bytes += v[i].bytes;
                for (size_t j = 0; j < COPIES_KINDS; j++)
                        out->copied.n[j] += v[i].copied.n[j];
                out->counted |= v[i].counted;
                out->count.sent += v[i].count.sent;
                out->count.received += v[i].count.received;
                out->count.written += v[i].count.written;
                out->count.read += v[i].count.read;
        }
}

int measure_summary(const struct sample *v, size_t epochs, size_t ranks, struct summary *out)
{
        CLEANUP(freep) double *of_epoch = calloc(epochs ? epochs : 1, sizeof *of_epoch);
        struct stats st;
        double bytes = 0, self = 0, mount = 0, server = 0, kernel = 0;

        *out = (struct summary){0};
        if (!of_epoch)
                return -ENOMEM;
        for (size_t p = 0; p < NPHASES; p++) {
                for (size_t e = 0; e < epochs; e++)
                        of_epoch[e] = max_over_ranks(v + e * ranks, ranks, phases[p].sample);
                if (stats_of(of_epoch, epochs, &st))
                        return -ENOMEM;
                *(double *)((char *)out + phases[p].summary) = st.median;
                if (p == 0)
                        out->epochs = st;
                if (p == 0 && stats_median_interval(of_epoch, epochs, &out->interval) == -ENOMEM)
                        return -ENOMEM;
        }
        for (size_t i = 0; i < epochs * ranks; i++) {
                bytes += (double)v[i].bytes;
                self += v[i].cpu_self;
                mount += v[i].cpu_mount;
                server += v[i].cpu_server;
                kernel += v[i].cpu_kernel;
        }
        sum_counts(v, epochs * ranks, out);
        double gb = bytes / 1e9;
        out->gb_per_s = epochs ? stats_ratio(gb / (double)epochs, out->seconds) : 0;
        out->cpu_self_per_gb = stats_ratio(self, gb);
        out->cpu_mount_per_gb = stats_ratio(mount, gb);
        out->cpu_server_per_gb = stats_ratio(server, gb);
        out->cpu_kernel_per_gb = stats_ratio(kernel, gb);
        out->cpu_per_gb = out->cpu_self_per_gb + out->cpu_mount_per_gb;
        return 0;
}

static void sample_json(struct json *to, const struct sample *s, size_t rank, size_t nphases)
{
        struct json *o = json_add_object(to, NULL);
        json_add_number(o, "rank", (double)rank);
        json_add_number(o, "bytes", (double)s->bytes);
        for (size_t p = 0; p < nphases; p++)
                json_add_number(o, phases[p].name, field(s, phases[p].sample));
        json_add_number(o, "cpu_self_s", s->cpu_self);
        json_add_number(o, "cpu_mount_s", s->cpu_mount);
        json_add_number(o, "cpu_server_s", s->cpu_server);
        json_add_number(o, "cpu_kernel_s", s->cpu_kernel);
}

static struct json *stats_json(struct json *to, const char *name, const struct stats *s,
                               const struct interval *in)
{
        struct json *o = json_add_object(to, name);
        json_add_number(o, "n", (double)s->n);
        json_add_number(o, "mean", s->mean);
        json_add_number(o, "sd", s->sd);
        json_add_number(o, "min", s->min);
        json_add_number(o, "p25", s->p25);
        json_add_number(o, "median", s->median);
        json_add_number(o, "p75", s->p75);
        json_add_number(o, "p90", s->p90);
        json_add_number(o, "max", s->max);
        if (in->high <= 0)
                return o;
        json_add_number(o, "median_95_low", in->low);
        json_add_number(o, "median_95_high", in->high);
        return o;
}

/* What the ranks say they moved beside what the store's client and a mount counted. A save sends, a
 * load receives: over_ranks is above 1 by what was sent again, read ahead or is no data. */
static void counted_json(struct json *to, const struct summary *s, bool save)
{
        const struct io_count *c = &s->count;

        json_add_number(to, "bytes", (double)s->bytes);
        struct json *o = json_add_object(to, "copied");
        json_add_number(o, "host_bytes", (double)s->copied.n[COPIES_HOST]);
        json_add_number(o, "pinned_bytes", (double)s->copied.n[COPIES_PINNED]);
        json_add_number(o, "pageable_bytes", (double)s->copied.n[COPIES_PAGEABLE]);
        if (!s->counted)
                return;
        o = json_add_object(to, "counted");
        json_add_number(o, "sent_bytes", (double)c->sent);
        json_add_number(o, "received_bytes", (double)c->received);
        if (c->written || c->read) {
                json_add_number(o, "written_bytes", (double)c->written);
                json_add_number(o, "read_bytes", (double)c->read);
        }
        json_add_number(o, "over_ranks",
                        stats_ratio((double)(save ? c->sent : c->received), (double)s->bytes));
}

void measure_json(struct json *to, const char *name, const struct summary *s,
                  const struct sample *v, size_t epochs, size_t ranks)
{
        struct json *o = json_add_object(to, name);
        json_add_number(o, "seconds", s->seconds);
        json_add_number(o, "gb_per_s", s->gb_per_s);
        json_add_number(o, "seconds_min", s->epochs.min);
        json_add_number(o, "seconds_max", s->epochs.max);
        stats_json(o, "seconds_stats", &s->epochs, &s->interval);
        for (size_t p = 1; p < phases_of(s); p++)
                json_add_number(o, phases[p].name,
                                *(const double *)((const char *)s + phases[p].summary));
        json_add_number(o, "cpu_s_per_gb", s->cpu_per_gb);
        json_add_number(o, "cpu_ranks_s_per_gb", s->cpu_self_per_gb);
        json_add_number(o, "cpu_mount_s_per_gb", s->cpu_mount_per_gb);
        json_add_number(o, "cpu_server_s_per_gb", s->cpu_server_per_gb);
        json_add_number(o, "cpu_kernel_s_per_gb", s->cpu_kernel_per_gb);
        counted_json(o, s, !strcmp(name, "save"));
        struct json *list = json_add_array(o, "epochs");
        for (size_t e = 0; e < epochs; e++) {
                struct json *ranks_of = json_add_array(list, NULL);
                for (size_t r = 0; r < ranks; r++)
                        sample_json(ranks_of, &v[e * ranks + r], r, phases_of(s));
        }
}

static struct json *values_json(struct json *to, const char *name, const double *v, size_t n)
{
        struct interval in;
        struct stats st;

        if (stats_of(v, n, &st) || stats_median_interval(v, n, &in) == -ENOMEM)
                return NULL;
        return stats_json(to, name, &st, &in);
}

int measure_values_json(struct json *to, const char *name, const double *v, size_t n)
{
        return values_json(to, name, v, n) ? 0 : -ENOMEM;
}

int measure_each_json(struct json *to, const char *name, const double *v, size_t n)
{
        enum { EACH_MAX = 10000 };
        struct json *o = values_json(to, name, v, n);
        struct json *each = o && n <= EACH_MAX ? json_add_array(o, "each") : NULL;

        for (size_t i = 0; each && i < n; i++)
                json_add_number(each, NULL, v[i]);
        return o ? 0 : -ENOMEM;
}
