/* SPDX-License-Identifier: Apache-2.0 */
/* worker_pace.c: see worker_pace.h. Windows of 5 ms are long against one wakeup and short against a
 * part. */
#include "store/http/worker_pace.h"

#include "base/banned.h"

enum { WINDOW_NS = 5000000 };

void worker_pace_slept(struct worker_pace *p, int64_t from_ns, int64_t to_ns, unsigned most)
{
        int64_t window = to_ns - p->since_ns;

        if (!p->since_ns) {
                *p = (struct worker_pace){.places = PACE_LEAST, .since_ns = from_ns};
                window = to_ns - from_ns;
        }
        p->slept_ns += to_ns - from_ns;
        if (window >= WINDOW_NS) {
                if (p->slept_ns > window / 8)
                        p->places *= 2;
                else if (p->slept_ns < window / 32 && p->places > PACE_LEAST)
                        p->places--;
                p->since_ns = to_ns;
                p->slept_ns = 0;
        }
        if (p->places > most)
                p->places = most;
}
