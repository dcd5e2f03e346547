/* SPDX-License-Identifier: Apache-2.0 */
/* job.c: see job.h. */
#include "bench/report/job.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "bench/core/run.h"

#include "base/banned.h"

bool job_readable(const struct json *run)
{
        double version = json_number(json_get(run, "version"), 0);
        return !strcmp(json_string(json_get(run, "format"), ""), RUN_FORMAT) && version >= 1 &&
               version <= RUN_FORMAT_VERSION;
}

/* The field at "a.b.c". */
static const struct json *at_path(const struct json *o, const char *path)
{
        char word[64];

        for (size_t n; o && *path; path += n + (path[n] == '.')) {
                n = strcspn(path, ".");
                snprintf(word, sizeof word, "%.*s", (int)n, path);
                o = json_get(o, word);
        }
        return o;
}

const struct json *job_key(const struct json *job, const char *key)
{
        const struct json *config = json_get(job, "config"), *whole = json_get(config, key);

        if (!strcmp(key, "dataloader.kind")) /* one key by two names */
                return NULL;
        if (!strcmp(key, "dataloader")) {
                const struct json *kind = json_get(config, "dataloader.kind");
                return json_is_object(whole)    ? json_get(whole, "kind")
                       : *json_string(kind, "") ? kind
                                                : whole;
        }
        return whole ? whole : at_path(config, key);
}

void job_says(struct buf *to, const char *fmt, ...)
{
        va_list ap;

        if (to->len)
                buf_addc(to, ' ');
        va_start(ap, fmt);
        buf_vaddf(to, fmt, ap);
        va_end(ap);
}
