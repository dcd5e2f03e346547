/* SPDX-License-Identifier: Apache-2.0 */
/* sample_source_i.h: what the files sample_source*.c know of a source. */
#ifndef CKPTFS_BENCH_SCENARIO_SAMPLE_SOURCE_I_H
#define CKPTFS_BENCH_SCENARIO_SAMPLE_SOURCE_I_H

#include <limits.h>

#include "bench/scenario/dataset/sample_source.h"
#include "store.h"

struct sample_source {
        struct store *store; /* NULL: a directory */
        char text[PATH_MAX]; /* the directory, or the URL */
        uint64_t part_size;
};

/* The path of a name in a directory. 0 or -ENAMETOOLONG. */
int sample_source_path(const struct sample_source *p, const char *name, char out[PATH_MAX]);

#endif
