/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_text.c: see metrics_text.h. */
#include "mount/control/metrics_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/metrics.h"

#include "base/banned.h"

/* "ckptfs_sent_bytes_total" of a row of metrics.def. */
static void metrics_text_name(struct buf *out, const struct metric_desc *d)
{
        bool has = strstr(d->name, d->unit) != NULL;
        bool base = !strcmp(d->unit, "bytes") || !strcmp(d->unit, "seconds");

        buf_addf(out, "ckptfs_%s%s%s%s", d->name, base && !has ? "_" : "",
                 base && !has ? d->unit : "", d->kind == METRIC_COUNTER ? "_total" : "");
}

/* What HELP and values of labels escape. */
static void add_escaped(struct buf *out, const char *text)
{
        for (; *text; text++) {
                if (*text == '\n')
                        buf_adds(out, "\\n");
                else if (*text == '\\' || *text == '"')
                        buf_addf(out, "\\%c", *text);
                else
                        buf_addc(out, *text);
        }
}

/* `labels`, here and below, is what every sample has, with a comma at its end: "mount=...,". */
static void add_metric(struct buf *out, const struct metric_desc *d, uint64_t value,
                       const char *labels)
{
        buf_adds(out, "# HELP ");
        metrics_text_name(out, d);
        buf_addf(out, " %s\n# TYPE ", d->text);
        metrics_text_name(out, d);
        buf_addf(out, " %s\n", d->kind == METRIC_COUNTER ? "counter" : "gauge");
        metrics_text_name(out, d);
        buf_addf(out, "{%.*s} %" PRIu64 "\n", (int)strlen(labels) - 1, labels, value);
}

static void add_seconds(struct buf *out, uint64_t ns)
{
        buf_addf(out, "%" PRIu64 ".%09" PRIu64, ns / 1000000000, ns % 1000000000);
}

/* Of an operation that was not asked for yet there is none. */
static void add_histogram(struct buf *out, const char *name, const char *operation,
                          const struct metric_histogram *h, const char *labels)
{
        uint64_t n[METRIC_STEPS + 1], all = 0;

        for (int i = 0; i <= METRIC_STEPS; i++)
                n[i] = all += atomic_load_explicit(&h->steps[i], memory_order_relaxed);
        if (!all)
                return;
        for (int i = 0; i <= METRIC_STEPS; i++) {
                buf_addf(out, "ckptfs_%s_seconds_bucket{%soperation=\"%s\",le=\"", name, labels,
                         operation);
                if (i < METRIC_STEPS)
                        buf_addf(out, "%g", (double)metric_steps_ns[i] / 1e9);
                else
                        buf_adds(out, "+Inf");
                buf_addf(out, "\"} %" PRIu64 "\n", n[i]);
        }
        buf_addf(out, "ckptfs_%s_seconds_sum{%soperation=\"%s\"} ", name, labels, operation);
        add_seconds(out, atomic_load_explicit(&h->sum_ns, memory_order_relaxed));
        buf_addf(out, "\nckptfs_%s_seconds_count{%soperation=\"%s\"} %" PRIu64 "\n", name, labels,
                 operation, all);
}

static void add_times(struct buf *out, enum metric_times m, const char *labels)
{
        const struct metric_times_desc *d = &metric_times_table[m];

        buf_addf(out, "# HELP ckptfs_%s_seconds %s\n# TYPE ckptfs_%s_seconds histogram\n", d->name,
                 d->text, d->name);
        for (unsigned i = 0; i < d->noperations; i++)
                add_histogram(out, d->name, d->operations[i], &metric_histograms[m][i], labels);
}

static void add_replies(struct buf *out, enum metric_replies m, const char *labels)
{
        const struct metric_replies_desc *d = &metric_replies_table[m];
        struct metric_status v[METRIC_STATUSES_MOST + 2];

        buf_addf(out, "# HELP ckptfs_%s_total %s\n# TYPE ckptfs_%s_total counter\n", d->name,
                 d->text, d->name);
        for (unsigned i = 0; i < d->noperations; i++) {
                metric_statuses(m, i, v);
                for (const struct metric_status *s = v; *s->text; s++)
                        if (s->n)
                                buf_addf(out,
                                         "ckptfs_%s_total{%soperation=\"%s\",code=\"%s\"} "
                                         "%" PRIu64 "\n",
                                         d->name, labels, d->operations[i], s->text, s->n);
        }
}

int metrics_text(struct buf *out, const struct metrics_label *labels, size_t n)
{
        struct buf with = BUF_INIT;

        for (size_t i = 0; i < n; i++) {
                buf_addf(&with, "%s=\"", labels[i].name);
                add_escaped(&with, labels[i].value);
                buf_adds(&with, "\",");
        }
        if (!with.failed) {
                for (int i = 0; i < METRIC_COUNT; i++)
                        add_metric(
                                out, &metric_table[i],
                                atomic_load_explicit(&metric_cells[i].value, memory_order_relaxed),
                                with.p);
                for (int i = 0; i < TIMES_COUNT; i++)
                        add_times(out, i, with.p);
                for (int i = 0; i < REPLIES_COUNT; i++)
                        add_replies(out, i, with.p);
        }
        bool failed = with.failed || out->failed;
        buf_release(&with);
        return failed ? -ENOMEM : 0;
}

/* Cuts "NAME=VALUE" at its sign: 0, or -EINVAL when that is no name that a label may have, or one
 * of the `n` others has it. */
static int metrics_label_parse(char *text, struct metrics_label *out,
                               const struct metrics_label *others, size_t n)
{
        static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
        static const char digits[] = "0123456789";
        char *sign = strchr(text, '=');

        if (!sign || sign == text)
                return -EINVAL;
        *sign = 0;
        *out = (struct metrics_label){.name = text, .value = sign + 1};
        size_t first = strspn(text, letters);
        if (!first || !strncmp(text, "__", 2))
                return -EINVAL;
        for (const char *p = text; *p; p++)
                if (!strchr(letters, *p) && !strchr(digits, *p))
                        return -EINVAL;
        for (size_t i = 0; i < n; i++)
                if (!strcmp(others[i].name, text))
                        return -EINVAL;
        bool ours = !strcmp(text, "operation") || !strcmp(text, "code") || !strcmp(text, "le");
        return ours ? -EINVAL : 0;
}

int metrics_labels_set(struct metrics_labels *l, const char *mountpoint, const char *bucket,
                       const char *given, char *why, size_t nwhy)
{
        *l = (struct metrics_labels){.v = {{"mount", mountpoint}, {"bucket", bucket}}, .n = 2};
        if (!*given)
                return 0;
        l->given = strdup(given);
        int err = l->given ? metrics_label_parse(l->given, &l->v[l->n], l->v, l->n) : -ENOMEM;
        if (err)
                snprintf(why, nwhy,
                         "metrics_label=%s: give NAME=VALUE, whose name has letters, digits and _, "
                         "and is none of mount, bucket, operation, code and le",
                         given);
        else
                l->n++;
        return err;
}

void metrics_labels_release(struct metrics_labels *l)
{
        free(l->given);
        *l = (struct metrics_labels){.n = 0};
}
