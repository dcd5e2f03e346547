/* SPDX-License-Identifier: Apache-2.0 */
/* metrics.h: the metrics of metrics.def, counters of the process.
 *
 * Changes are relaxed atomics: thread-safe, cheap, in no order with anything else. */
#ifndef CKPTFS_BASE_METRICS_H
#define CKPTFS_BASE_METRICS_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/buf.h"

enum metric {
#define METRIC(name, ...) METRIC_##name,
#include "base/metrics.def"
        METRIC_COUNT
};

enum metric_kind { METRIC_COUNTER, METRIC_GAUGE };

struct metric_desc {
        const char *name;
        enum metric_kind kind;
        const char *unit, *text;
};
extern const struct metric_desc metric_table[METRIC_COUNT];

/* Each on a cache line of its own, so that threads do not slow each other. */
struct metric_cell {
        _Alignas(64) _Atomic uint64_t value;
};
extern struct metric_cell metric_cells[METRIC_COUNT];

#define METRIC_ADD(name, n)                                                                        \
        atomic_fetch_add_explicit(&metric_cells[METRIC_##name].value, (uint64_t)(n),               \
                                  memory_order_relaxed)
#define METRIC_SUB(name, n)                                                                        \
        atomic_fetch_sub_explicit(&metric_cells[METRIC_##name].value, (uint64_t)(n),               \
                                  memory_order_relaxed)
#define METRIC_SET(name, n)                                                                        \
        atomic_store_explicit(&metric_cells[METRIC_##name].value, (uint64_t)(n),                   \
                              memory_order_relaxed)
#define METRIC_GET(name)                                                                           \
        atomic_load_explicit(&metric_cells[METRIC_##name].value, memory_order_relaxed)
/* Raises the figure to n when it is lower. */
#define METRIC_MAX(name, n) metric_raise(METRIC_##name, (uint64_t)(n))
void metric_raise(enum metric m, uint64_t n);

/* Appends "requests=12 retries=0 ...". 0 or -ENOMEM. */
int metrics_print(struct buf *b);

#endif
