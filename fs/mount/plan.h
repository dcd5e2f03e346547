/* SPDX-License-Identifier: Apache-2.0 */
/* plan.h: how large each part of an upload is. Pure arithmetic. */
#ifndef CKPTFS_MOUNT_PLAN_H
#define CKPTFS_MOUNT_PLAN_H

#include <stdint.h>

/* Parts double every PLAN_STEP numbers, so that a stream of unknown length starts small and still
 * reaches far: 16 MiB parts in 2 GiB of memory reach 5.3 TiB with part 10,000. */
enum { PLAN_STEP = 900 };

struct part_plan {
        uint64_t first; /* bytes in the first parts: a multiple of 1 MiB, at least 5 MiB */
        uint64_t most; /* no part is larger: half the memory, so that one fills while one is sent */
};

/* A plan for parts of `part_size` bytes in `memory` bytes of buffers. */
struct part_plan part_plan(uint64_t part_size, uint64_t memory);

/* Bytes in part `no` (1..10000). */
uint64_t part_plan_bytes(const struct part_plan *p, unsigned no);

/* Where an object of 10,000 such parts ends. */
uint64_t part_plan_reach(const struct part_plan *p);

#endif
