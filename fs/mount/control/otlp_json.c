/* SPDX-License-Identifier: Apache-2.0 */
/* otlp_json.c: see otlp_json.h. Fields are those of opentelemetry/proto/metrics/v1/metrics.proto.
 */
#include "mount/control/otlp_json.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/metrics.h"
#include "base/text/json.h"
#include "base/text/utf8.h"
#include "mount/control/metrics_text.h"

#include "base/banned.h"

enum { CUMULATIVE = 2 /* AggregationTemporality */ };

/* What all points have: when what is told began, when it is told, and the labels. A collector makes
 * labels of Prometheus of a point's attributes, and of those of the resource if it is told to. */
struct common {
        uint64_t start_ns, now_ns;
        const struct metrics_label *labels;
        size_t nlabels;
};

static void add_u64(struct json *to, const char *name, uint64_t value)
{
        char text[24];

        snprintf(text, sizeof text, "%" PRIu64, value);
        json_add_string(to, name, text);
}

static void add_attribute(struct json *list, const char *key, const char *value)
{
        struct json *a = json_add_object(list, NULL);

        json_add_string(a, "key", key);
        /* A mountpoint or a label may be no UTF-8, which no JSON may hold. */
        json_add_string(json_add_object(a, "value"), "stringValue",
                        utf8_valid(value) ? value : "(no UTF-8)");
}

static void add_labels(struct json *attributes, const struct common *t)
{
        for (size_t i = 0; i < t->nlabels; i++)
                add_attribute(attributes, t->labels[i].name, t->labels[i].value);
}

/* Units are those of UCUM; what is counted stands in braces. */
static struct json *add_metric(struct json *list, const char *name, const char *unit,
                               const char *text)
{
        struct json *m = json_add_object(list, NULL);
        char whole[80], counted[40];

        snprintf(whole, sizeof whole, "ckptfs_%s", name);
        snprintf(counted, sizeof counted, "{%s}", unit);
        json_add_string(m, "name", whole);
        json_add_string(m, "description", text);
        json_add_string(m, "unit",
                        !strcmp(unit, "bytes")     ? "By"
                        : !strcmp(unit, "seconds") ? "s"
                                                   : counted);
        return m;
}

/* The list of points of a sum. */
static struct json *add_sum(struct json *metric)
{
        struct json *sum = json_add_object(metric, "sum");

        json_add_number(sum, "aggregationTemporality", CUMULATIVE);
        json_add_bool(sum, "isMonotonic", true);
        return json_add_array(sum, "dataPoints");
}

static struct json *add_point(struct json *points, const struct common *t, struct json **attributes)
{
        struct json *p = json_add_object(points, NULL);

        *attributes = json_add_array(p, "attributes");
        add_labels(*attributes, t);
        add_u64(p, "startTimeUnixNano", t->start_ns);
        add_u64(p, "timeUnixNano", t->now_ns);
        return p;
}

static void add_value(struct json *list, enum metric i, const struct common *t)
{
        const struct metric_desc *d = &metric_table[i];
        struct json *m = add_metric(list, d->name, d->unit, d->text);
        struct json *points = d->kind == METRIC_COUNTER
                                      ? add_sum(m)
                                      : json_add_array(json_add_object(m, "gauge"), "dataPoints");

        struct json *attributes, *p = add_point(points, t, &attributes);
        add_u64(p, "asInt", atomic_load_explicit(&metric_cells[i].value, memory_order_relaxed));
}

/* Of an operation that was not asked for yet there is none. */
static void add_histogram(struct json *points, const char *operation,
                          const struct metric_histogram *h, const struct common *t)
{
        uint64_t n[METRIC_STEPS + 1], all = 0;

        for (int i = 0; i <= METRIC_STEPS; i++)
                all += n[i] = atomic_load_explicit(&h->steps[i], memory_order_relaxed);
        if (!all)
                return;
        struct json *attributes, *p = add_point(points, t, &attributes);
        add_attribute(attributes, "operation", operation);
        add_u64(p, "count", all);
        json_add_number(p, "sum",
                        (double)atomic_load_explicit(&h->sum_ns, memory_order_relaxed) / 1e9);
        struct json *counts = json_add_array(p, "bucketCounts");
        for (int i = 0; i <= METRIC_STEPS; i++)
                add_u64(counts, NULL, n[i]);
        struct json *bounds = json_add_array(p, "explicitBounds");
        for (int i = 0; i < METRIC_STEPS; i++)
                json_add_number(bounds, NULL, (double)metric_steps_ns[i] / 1e9);
}

