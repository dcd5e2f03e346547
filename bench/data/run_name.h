/* SPDX-License-Identifier: Apache-2.0 */
/* run_name.h: the name of the directory that one save goes to. */
#ifndef CKPTFS_BENCH_RUN_NAME_H
#define CKPTFS_BENCH_RUN_NAME_H

#include "bench/core/coll.h"

enum { FRESH_NAME_MAX = 256 };

/* Collective: YYYY-MM-DD-HH-MM-xxxx in local time with four random letters, as the suites name
 * them, the same for all ranks. */
int run_name(struct coll *c, char out[FRESH_NAME_MAX]);

#endif
