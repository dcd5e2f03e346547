/* SPDX-License-Identifier: Apache-2.0 */
/* otlp_json.c: see otlp_json.h. Fields are those of opentelemetry/proto/metrics/v1/metrics.proto.
 */
#include "mount/control/otlp_json.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/metrics.h"
#include "base/text/json.h"
#include "mount/control/metrics_text.h"

#include "base/banned.h"

enum { CUMULATIVE = 2 /* AggregationTemporality */ };

/* When what is told began, and is told. */
struct span {
        uint64_t start_ns, now_ns;
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
        json_add_string(json_add_object(a, "value"), "stringValue", value);
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

static struct json *add_point(struct json *points, const struct span *t)
{
        struct json *p = json_add_object(points, NULL);

        add_u64(p, "startTimeUnixNano", t->start_ns);
        add_u64(p, "timeUnixNano", t->now_ns);
        return p;
}

static void add_value(struct json *list, enum metric i, const struct span *t)
{
        const struct metric_desc *d = &metric_table[i];
        struct json *m = add_metric(list, d->name, d->unit, d->text);
        struct json *points = d->kind == METRIC_COUNTER
                                      ? add_sum(m)
                                      : json_add_array(json_add_object(m, "gauge"), "dataPoints");

        add_u64(add_point(points, t), "asInt",
                atomic_load_explicit(&metric_cells[i].value, memory_order_relaxed));
}

/* Of an operation that was not asked for yet there is none. */
static void add_histogram(struct json *points, const char *operation,
                          const struct metric_histogram *h, const struct span *t)
{
        uint64_t n[METRIC_STEPS + 1], all = 0;

        for (int i = 0; i <= METRIC_STEPS; i++)
                all += n[i] = atomic_load_explicit(&h->steps[i], memory_order_relaxed);
        if (!all)
                return;
        struct json *p = add_point(points, t);
        add_attribute(json_add_array(p, "attributes"), "operation", operation);
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

static void add_times(struct json *list, enum metric_times i, const struct span *t)
{
        const struct metric_times_desc *d = &metric_times_table[i];
        struct json *h =
                json_add_object(add_metric(list, d->name, "seconds", d->text), "histogram");

        json_add_number(h, "aggregationTemporality", CUMULATIVE);
        struct json *points = json_add_array(h, "dataPoints");
        for (unsigned op = 0; op < d->noperations; op++)
                add_histogram(points, d->operations[op], &metric_histograms[i][op], t);
}

static void add_replies(struct json *list, enum metric_replies i, const struct span *t)
{
        const struct metric_replies_desc *d = &metric_replies_table[i];
        struct json *points = add_sum(add_metric(list, d->name, "replies", d->text));
        struct metric_status v[METRIC_STATUSES_MOST + 2];

        for (unsigned op = 0; op < d->noperations; op++) {
                metric_statuses(i, op, v);
                for (const struct metric_status *s = v; *s->text; s++) {
                        if (!s->n)
                                continue;
                        struct json *p = add_point(points, t);
                        struct json *attributes = json_add_array(p, "attributes");
                        add_attribute(attributes, "operation", d->operations[op]);
                        add_attribute(attributes, "code", s->text);
                        add_u64(p, "asInt", s->n);
                }
        }
}

char *otlp_json(const struct metrics_label *labels, size_t n, uint64_t start_ns, uint64_t now_ns)
{
        CLEANUP(json_freep) struct json *root = json_new_object();
        const struct span t = {start_ns, now_ns};
        struct json *of = json_add_object(json_add_array(root, "resourceMetrics"), NULL);
        struct json *attributes = json_add_array(json_add_object(of, "resource"), "attributes");
        struct json *scoped = json_add_object(json_add_array(of, "scopeMetrics"), NULL);
        struct json *scope = json_add_object(scoped, "scope");
        struct json *list = json_add_array(scoped, "metrics");

        add_attribute(attributes, "service.name", "ckptfs");
        add_attribute(attributes, "service.version", PACKAGE_VERSION);
        for (size_t i = 0; i < n; i++)
                add_attribute(attributes, labels[i].name, labels[i].value);
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
