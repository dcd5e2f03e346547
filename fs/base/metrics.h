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

enum kernel_operation {
#define KERNEL_OPERATION(name, opcode) KERNEL_##name,
#include "base/metrics.def"
        KERNEL_OPERATIONS
};

enum metric_times {
#define METRIC_TIMES(name, of, text) TIMES_##name,
#include "base/metrics.def"
        TIMES_COUNT
};

enum metric_replies {
#define METRIC_REPLIES(name, text) REPLIES_##name,
#include "base/metrics.def"
        REPLIES_COUNT
};

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

/* --- by operation --- */

/* A table of cells for each family of metrics, which Prometheus alone is shown. */

enum {
        METRIC_OPERATIONS_MOST = 48, /* of the kernel, or of the store */
        METRIC_STEPS = 16,           /* bounds of a histogram; above the last there is one more */
        METRIC_STATUSES_MOST = 24    /* that are told apart; the rest is one more */
};
extern const uint64_t metric_steps_ns[METRIC_STEPS];

struct metric_times_desc {
        const char *name, *text;
        const char *const *operations;
        unsigned noperations;
};
extern const struct metric_times_desc metric_times_table[TIMES_COUNT];

struct metric_histogram {
        _Alignas(64) _Atomic uint64_t sum_ns;
        _Atomic uint64_t steps[METRIC_STEPS + 1];
};
extern struct metric_histogram metric_histograms[TIMES_COUNT][METRIC_OPERATIONS_MOST];

/* One more of that operation took so long. */
void metric_time(enum metric_times m, unsigned operation, int64_t ns);

struct metric_replies_desc {
        const char *name, *text;
        const char *const *operations;
        unsigned noperations;
};
extern const struct metric_replies_desc metric_replies_table[REPLIES_COUNT];

/* How many replies of an operation had the status; "" and 0 behind the last. */
struct metric_status {
        char text[8];
        uint64_t n;
};
/* One more. Status 0: none came. */
void metric_reply(enum metric_replies m, unsigned operation, int status);
/* How many of all were no refusal and no failure. */
uint64_t metric_succeeded(enum metric_replies m);
void metric_statuses(enum metric_replies m, unsigned operation,
                     struct metric_status out[METRIC_STATUSES_MOST + 2]);

/* Appends "requests=12 retries=0 ...". 0 or -ENOMEM. */
int metrics_print(struct buf *b);

#endif
