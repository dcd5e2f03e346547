/* SPDX-License-Identifier: Apache-2.0 */
/* plot.h: charts as SVG, drawn by gnuplot. */
#ifndef CKPTFS_BENCH_PLOT_H
#define CKPTFS_BENCH_PLOT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

enum { PLOT_SERIES_MAX = 4, PLOT_BANDS_MAX = 1000 };

enum plot_kind {
        PLOT_BARS,    /* series beside each other, with their figures */
        PLOT_STACKED, /* series on top of each other */
        PLOT_LINES,   /* over x */
        PLOT_SPREAD   /* points over x, each with its range from low to high */
};

struct plot {
        const char *id;    /* unique in the page, [a-z0-9_] */
        const char *title; /* of the chart, for those who cannot see it too */
        const char *unit;  /* of the values */
        enum plot_kind kind;
        const char *series[PLOT_SERIES_MAX];
        size_t nseries;
        const char *const *label; /* of the bars or groups */
        const char *x_unit;       /* lines and spreads */
        const double *x;
        const double *v;          /* v[point * nseries + series]; NAN: none there */
        const double *low, *high; /* spreads: as v */
        size_t npoints;           /* bars, groups or values of x */
        const char *band;         /* what runs of x that stand out are; NULL: none do */
        const double *band_from, *band_to;
        size_t nbands; /* at most PLOT_BANDS_MAX are drawn */
};

/* Appends <svg>…</svg>. 0, -ENOENT when there is no gnuplot, -EIO when it failed, -ENOMEM. Blocks.
 */
int plot_svg(const struct plot *p, struct buf *out);

#endif
