/* SPDX-License-Identifier: Apache-2.0 */
/* plot.h: bar charts as SVG, drawn by gnuplot. */
#ifndef CKPTFS_BENCH_PLOT_H
#define CKPTFS_BENCH_PLOT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

enum { PLOT_SERIES_MAX = 4 };

struct plot {
        const char *id;    /* unique in the page, [a-z0-9_] */
        const char *title; /* of the chart, for those who cannot see it too */
        const char *unit;  /* of the values */
        bool stacked;      /* series on top of each other; else beside each other, with figures */
        const char *series[PLOT_SERIES_MAX];
        size_t nseries;
        const char *const *label; /* of the bars or groups */
        const double *v;          /* v[bar * nseries + series] */
        size_t nbars;
};

/* Appends <svg>…</svg>. 0, -ENOENT when there is no gnuplot, -EIO when it failed, -ENOMEM. Blocks.
 */
int plot_svg(const struct plot *p, struct buf *out);

#endif
