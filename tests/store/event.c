/* SPDX-License-Identifier: Apache-2.0 */
/* event.c: see event.h. */
#include "tests/store/event.h"

#include "base/banned.h"

void event_done(void *arg, int err, const struct store_object *obj)
{
        struct event *e = arg;
        pthread_mutex_lock(&e->mtx);
        e->n++;
        if (!e->err)
                e->err = err;
        if (obj)
                e->obj = *obj;
        pthread_cond_signal(&e->cond);
        pthread_mutex_unlock(&e->mtx);
}

int event_wait(struct event *e, unsigned n)
{
        pthread_mutex_lock(&e->mtx);
        while (e->n < n)
                pthread_cond_wait(&e->cond, &e->mtx);
        int err = e->err;
        e->n = 0;
        e->err = 0;
        pthread_mutex_unlock(&e->mtx);
        return err;
}
