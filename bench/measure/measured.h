/* SPDX-License-Identifier: Apache-2.0 */
/* measured.h: what a job measured more than once, from its results. */
#ifndef CKPTFS_BENCH_MEASURED_H
#define CKPTFS_BENCH_MEASURED_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text/json.h"

/* Values of one figure, malloc'ed; whether more is better or less. */
struct measured {
        char name[48];
        const char *unit;
        bool higher;
        double *v;
        size_t n;
};

/* Takes `of`, an entry of a job's "metrics", for a figure. False: it is none, or there is no
 * memory. */
bool measured_read(const struct json *metrics, const struct json *of, struct measured *f);
void measured_release(struct measured *f);

#endif
