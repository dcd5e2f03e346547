/* SPDX-License-Identifier: Apache-2.0 */
/* dynamodb.h: a run as an item of a table, for those who collect results there. */
#ifndef CKPTFS_BENCH_DYNAMODB_H
#define CKPTFS_BENCH_DYNAMODB_H

#include <stddef.h>

#include "base/text/json.h"
#include "bench/core/keys.h"

/* Puts `run`, what run_results.json holds, into the table that the dynamodb.* keys name: objects as
 * maps, numbers as decimals, and the table's partition key s3torchconnector_version, "ckptfs-"
 * and our version. Of a run that is larger than an item may be the values of single epochs are left
 * out, which "left_out" says. 0, or a negative errno with one line in `why`. Blocks. */
int dynamodb_put(const struct keys *k, const struct json *run, char *why, size_t nwhy);

#endif