static void add_times(struct json *list, enum metric_times i, const struct common *t)
{
        const struct metric_times_desc *d = &metric_times_table[i];
        struct json *h =
                json_add_object(add_metric(list, d->name, "seconds", d->text), "histogram");

        json_add_number(h, "aggregationTemporality", CUMULATIVE);
        struct json *points = json_add_array(h, "dataPoints");
        for (unsigned op = 0; op < d->noperations; op++)
                add_histogram(points, d->operations[op], &metric_histograms[i][op], t);
}

static void add_replies(struct json *list, enum metric_replies i, const struct common *t)
{
        const struct metric_replies_desc *d = &metric_replies_table[i];
        struct json *points = add_sum(add_metric(list, d->name, "replies", d->text));
        struct metric_status v[METRIC_STATUSES_MOST + 2];

        for (unsigned op = 0; op < d->noperations; op++) {
                metric_statuses(i, op, v);
                for (const struct metric_status *s = v; *s->text; s++) {
                        if (!s->n)
                                continue;
                        struct json *attributes, *p = add_point(points, t, &attributes);
                        add_attribute(attributes, "operation", d->operations[op]);
                        add_attribute(attributes, "code", s->text);
                        add_u64(p, "asInt", s->n);
                }
        }
}

/* Who sends: mounts of one bucket at one place, on many machines, must not be taken for one. */
static void add_sender(struct json *attributes, const char *mountpoint)
{
        char host[HOST_NAME_MAX + 1] = "localhost", id[HOST_NAME_MAX + PATH_MAX + 2];

        gethostname(host, sizeof host - 1);
        snprintf(id, sizeof id, "%s:%s", host, mountpoint);
        add_attribute(attributes, "host.name", host);
        add_attribute(attributes, "service.instance.id", id);
}

char *otlp_json(const struct metrics_label *labels, size_t n, uint64_t start_ns, uint64_t now_ns)
{
        CLEANUP(json_freep) struct json *root = json_new_object();
        const struct common t = {start_ns, now_ns, labels, n};
        struct json *of = json_add_object(json_add_array(root, "resourceMetrics"), NULL);
        struct json *attributes = json_add_array(json_add_object(of, "resource"), "attributes");
        struct json *scoped = json_add_object(json_add_array(of, "scopeMetrics"), NULL);
        struct json *scope = json_add_object(scoped, "scope");
        struct json *list = json_add_array(scoped, "metrics");

        add_attribute(attributes, "service.name", "ckptfs");
        add_attribute(attributes, "service.version", PACKAGE_VERSION);
        add_sender(attributes, n ? labels[0].value : "");
        add_labels(attributes, &t);
        json_add_string(scope, "name", "ckptfs");
        json_add_string(scope, "version", PACKAGE_VERSION);
        for (int i = 0; i < METRIC_COUNT; i++)
                add_value(list, i, &t);
        for (int i = 0; i < TIMES_COUNT; i++)
                add_times(list, i, &t);
        for (int i = 0; i < REPLIES_COUNT; i++)
                add_replies(list, i, &t);
        return json_print(root);
}

void otlp_read_partial(const struct buf *reply, char *why, size_t nwhy)
{
        CLEANUP(json_freep) struct json *j = NULL;
        char odd[128];

        if (!reply->len || json_parse("reply", reply->p, reply->len, &j, odd, sizeof odd))
                return;
        const struct json *partial = json_get(j, "partialSuccess");
        const char *said = json_string(json_get(partial, "errorMessage"), "");
        const struct json *rejected = json_get(partial, "rejectedDataPoints");
        if (*said || strtod(json_string(rejected, "0"), NULL) > 0 || json_number(rejected, 0) > 0)
                snprintf(why, nwhy, "it did not take all: %s",
                         *said ? said : "it does not say why");
}
