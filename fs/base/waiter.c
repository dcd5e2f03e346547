/* SPDX-License-Identifier: Apache-2.0 */
/* waiter.c: see waiter.h. */
#include "base/waiter.h"

#include "base/mutex.h"
#include "base/banned.h"

/* Those that this thread tells, one after the other; NULL: it tells none. */
static _Thread_local struct waiters *telling;

void waiters_run(struct waiters *list, int err)
{
        struct waiter *w;

        for (w = list->first; w; w = w->next)
                w->err = err;
        if (telling) {
                waiters_move(telling, list);
                return;
        }
        telling = list;
        mutex_check_none();
        while ((w = waiters_take(list)))
                w->ready(w);
        telling = NULL;
}

void waiter_run(struct waiter *w, int err)
{
        struct waiters one = {0};
        waiters_add(&one, w);
        waiters_run(&one, err);
}
