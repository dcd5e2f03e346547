/* SPDX-License-Identifier: Apache-2.0 */
/* sysinfo.h: what runs where, for the results: versions, the machine, the cloud's name for it. No
 * environment, no secrets. */
#ifndef CKPTFS_BENCH_SYSINFO_H
#define CKPTFS_BENCH_SYSINFO_H

#include "base/text/json.h"
#include "bench/core/coll.h"

/* Adds "versions" and "machine". */
void sysinfo_add(const struct coll *c, struct json *to);

/* Adds "ec2_metadata": what the instance tells of itself where this looks like one, or where
 * AWS_EC2_METADATA_SERVICE_ENDPOINT says whom to ask; else null. Blocks for at most 5 s. */
void sysinfo_add_ec2(struct json *to);

#endif
