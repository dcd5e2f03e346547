/* SPDX-License-Identifier: Apache-2.0 */
/* shape.h: a rate limit, as a virtual clock: each byte takes its time, and the clock may lag behind
 * the real one by SHAPE_BURST_NS, so that a timer that fires late costs nothing on average. */
#ifndef CKPTFS_SIM_SHAPE_H
#define CKPTFS_SIM_SHAPE_H

#include <stddef.h>
#include <stdint.h>

#define SHAPE_BURST_NS 5000000ULL /* also what may pass at once after a rest */
#define SHAPE_NAP_NS   1000000ULL /* least time worth waiting for */

struct shape {
        uint64_t rate;    /* bytes a second; 0: no limit */
        uint64_t used_ns; /* up to here time is used up */
};

/* How many bytes may move now, at most `want`; 0: wait until *wake_ns. */
static inline size_t shape_allow(struct shape *s, size_t want, uint64_t now_ns, uint64_t *wake_ns)
{
        if (!s->rate)
                return want;
        if (s->used_ns + SHAPE_BURST_NS < now_ns)
                s->used_ns = now_ns - SHAPE_BURST_NS;
        if (s->used_ns + SHAPE_NAP_NS > now_ns) {
                *wake_ns = s->used_ns + 2 * SHAPE_NAP_NS;
                return 0;
        }
        double n = (double)(now_ns - s->used_ns) * 1e-9 * (double)s->rate;
        size_t allowed = n < 1 ? 1 : (size_t)n;
        return allowed < want ? allowed : want;
}

static inline void shape_use(struct shape *s, size_t n)
{
        if (s->rate)
                s->used_ns += (uint64_t)((double)n * 1e9 / (double)s->rate);
}

#endif
