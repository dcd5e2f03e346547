/* SPDX-License-Identifier: Apache-2.0 */
/* doc.c: see doc.h. */
#include "bench/report/doc.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

#include "base/banned.h"

static const char style[] =
        "body{font:16px/1.5 system-ui,sans-serif;color:#1d2730;background:#fff;max-width:68rem;"
        "margin:2.5rem auto;padding:0 1.25rem}"
        "h1{font-size:1.7rem;margin:0 0 .25rem}h2{font-size:1.25rem;margin:2.5rem 0 .25rem;"
        "padding-top:1.5rem;border-top:1px solid #dfe3e6}h3{font-size:1rem;margin:1.5rem 0 0}"
        ".sub,.note,figcaption{color:#5a6670}.sub{margin:0 0 1rem;overflow-wrap:anywhere}"
        ".note{font-size:.9rem}"
        "table{border-collapse:collapse;font-variant-numeric:tabular-nums;margin:1rem 0}"
        "th,td{padding:.35rem .8rem;text-align:right;white-space:nowrap}"
        "th:first-child,td:first-child{text-align:left;padding-left:0}"
        "thead th{font-weight:600;color:#5a6670;font-size:.9rem}"
        "thead tr:last-child th{border-bottom:2px solid #1d2730}"
        "tbody td{border-bottom:1px solid #dfe3e6}"
        "tbody td.g,thead th.g{padding-left:1.8rem}"
        "th span{display:block;text-align:center;padding-bottom:.2rem;"
        "border-bottom:1px solid #5a6670}"
        ".plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(26rem,100%),1fr));"
        "gap:1rem 2rem}"
        "figure{margin:1rem 0;max-width:40rem;overflow-x:auto}"
        "figure svg{width:100%;min-width:26rem;height:auto}"
        "figcaption{font-weight:600;color:#1d2730}"
        "dl{display:grid;grid-template-columns:fit-content(40%) 1fr;gap:.15rem 1rem;"
        "font-size:.9rem}dt{color:#5a6670}dd{margin:0;overflow-wrap:anywhere}"
        ".scroll{overflow-x:auto}";

void doc_release(struct doc *d)
{
        buf_release(&d->html);
        buf_release(&d->md);
}

static void html_text(struct buf *b, const char *s)
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

/* A line's end would end a table; the rest would be taken for marks. */
static void md_text(struct buf *b, const char *s)
{
        for (; *s; s++) {
                if (*s == '<' || *s == '&')
                        buf_adds(b, *s == '<' ? "&lt;" : "&amp;");
                else if (*s == '\n')
                        buf_addc(b, ' ');
                else if (strchr("\\`*|[]", *s))
                        buf_addf(b, "\\%c", *s);
                else
                        buf_addc(b, *s);
        }
}

/* What stands open ends before something else begins. */
static void flow(struct doc *d)
{
        if (d->in_charts)
                buf_adds(&d->html, "</div>\n");
        if (d->in_list) {
                buf_adds(&d->html, "</dl>\n");
                buf_addc(&d->md, '\n');
        }
        if (d->in_contents) {
                buf_adds(&d->html, "</ol>\n");
                buf_addc(&d->md, '\n');
        }
        d->in_charts = d->in_list = d->in_contents = false;
}

/* A line of its own in both: <h2>text</h2>, ## text. */
static void block(struct doc *d, const char *tag, const char *class, const char *mark,
                  const char *text)
{
        flow(d);
        buf_addf(&d->html, "<%s%s%s%s>", tag, *class ? " class=\"" : "", class, *class ? "\"" : "");
        html_text(&d->html, text);
        buf_addf(&d->html, "</%s>\n", tag);
        buf_adds(&d->md, mark);
        md_text(&d->md, text);
        buf_adds(&d->md, "\n\n");
}

void doc_begin(struct doc *d, const char *title)
{
        buf_adds(&d->html,
                 "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
                 "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\"><title>");
        html_text(&d->html, title);
        buf_addf(&d->html, "</title><style>%s</style></head>\n<body>", style);
        block(d, "h1", "", "# ", title);
}

void doc_end(struct doc *d)
{
        flow(d);
        buf_adds(&d->html, "</body></html>\n");
}

void doc_contents(struct doc *d, size_t part, const char *title, const char *text)
{
        if (!d->in_contents) {
                flow(d);
                buf_adds(&d->html, "<ol>\n");
                d->in_contents = true;
        }
        buf_addf(&d->html, "<li><a href=\"#part%zu\">", part);
        html_text(&d->html, title);
        buf_adds(&d->html, "</a><br>");
        html_text(&d->html, text);
        buf_adds(&d->html, "</li>\n");
        buf_addf(&d->md, "%zu. ", part);
        md_text(&d->md, title);
        if (*text)
                buf_adds(&d->md, ": ");
        md_text(&d->md, text);
        buf_addc(&d->md, '\n');
}

void doc_section(struct doc *d, const char *title, const char *below)
{
        flow(d);
        buf_addf(&d->html, "<section id=\"part%zu\">", ++d->sections);
        block(d, "h2", "", "## ", title);
        block(d, "p", "sub", "", below);
}

void doc_section_end(struct doc *d)
{
        flow(d);
        buf_adds(&d->html, "</section>\n");
}

void doc_heading(struct doc *d, const char *text)
{
        block(d, "h3", "", "### ", text);
}

