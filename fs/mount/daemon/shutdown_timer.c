/* SPDX-License-Identifier: Apache-2.0 */
/* shutdown_timer.c: see shutdown_timer.h. */
#include "mount/daemon/shutdown_timer.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "base/mutex.h"
#include "base/log.h"
#include "base/metrics.h"

#include "base/banned.h"

enum { LOOKS = 16 }; /* within the time that the store may be silent */

struct shutdown_timer {
        struct store *store;
        unsigned ms;      /* of silence */
        uint64_t replies; /* that were known at the last look */
        pthread_t thread;
        struct mutex mtx;
        pthread_cond_t cond;
        bool over GUARDED_BY(&mtx);
};

static bool has_replied(struct shutdown_timer *c)
{
        uint64_t before = c->replies;
        c->replies = metric_succeeded(REPLIES_store_replies);
        return c->replies != before;
}

static void *watch(void *arg)
{
        struct shutdown_timer *c = arg;
        int silent = 0;

        mutex_lock(&c->mtx);
        while (!c->over && silent < LOOKS) {
                const struct timespec until = mutex_deadline(CLOCK_MONOTONIC, c->ms / LOOKS);
                if (mutex_timedwait(&c->cond, &c->mtx, &until) == ETIMEDOUT)
                        silent = has_replied(c) ? 0 : silent + 1;
        }
        bool over = c->over;
        mutex_unlock(&c->mtx);
        if (!over) {
                log_warn_of(LOG_ABOUT(.operation = "unmount", .remedy = "save that again"),
                            "the store does not answer in time: what it has not confirmed is given "
                            "up");
                store_stop(c->store);
        }
        return NULL;
}

struct shutdown_timer *shutdown_timer_start(struct store *s, unsigned ms)
{
        struct shutdown_timer *c = calloc(1, sizeof *c);

        if (!c)
                return NULL;
        c->store = s;
        c->ms = ms;
        c->replies = metric_succeeded(REPLIES_store_replies);
        mutex_cond_init(&c->cond);
        mutex_init(&c->mtx, LOCK_SHUTDOWN_TIMER);
        if (!pthread_create(&c->thread, NULL, watch, c))
                return c;
        pthread_cond_destroy(&c->cond);
        mutex_destroy(&c->mtx);
        free(c);
        return NULL;
}

void shutdown_timer_end(struct shutdown_timer *c)
{
        if (!c)
                return;
        mutex_lock(&c->mtx);
        c->over = true;
        pthread_cond_signal(&c->cond);
        mutex_unlock(&c->mtx);
        pthread_join(c->thread, NULL);
        pthread_cond_destroy(&c->cond);
        mutex_destroy(&c->mtx);
        free(c);
}
