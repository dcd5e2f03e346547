/* SPDX-License-Identifier: Apache-2.0 */
/* worker_load.c: see worker_load.h. */
#include "store/http/worker_load.h"

#include <stdbool.h>

#include "base/banned.h"

enum { CORES_PER_WORKER = 2, WORKERS_MOST = 16 };

/* Shares of a core that tell that more are needed, and that fewer would do. A worker that is the
 * limit has a little less than all, since it sleeps for a moment before each wakeup. */
#define FULL  0.8
#define SPARE 0.5

unsigned worker_load_most(long cores)
{
        long n = cores / CORES_PER_WORKER;

        return n < 1 ? 1 : n > WORKERS_MOST ? WORKERS_MOST : (unsigned)n;
}

void worker_load_look(struct worker_load *l, int64_t now_ms, double cores)
{
        bool calm = l->active > 1 && cores < SPARE * (l->active - 1);

        if (!calm)
                l->calm_ms = 0;
        else if (!l->calm_ms)
                l->calm_ms = now_ms;
        if (cores >= FULL * l->active) {
                l->active = 2 * l->active < l->most ? 2 * l->active : l->most;
        } else if (calm && now_ms - l->calm_ms >= WORKER_LOAD_CALM_MS) {
                l->active--;
                l->calm_ms = 0;
        }
}
