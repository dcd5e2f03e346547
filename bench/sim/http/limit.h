/* SPDX-License-Identifier: Apache-2.0 */
/* limit.h: what all connections of the server share: a line of so many bytes a second, with a queue
 * before it, and so many requests a second for each prefix. Thread-safe.
 *
 * The line is a virtual clock. A connection gets its bytes in bites, each of which passes when
 * those that came before it have: the more connections have bytes to move, the longer each of them
 * waits, as behind a router. */
#ifndef CKPTFS_SIM_LIMIT_H
#define CKPTFS_SIM_LIMIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LINE_BITE = 256 << 10 }; /* most bytes that a connection has in the queue */

struct line {
        uint64_t rate;             /* bytes a second; 0: no limit */
        atomic_uint_fast64_t till; /* ns: what is in the queue is through by then */
};

/* The place of one connection. */
struct line_bite {
        size_t left;     /* bytes of it that have not moved */
        uint64_t due_ns; /* they may move from then on */
};

/* How many bytes may move now, at most `want` > 0; 0: wait until *wake_ns. */
size_t line_allow(struct line *l, struct line_bite *b, size_t want, uint64_t now_ns,
                  uint64_t *wake_ns);
/* They have moved. */
void line_use(const struct line *l, struct line_bite *b, size_t n);

struct prefix_rates;

/* Requests a second for each prefix, which is the bucket and the key up to its last slash. NULL: no
 * memory. */
struct prefix_rates *prefix_rates_new(unsigned writes, unsigned reads);
void prefix_rates_free(struct prefix_rates *r);
/* Whether a request is within the rate of its prefix, and counted. A tenth of a second's requests
 * may come at once. */
bool prefix_rates_take(struct prefix_rates *r, const char *bucket, const char *key, bool write,
                       uint64_t now_ns);

#endif
