/* SPDX-License-Identifier: Apache-2.0 */
/* http_load.c: how many workers take requests: what worker_load.c is told of their threads, and
 * what it decides. The first worker, which takes some as long as there are any, looks at all. */
#include "store/http/http_int.h"

#include <time.h>

#include "base/banned.h"

void http_load_init(struct http *h)
{
        h->active = h->cfg.by_load ? 1 : h->nworkers;
        h->load = (struct worker_load){.active = h->active, .most = h->nworkers};
}

unsigned http_load_active(const struct http *h)
{
        return __atomic_load_n(&h->active, __ATOMIC_RELAXED);
}

/* What the thread used since it was asked last. */
static int64_t used_ns(struct http_worker *w)
{
        struct timespec ts;
        clockid_t clock;

        if (pthread_getcpuclockid(w->thread, &clock) || clock_gettime(clock, &ts))
                return 0;
        int64_t now_ns = (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec, before_ns = w->cpu_ns;
        w->cpu_ns = now_ns;
        return now_ns - before_ns;
}

void http_load_look(struct http_worker *w)
{
        enum { STALE_MS = 10 * WORKER_LOAD_LOOK_MS }; /* a look that says little of now */
        struct http *h = w->h;
        int64_t took_ms = w->now_ms - h->load_look_ms, all_ns = 0;

        if (w != h->workers || h->nworkers == 1 || !h->cfg.by_load || !w->busy ||
            took_ms < WORKER_LOAD_LOOK_MS)
                return;
        h->load_look_ms = w->now_ms;
        for (unsigned i = 0; i < h->nworkers; i++) { /* of all, so that none tells of older times */
                int64_t ns = used_ns(&h->workers[i]);
                all_ns += i < h->load.active ? ns : 0;
        }
        if (took_ms > STALE_MS)
                return;
        worker_load_look(&h->load, w->now_ms, (double)all_ns / (double)took_ms / 1e6);
        __atomic_store_n(&h->active, h->load.active, __ATOMIC_RELAXED);
}