void doc_say(struct doc *d, const char *fmt, ...)
{
        CLEANUP(buf_release) struct buf b = BUF_INIT;
        va_list ap;

        va_start(ap, fmt);
        buf_vaddf(&b, fmt, ap);
        va_end(ap);
        block(d, "p", "", "", b.p);
}

void doc_pair(struct doc *d, const char *name, const char *value)
{
        if (!d->in_list) {
                flow(d);
                buf_adds(&d->html, "<dl>");
                d->in_list = true;
        }
        buf_adds(&d->html, "<dt>");
        html_text(&d->html, name);
        buf_adds(&d->html, "</dt><dd>");
        html_text(&d->html, value);
        buf_adds(&d->html, "</dd>");
        buf_adds(&d->md, "- ");
        md_text(&d->md, name);
        buf_adds(&d->md, ": ");
        md_text(&d->md, value);
        buf_addc(&d->md, '\n');
}

/* --- tables --- */

static bool same_group(const struct doc_column *a, const struct doc_column *b)
{
        return a->group && b->group && !strcmp(a->group, b->group);
}

/* Whether column i is the first of a group. */
static bool begins_group(const struct doc_column *c, size_t i)
{
        return c[i].group && (i == 0 || !same_group(&c[i], &c[i - 1]));
}

static void group_row(struct doc *d)
{
        const struct doc_column *c = d->columns;
        size_t span;

        buf_adds(&d->html, "<tr>");
        for (size_t i = 0; i < d->ncolumns; i += span) {
                for (span = 1; i + span < d->ncolumns && same_group(&c[i], &c[i + span]);)
                        span++;
                if (!c[i].group) {
                        buf_addf(&d->html, "<th colspan=\"%zu\"></th>", span);
                        continue;
                }
                buf_addf(&d->html, "<th class=\"g\" colspan=\"%zu\"><span>", span);
                html_text(&d->html, c[i].group);
                buf_adds(&d->html, "</span></th>");
        }
        buf_adds(&d->html, "</tr>\n");
}

void doc_table(struct doc *d, const struct doc_column *columns, size_t n)
{
        bool grouped = false;

        flow(d);
        d->columns = columns;
        d->ncolumns = n;
        d->column = 0;
        for (size_t i = 0; i < n; i++)
                grouped |= columns[i].group != NULL;
        buf_adds(&d->html, "<div class=\"scroll\"><table><thead>");
        if (grouped)
                group_row(d);
        buf_adds(&d->html, "<tr>");
        for (size_t i = 0; i < n; i++) {
                buf_addf(&d->html, "<th%s>", begins_group(columns, i) ? " class=\"g\"" : "");
                html_text(&d->html, columns[i].name);
                buf_adds(&d->html, "</th>");
                buf_adds(&d->md, "| ");
                if (columns[i].group) {
                        md_text(&d->md, columns[i].group);
                        buf_addc(&d->md, ' ');
                }
                md_text(&d->md, columns[i].name);
                buf_addc(&d->md, ' ');
        }
        buf_adds(&d->html, "</tr></thead><tbody>\n");
        buf_adds(&d->md, "|\n");
        for (size_t i = 0; i < n; i++)
                buf_adds(&d->md, i ? "| ---: " : "| --- ");
        buf_adds(&d->md, "|\n");
}

/* Opens the next cell, and its row where it is the first. */
static void cell(struct doc *d)
{
        if (d->column == 0)
                buf_adds(&d->html, "<tr>");
        buf_adds(&d->html, begins_group(d->columns, d->column) ? "<td class=\"g\">" : "<td>");
        buf_adds(&d->md, "| ");
}

static void cell_end(struct doc *d)
{
        buf_adds(&d->html, "</td>");
        buf_addc(&d->md, ' ');
        if (++d->column < d->ncolumns)
                return;
        d->column = 0;
        buf_adds(&d->html, "</tr>\n");
        buf_adds(&d->md, "|\n");
}

void doc_text(struct doc *d, const char *text)
{
        cell(d);
        html_text(&d->html, text);
        md_text(&d->md, text);
        cell_end(d);
}

void doc_figure(struct doc *d, double v, int digits)
{
        cell(d);
        if (v > 0 && isfinite(v)) {
                buf_addf(&d->html, "%.*f", digits, v);
                buf_addf(&d->md, "%.*f", digits, v);
        } else {
                buf_adds(&d->html, "&ndash;");
                buf_addc(&d->md, '-');
        }
        cell_end(d);
}

void doc_table_end(struct doc *d)
{
        buf_adds(&d->html, "</tbody></table></div>\n");
        buf_addc(&d->md, '\n');
}

/* --- charts --- */

void doc_plot(struct doc *d, struct plot *p)
{
        char id[32];

        snprintf(id, sizeof id, "chart%zu", d->charts++);
        p->id = id;
        if (!d->in_charts) {
                flow(d);
                buf_adds(&d->html, "<div class=\"plots\">\n");
                d->in_charts = true;
        }
        buf_adds(&d->html, "<figure role=\"img\" aria-label=\"");
        html_text(&d->html, p->title);
        buf_adds(&d->html, "\"><figcaption>");
        html_text(&d->html, p->title);
        buf_adds(&d->html, "</figcaption>");
        int err = plot_svg(p, &d->html);
        if (err)
                buf_addf(&d->html, "<p class=\"note\">No chart: %s.</p>",
                         err == -ENOENT ? "gnuplot is not installed" : "gnuplot failed");
        buf_adds(&d->html, "</figure>\n");
        p->id = NULL;
}
