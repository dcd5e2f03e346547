/* SPDX-License-Identifier: Apache-2.0 */
/* plan.c: see plan.h. */
#include "mount/plan.h"

#include "store.h"

#include "base/banned.h"

#define MIB (1ULL << 20)

struct part_plan part_plan(uint64_t part_size, uint64_t memory)
{
        struct part_plan p = {.first = part_size / MIB * MIB, .most = memory / 2 / MIB * MIB};
        if (p.first < STORE_PART_SIZE_MIN)
                p.first = STORE_PART_SIZE_MIN;
        if (p.most > STORE_PART_SIZE_MAX)
                p.most = STORE_PART_SIZE_MAX;
        if (p.most < STORE_PART_SIZE_MIN)
                p.most = STORE_PART_SIZE_MIN;
        if (p.first > p.most)
                p.first = p.most;
        return p;
}

uint64_t part_plan_bytes(const struct part_plan *p, unsigned no)
{
        unsigned doublings = (no - 1) / PLAN_STEP;
        uint64_t bytes = p->first << (doublings < 11 ? doublings : 11);
        return bytes < p->most ? bytes : p->most;
}

uint64_t part_plan_reach(const struct part_plan *p)
{
        uint64_t sum = 0;
        for (unsigned no = 1; no <= STORE_PART_MAX; no++)
                sum += part_plan_bytes(p, no);
        return sum;
}
