/* SPDX-License-Identifier: Apache-2.0 */
/* event.h: waits for callbacks: each calls event_done(), the case event_wait() for n of them. */
#ifndef CKPTFS_TESTS_STORE_EVENT_H
#define CKPTFS_TESTS_STORE_EVENT_H

#include <pthread.h>

#include "store.h"

struct event {
        pthread_mutex_t mtx;
        pthread_cond_t cond;
        unsigned n;
        int err; /* the first that was not 0 */
        struct store_object obj;
};
#define EVENT                                                                                      \
        {                                                                                          \
                .mtx = PTHREAD_MUTEX_INITIALIZER, .cond = PTHREAD_COND_INITIALIZER                 \
        }
void event_done(void *arg, int err, const struct store_object *obj); /* a store_done_fn */
int event_wait(struct event *e, unsigned n);

#endif
