/* SPDX-License-Identifier: Apache-2.0 */
/* measured.c: see measured.h. */
#include "bench/measure/measured.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

void measured_release(struct measured *f)
{
        free(f->v);
        *f = (struct measured){0};
}

/* Seconds of each epoch of a phase, the longest of its ranks. */
static void of_phase(const struct json *epochs, struct measured *f)
{
        f->n = json_count(epochs);
        f->v = f->n ? calloc(f->n, sizeof *f->v) : NULL;
        for (size_t e = 0; f->v && e < f->n; e++)
                for (const struct json *r = json_first(json_at(epochs, e)); r; r = json_next(r)) {
                        double s = json_number(json_get(r, "total_s"), 0);
                        f->v[e] = s > f->v[e] ? s : f->v[e];
                }
}

static void of_list(const struct json *list, struct measured *f)
{
        size_t i = 0;

        f->n = json_count(list);
        f->v = f->n ? calloc(f->n, sizeof *f->v) : NULL;
        for (const struct json *v = json_first(list); f->v && v; v = json_next(v))
                f->v[i++] = json_number(v, 0);
}

/* Lists that stand in "metrics" by themselves. */
static const struct {
        const char *at, *name, *unit;
        bool higher;
} lists[] = {
        {"blocked_s", "blocked", "s", false},       {"staged_s", "staged", "s", false},
        {"durable_s", "durable", "s", false},       {"visible_s", "visible", "s", false},
        {"save_times_s", "checkpoint", "s", false}, {"epoch_samples_per_s", "samples", "1/s", true},
};

/* The unit is at the end of a name: "store_ms". What has none is a rate in GB/s. */
static void of_each(const struct json *of, struct measured *f)
{
        const char *name = json_name(of), *end = strrchr(name, '_');
        bool ms = end && !strcmp(end, "_ms"), s = end && !strcmp(end, "_s");

        snprintf(f->name, sizeof f->name, "%.*s", ms || s ? (int)(end - name) : 40, name);
        f->unit = ms ? "ms" : s ? "s" : "GB/s";
        f->higher = !ms && !s;
        of_list(json_get(of, "each"), f);
}

bool measured_read(const struct json *metrics, const struct json *of, struct measured *f)
{
        const char *name = json_name(of);

        *f = (struct measured){.unit = "s"};
        if (!of || !name || (!strcmp(name, "save_times_s") && json_get(metrics, "save")))
                return false; /* what the suites report is that phase once more */
        snprintf(f->name, sizeof f->name, "%.40s", name);
        if (json_get(of, "epochs"))
                of_phase(json_get(of, "epochs"), f);
        else if (json_get(of, "each"))
                of_each(of, f);
        for (size_t i = 0; json_is_array(of) && i < sizeof lists / sizeof lists[0]; i++) {
                if (strcmp(name, lists[i].at))
                        continue;
                snprintf(f->name, sizeof f->name, "%s", lists[i].name);
                f->unit = lists[i].unit;
                f->higher = lists[i].higher;
                of_list(of, f);
        }
        return f->v;
}
