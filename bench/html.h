/* SPDX-License-Identifier: Apache-2.0 */
/* html.h: pieces of a page in a struct buf. Failures of memory show in buf.failed. */
#ifndef CKPTFS_BENCH_HTML_H
#define CKPTFS_BENCH_HTML_H

#include "base/buf.h"
#include "base/json.h"
#include "bench/plot.h"

/* Text with &, <, > and quotes escaped. */
void html_text(struct buf *b, const char *s);

/* A table cell with `digits` decimals, or a dash where there is no figure. */
void html_figure(struct buf *b, double v, int digits);

/* A chart in a <figure>, or a note that says why there is none. */
void html_plot(struct buf *b, const struct plot *p);

/* "name: value" of what ran where: versions and machine of a run. */
void html_machine(struct buf *b, const struct json *run);

/* The page's beginning, with its style, and its end. */
void html_begin(struct buf *b, const char *title);
void html_end(struct buf *b);

#endif
