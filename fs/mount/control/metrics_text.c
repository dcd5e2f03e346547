/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_text.c: see metrics_text.h. */
#include "mount/control/metrics_text.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/metrics.h"

#include "base/banned.h"

void metrics_text_name(struct buf *out, const struct metric_desc *d)
{
        bool bytes = !strcmp(d->unit, "bytes") && !strstr(d->name, "bytes");
        buf_addf(out, "ckptfs_%s%s%s", d->name, bytes ? "_bytes" : "",
                 d->kind == METRIC_COUNTER ? "_total" : "");
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

static void add_metric(struct buf *out, const struct metric_desc *d, uint64_t value,
                       const char *labels)
{
        buf_adds(out, "# HELP ");
        metrics_text_name(out, d);
        buf_addf(out, " %s\n# TYPE ", d->text);
        metrics_text_name(out, d);
        buf_addf(out, " %s\n", d->kind == METRIC_COUNTER ? "counter" : "gauge");
        metrics_text_name(out, d);
        buf_addf(out, "%s %" PRIu64 "\n", labels, value);
}

int metrics_text(struct buf *out, const struct metrics_label *labels, size_t n)
{
        struct buf with = BUF_INIT;

        for (size_t i = 0; i < n; i++) {
                buf_addf(&with, "%s%s=\"", i ? "," : "{", labels[i].name);
                add_escaped(&with, labels[i].value);
                buf_addc(&with, '"');
        }
        if (n)
                buf_addc(&with, '}');
        for (int i = 0; i < METRIC_COUNT && !with.failed; i++)
                add_metric(out, &metric_table[i],
                           atomic_load_explicit(&metric_cells[i].value, memory_order_relaxed),
                           with.p);
        bool failed = with.failed || out->failed;
        buf_release(&with);
        return failed ? -ENOMEM : 0;
}

int metrics_label_parse(char *text, struct metrics_label *out, const struct metrics_label *others,
                        size_t n)
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
        return 0;
}
