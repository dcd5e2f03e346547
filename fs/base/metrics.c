/* SPDX-License-Identifier: Apache-2.0 */
/* metrics.c: see metrics.h. */
#include "base/metrics.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/banned.h"

#define METRIC(name, kind, unit, text) {#name, METRIC_##kind, unit, text},
const struct metric_desc metric_table[METRIC_COUNT] = {
#include "base/metrics.def"
};

static const char *const kernel_operations[] = {
#define KERNEL_OPERATION(name, opcode) #name,
#include "base/metrics.def"
};

static const char *const store_operations[] = {
#define STORE_OPERATION(name, word) word,
#include "base/metrics.def"
};

#define OPERATIONS_OF_KERNEL kernel_operations, sizeof kernel_operations / sizeof(char *)
#define OPERATIONS_OF_STORE  store_operations, sizeof store_operations / sizeof(char *)

const struct metric_times_desc metric_times_table[TIMES_COUNT] = {
#define METRIC_TIMES(name, of, text) {#name, text, OPERATIONS_OF_##of},
#include "base/metrics.def"
};

const struct metric_replies_desc metric_replies_table[REPLIES_COUNT] = {
#define METRIC_REPLIES(name, text) {#name, text, OPERATIONS_OF_STORE},
#include "base/metrics.def"
};

_Static_assert(sizeof kernel_operations / sizeof(char *) <= METRIC_OPERATIONS_MOST &&
                       sizeof store_operations / sizeof(char *) <= METRIC_OPERATIONS_MOST,
               "METRIC_OPERATIONS_MOST has room for every operation");

/* From what memory answers to what a store takes at its worst. */
#define US 1000ULL
#define MS 1000000ULL
#define S  1000000000ULL
const uint64_t metric_steps_ns[METRIC_STEPS] = {
        50 * US,  100 * US, 500 * US, 1 * MS, 5 * MS, 10 * MS, 25 * MS, 50 * MS,
        100 * MS, 250 * MS, 500 * MS, 1 * S,  3 * S,  10 * S,  30 * S,  120 * S};

/* What the vendors answer. */
static const int statuses[] = {0,   200, 201, 204, 206, 301, 304, 307, 308, 400, 401, 403,
                               404, 405, 408, 409, 410, 412, 416, 429, 500, 502, 503, 504};
enum { STATUSES = sizeof statuses / sizeof *statuses };
_Static_assert((int)STATUSES <= (int)METRIC_STATUSES_MOST,
               "METRIC_STATUSES_MOST has room for every status");

static _Atomic uint64_t replies[REPLIES_COUNT][METRIC_OPERATIONS_MOST][STATUSES + 1];
struct metric_histogram metric_histograms[TIMES_COUNT][METRIC_OPERATIONS_MOST];
struct metric_cell metric_cells[METRIC_COUNT];

void metric_raise(enum metric m, uint64_t n)
{
        _Atomic uint64_t *value = &metric_cells[m].value;
        uint64_t now = atomic_load_explicit(value, memory_order_relaxed);
        while (now < n && !atomic_compare_exchange_weak_explicit(
                                  value, &now, n, memory_order_relaxed, memory_order_relaxed))
                ;
}

void metric_time(enum metric_times m, unsigned operation, int64_t ns)
{
        struct metric_histogram *h = &metric_histograms[m][operation];
        uint64_t took = ns > 0 ? (uint64_t)ns : 0;
        int i = 0;

        while (i < METRIC_STEPS && took > metric_steps_ns[i])
                i++;
        atomic_fetch_add_explicit(&h->steps[i], 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&h->sum_ns, took, memory_order_relaxed);
}

void metric_reply(enum metric_replies m, unsigned operation, int status)
{
        int i = 0;

        while (i < STATUSES && statuses[i] != status)
                i++;
        atomic_fetch_add_explicit(&replies[m][operation][i], 1, memory_order_relaxed);
}

uint64_t metric_succeeded(enum metric_replies m)
{
        uint64_t n = 0;

        for (int i = 0; i < (int)STATUSES; i++)
                for (int op = 0; statuses[i] / 200 == 1 && op < METRIC_OPERATIONS_MOST; op++)
                        n += atomic_load_explicit(&replies[m][op][i], memory_order_relaxed);
        return n;
}

void metric_statuses(enum metric_replies m, unsigned operation,
                     struct metric_status out[METRIC_STATUSES_MOST + 2])
{
        int i;

        for (i = 0; i < STATUSES; i++) {
                snprintf(out[i].text, sizeof out[i].text, "%d", statuses[i]);
                out[i].n = atomic_load_explicit(&replies[m][operation][i], memory_order_relaxed);
        }
        snprintf(out[i].text, sizeof out[i].text, "other");
        out[i].n = atomic_load_explicit(&replies[m][operation][i], memory_order_relaxed);
        out[i + 1] = (struct metric_status){.text = ""};
}

int metrics_print(struct buf *b)
{
        for (int i = 0; i < METRIC_COUNT; i++)
                buf_addf(b, "%s%s=%" PRIu64, i ? " " : "", metric_table[i].name,
                         atomic_load_explicit(&metric_cells[i].value, memory_order_relaxed));
        return b->failed ? -ENOMEM : 0;
}
