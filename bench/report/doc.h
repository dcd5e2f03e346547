/* SPDX-License-Identifier: Apache-2.0 */
/* doc.h: a report as it is written: words, tables and charts, as HTML and as Markdown at once. What
 * is given is text, escaped here as each of the two wants it; charts are in the HTML alone.
 * Failures of memory show in buf.failed. */
#ifndef CKPTFS_BENCH_DOC_H
#define CKPTFS_BENCH_DOC_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "bench/report/plot.h"

struct doc_column {
        const char *group; /* a heading over columns that have the same; NULL: none */
        const char *name;
};

struct doc {
        struct buf html, md;
        size_t charts;           /* made so far */
        size_t sections;         /* begun so far */
        bool in_contents;        /* lines of it stand open */
        bool in_charts;          /* these stand beside each other */
        bool in_list;            /* of pairs */
        size_t column, ncolumns; /* of the table under way */
        const struct doc_column *columns;
};
#define DOC_INIT                                                                                   \
        {                                                                                          \
                .html = BUF_INIT, .md = BUF_INIT                                                   \
        }
void doc_release(struct doc *d);

/* The page's beginning, with its title, and its end. */
void doc_begin(struct doc *d, const char *title);
void doc_end(struct doc *d);
/* The contents: a line for the part of that number, from 1 in the order of doc_section(), which
 * links to it; lines that follow each other are one list. */
void doc_contents(struct doc *d, size_t part, const char *title, const char *text);
/* A part of it, with a line below its heading. */
void doc_section(struct doc *d, const char *title, const char *below);
void doc_section_end(struct doc *d);

/* A heading inside a part, and a paragraph. */
void doc_heading(struct doc *d, const char *text);
void doc_say(struct doc *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* One line of a list of names and what belongs to them; lines that follow each other are one list.
 */
void doc_pair(struct doc *d, const char *name, const char *value);

/* A table, cell by cell in rows of n: texts, or figures with `digits` decimals, which are a dash
 * where they are not above zero. `columns` stays the caller's. */
void doc_table(struct doc *d, const struct doc_column *columns, size_t n);
void doc_text(struct doc *d, const char *text);
void doc_figure(struct doc *d, double v, int digits);
void doc_table_end(struct doc *d);

/* A chart, or a note that says why there is none; p->id is set here. Blocks. */
void doc_plot(struct doc *d, struct plot *p);

#endif
