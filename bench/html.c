/* SPDX-License-Identifier: Apache-2.0 */
/* html.c: see html.h. */
#include "bench/html.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/banned.h"

static const char style[] =
        "body{font:16px/1.5 system-ui,sans-serif;color:#1d2730;background:#fff;max-width:68rem;"
        "margin:2.5rem auto;padding:0 1.25rem}"
        "h1{font-size:1.7rem;margin:0 0 .25rem}h2{font-size:1.25rem;margin:2.5rem 0 .25rem;"
        "padding-top:1.5rem;border-top:1px solid #dfe3e6}"
        ".sub,.note,figcaption{color:#5a6670}.sub{margin:0 0 1rem}.note{font-size:.9rem}"
        "table{border-collapse:collapse;font-variant-numeric:tabular-nums;margin:1rem 0}"
        "th,td{padding:.35rem .8rem;text-align:right;white-space:nowrap}"
        "th:first-child,td:first-child{text-align:left;padding-left:0}"
        "thead th{font-weight:600;color:#5a6670;font-size:.9rem}"
        "thead tr:last-child th{border-bottom:2px solid #1d2730}"
        "tbody td{border-bottom:1px solid #dfe3e6}"
        "tbody td.g,thead th.g{padding-left:1.8rem}"
        ".plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(26rem,1fr));gap:1rem "
        "2rem}"
        "figure{margin:1rem 0;max-width:40rem}figure "
        "svg{width:100%;height:auto}figcaption{font-weight:600;"
        "color:#1d2730}dl{display:grid;grid-template-columns:max-content 1fr;gap:.15rem 1rem;"
        "font-size:.9rem}dt{color:#5a6670}dd{margin:0;overflow-wrap:anywhere}"
        ".scroll{overflow-x:auto}";

void html_text(struct buf *b, const char *s)
{
        for (; *s; s++) {
                switch (*s) {
                case '&':
                        buf_adds(b, "&amp;");
                        break;
                case '<':
                        buf_adds(b, "&lt;");
                        break;
                case '>':
                        buf_adds(b, "&gt;");
                        break;
                case '"':
                        buf_adds(b, "&quot;");
                        break;
                default:
                        buf_addc(b, *s);
                }
        }
}

void html_figure(struct buf *b, double v, int digits)
{
        if (v > 0 && isfinite(v))
                buf_addf(b, "%.*f", digits, v);
        else
                buf_adds(b, "&ndash;");
}

void html_plot(struct buf *b, const struct plot *p)
{
        buf_adds(b, "<figure role=\"img\" aria-label=\"");
        html_text(b, p->title);
        buf_adds(b, "\"><figcaption>");
        html_text(b, p->title);
        buf_adds(b, "</figcaption>");
        int err = plot_svg(p, b);
        if (err)
                buf_addf(b, "<p class=\"note\">No chart: %s.</p>",
                         err == -ENOENT ? "gnuplot is not installed" : "gnuplot failed");
        buf_adds(b, "</figure>\n");
}

static void pair(struct buf *b, const char *name, const char *value)
{
        buf_adds(b, "<dt>");
        html_text(b, name);
        buf_adds(b, "</dt><dd>");
        html_text(b, value);
        buf_adds(b, "</dd>");
}

void html_machine(struct buf *b, const struct json *run)
{
        const struct json *v = json_get(run, "versions"), *m = json_get(run, "machine");
        char text[200];

        snprintf(text, sizeof text, "%.100s, %g cores, %.0f GiB",
                 json_string(json_get(m, "cpu"), "?"), json_number(json_get(m, "cores"), 0),
                 json_number(json_get(m, "memory_bytes"), 0) / (1 << 30));
        buf_adds(b, "<dl>");
        pair(b, "machine", text);
        for (size_t i = 0; i < json_count(v); i++)
                pair(b, json_name(json_at(v, i)), json_string(json_at(v, i), "?"));
        const char *word = json_string(json_get(run, "disambiguator"), "");
        if (*word)
                pair(b, "disambiguator", word);
        buf_adds(b, "</dl>\n");
}

void html_begin(struct buf *b, const char *title)
{
        buf_adds(b,
                 "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
                 "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\"><title>");
        html_text(b, title);
        buf_addf(b, "</title><style>%s</style></head>\n<body><h1>", style);
        html_text(b, title);
        buf_adds(b, "</h1>\n");
}

void html_end(struct buf *b)
{
        buf_adds(b, "</body></html>\n");
}
