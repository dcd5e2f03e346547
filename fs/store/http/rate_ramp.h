/* SPDX-License-Identifier: Apache-2.0 */
/* rate_ramp.h: how fast the rate of requests may grow.
 *
 * Some stores spread a bucket over more machines as its load grows, and answer 429 to what grows
 * faster: they ask to begin at a rate that any bucket bears and to double it no sooner than after
 * some time of it. Pure, not thread-safe. */
#ifndef CKPTFS_STORE_RATE_RAMP_H
#define CKPTFS_STORE_RATE_RAMP_H

#include <stdbool.h>
#include <stdint.h>

/* The advice of Google Cloud Storage, "Request rate and access distribution guidelines". */
enum { RAMP_WRITES = 1000, RAMP_READS = 5000, RAMP_STEP_MS = 20 * 60 * 1000 };

struct rate_ramp {
        unsigned first; /* requests a second at the beginning; set it, the rest is zero */
        double rate;    /* now; 0: none came yet */
        int64_t since_ms;
        int64_t turn_us; /* when the next one is due */
        bool full;       /* since since_ms, the rate was reached */
};

/* How many milliseconds `n` requests, which come at now_ms, have to wait. As many as a second may
 * have can come at once. The rate doubles after each step in which it was reached, and is halved,
 * not below the first, by one in which it was not. */
unsigned rate_ramp_wait(struct rate_ramp *r, unsigned n, int64_t now_ms);

#endif
