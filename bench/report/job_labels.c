/* SPDX-License-Identifier: Apache-2.0 */
/* job_labels.c: see job_labels.h. */
#include "bench/report/job_labels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "bench/core/keys.h"
#include "bench/report/job.h"

#include "base/banned.h"

static const char *storage_of(const struct json *job)
{
        const char *asked = json_string(job_key(job, "storage"), "?");
        return json_string(json_get(json_get(job, "setup"), "storage"), asked);
}

/* The value of a key in words. */
static const char *value_text(const struct json *v, char *out, size_t n)
{
        if (json_is_bool(v))
                return json_bool(v, false) ? "on" : "off";
        if (json_is_string(v))
                return json_string(v, "");
        snprintf(out, n, "%.15g", json_number(v, 0));
        return out;
}

static bool differs(const struct json *const *job, size_t n, const char *key)
{
        char a[32], b[32];
        const char *first = n ? value_text(job_key(job[0], key), a, sizeof a) : "";

        for (size_t i = 1; i < n; i++)
                if (strcmp(first, value_text(job_key(job[i], key), b, sizeof b)))
                        return true;
        return false;
}

static char *make_label(const struct job_labels *l, const struct json *job)
{
        struct buf b = BUF_INIT;
        char text[32];

        buf_adds(&b, storage_of(job));
        for (size_t k = 0; k < key_tab.count; k++) {
                const char *name = key_tab.table[k].name;
                if (strcmp(name, "storage") && l->differs[k])
                        buf_addf(&b, " %s=%s", name,
                                 value_text(job_key(job, name), text, sizeof text));
        }
        char *label = b.failed ? NULL : strdup(b.p);
        buf_release(&b);
        return label;
}

struct job_labels job_labels_of_list(const struct json *const *job, size_t n,
                                     job_labels_skip_fn *skips)
{
        struct job_labels l = {
                .v = calloc(n + 1, sizeof *l.v),
                .storage = calloc(n + 1, sizeof *l.storage),
                .differs = calloc(key_tab.count, sizeof *l.differs),
        };

        if (!l.v || !l.storage || !l.differs)
                return l;
        for (size_t k = 0; k < key_tab.count; k++) {
                const char *key = key_tab.table[k].name;
                l.differs[k] = !(skips && skips(key)) && differs(job, n, key);
        }
        for (size_t i = 0; i < n; i++) {
                l.storage[l.n] = storage_of(job[i]);
                l.v[l.n] = make_label(&l, job[i]);
                int width = (int)strlen(job_label(&l, l.n++));
                l.width = width > l.width ? width : l.width;
        }
        return l;
}

struct job_labels job_labels_of(const struct json *jobs)
{
        CLEANUP(freep) const struct json **list = calloc(json_count(jobs) + 1, sizeof *list);
        size_t n = 0;

        for (const struct json *job = json_first(jobs); list && job; job = json_next(job))
                list[n++] = job;
        return job_labels_of_list(list, n, NULL);
}

void job_labels_release(struct job_labels *l)
{
        for (size_t i = 0; i < l->n; i++)
                free((void *)l->v[i]);
        free(l->v);
        free(l->storage);
        free(l->differs);
        *l = (struct job_labels){0};
}

const char *job_label(const struct job_labels *l, size_t i)
{
        return l->v && l->v[i] ? l->v[i] : "?";
}

const char *job_label_rest(const struct job_labels *l, size_t i)
{
        const char *label = job_label(l, i);
        size_t n = i < l->n ? strlen(l->storage[i]) : 0;
        return strlen(label) >= n ? label + n : label;
}

bool job_labels_differ(const struct job_labels *l, const char *key)
{
        for (size_t k = 0; l->differs && k < key_tab.count; k++)
                if (!strcmp(key_tab.table[k].name, key))
                        return l->differs[k];
        return false;
}
