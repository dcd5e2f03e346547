/* SPDX-License-Identifier: Apache-2.0 */
/* fresh.h: the name of the directory that one save goes to. */
#ifndef CKPTFS_BENCH_FRESH_H
#define CKPTFS_BENCH_FRESH_H

#include "bench/coll.h"

enum { FRESH_NAME_MAX = 256 };

/* Collective: YYYY-MM-DD-HH-MM-xxxx with four random letters, as the suites name them, the same for
 * all ranks. */
int fresh_name(struct coll *c, char out[FRESH_NAME_MAX]);

#endif
