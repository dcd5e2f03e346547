/* SPDX-License-Identifier: Apache-2.0 */
/* metrics.c: see metrics.h. */
#include "base/metrics.h"

#include <errno.h>
#include <inttypes.h>

#include "base/banned.h"

#define METRIC(name, kind, unit, text) {#name, METRIC_##kind, unit, text},
const struct metric_desc metric_table[METRIC_COUNT] = {
#include "base/metrics.def"
};

struct metric_cell metric_cells[METRIC_COUNT];

void metric_raise(enum metric m, uint64_t n)
{
        _Atomic uint64_t *value = &metric_cells[m].value;
        uint64_t now = atomic_load_explicit(value, memory_order_relaxed);
        while (now < n && !atomic_compare_exchange_weak_explicit(
                                  value, &now, n, memory_order_relaxed, memory_order_relaxed))
                ;
}

int metrics_print(struct buf *b)
{
        for (int i = 0; i < METRIC_COUNT; i++)
                buf_addf(b, "%s%s=%" PRIu64, i ? " " : "", metric_table[i].name,
                         atomic_load_explicit(&metric_cells[i].value, memory_order_relaxed));
        return b->failed ? -ENOMEM : 0;
}
