/* SPDX-License-Identifier: Apache-2.0 */
/* worker_pace.h: how many transfers a worker keeps going at once.
 *
 * A worker that never sleeps is the limit itself: more transfers would only spread the same bytes
 * over more buffers, which then leave the cache before they are sent (measured on loopback: 10 %
 * more CPU for a byte at 16 than at 4). While it sleeps, the network or the store is, and each
 * further connection brings its share. Pure, not thread-safe. */
#ifndef CKPTFS_STORE_WORKER_PACE_H
#define CKPTFS_STORE_WORKER_PACE_H

#include <stdint.h>

enum { PACE_LEAST = 2 };

struct worker_pace {
        unsigned places;
        int64_t since_ns; /* begin of the window being watched; 0: none yet */
        int64_t slept_ns; /* of it, asleep */
};

/* Tells that the worker slept from `from_ns` to `to_ns` (equal: it did not). At most `most` places.
 */
void worker_pace_slept(struct worker_pace *p, int64_t from_ns, int64_t to_ns, unsigned most);

#endif
