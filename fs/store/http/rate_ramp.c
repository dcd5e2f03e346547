/* SPDX-License-Identifier: Apache-2.0 */
/* rate_ramp.c: see rate_ramp.h. A virtual clock (turn_us) is as far ahead as requests came too
 * early. */
#include "store/http/rate_ramp.h"

#include "base/banned.h"

enum { SECOND_US = 1000000, RATE_MAX = 1000000 };

static void step(struct rate_ramp *r, int64_t now_ms)
{
        if (!r->rate) {
                r->rate = r->first;
                r->since_ms = now_ms;
                r->turn_us = now_ms * 1000 - SECOND_US;
        }
        while (now_ms - r->since_ms >= RAMP_STEP_MS) {
                if (r->full && r->rate < RATE_MAX)
                        r->rate *= 2;
                else if (!r->full && r->rate > r->first)
                        r->rate /= 2;
                else if (!r->full)
                        r->since_ms = now_ms - RAMP_STEP_MS;
                r->full = false;
                r->since_ms += RAMP_STEP_MS;
        }
}

unsigned rate_ramp_wait(struct rate_ramp *r, unsigned n, int64_t now_ms)
{
        int64_t now_us = now_ms * 1000;

        step(r, now_ms);
        if (r->turn_us < now_us - SECOND_US)
                r->turn_us = now_us - SECOND_US;
        int64_t wait_us = r->turn_us - now_us;
        r->turn_us += (int64_t)(n * (SECOND_US / r->rate));
        if (wait_us <= 0)
                return 0;
        r->full = true;
        return (unsigned)((wait_us + 999) / 1000);
}
