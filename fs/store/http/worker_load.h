/* SPDX-License-Identifier: Apache-2.0 */
/* worker_load.h: how many of the workers take requests, found while data flows.
 *
 * A worker is a thread, and what it does for a byte is copying, system calls and, by HTTPS,
 * encrypting: a core is its limit. Another one helps where the first uses up its core, and nowhere
 * else: it takes half of the connections, and wakes as often. So there are twice as many once those
 * that take requests use most of their cores, and one fewer once the others would do for a while.
 * Time that a thread waits for a core does not count: on a machine that is busy with other things,
 * more threads are no remedy. Pure, not thread-safe. */
#ifndef CKPTFS_STORE_WORKER_LOAD_H
#define CKPTFS_STORE_WORKER_LOAD_H

#include <stdint.h>

enum { WORKER_LOAD_LOOK_MS = 100, WORKER_LOAD_CALM_MS = 2000 };

struct worker_load {
        unsigned active; /* at least 1 */
        unsigned most;
        int64_t calm_ms; /* since when fewer would do; 0: they would not */
};

/* The most that a machine of so many cores has: one for every 2 of them, at least 1, and at most
 * 16, which move more than the lines of hosts do. */
unsigned worker_load_most(long cores);

/* `cores`: how many cores those that take requests used since the last look. */
void worker_load_look(struct worker_load *l, int64_t now_ms, double cores);

#endif
