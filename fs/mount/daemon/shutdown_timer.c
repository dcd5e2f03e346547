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

#include "base/banned.h"

struct shutdown_timer {
        struct store *store;
        struct timespec until;
        pthread_t thread;
        struct mutex mtx;
        pthread_cond_t cond;
        bool over GUARDED_BY(&mtx);
};

static void *watch(void *arg)
{
        struct shutdown_timer *c = arg;
        int rc = 0;

        mutex_lock(&c->mtx);
        while (!c->over && rc != ETIMEDOUT)
                rc = mutex_timedwait(&c->cond, &c->mtx, &c->until);
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
        c->until = mutex_deadline(CLOCK_MONOTONIC, ms);
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
