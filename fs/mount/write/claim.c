/* SPDX-License-Identifier: Apache-2.0 */
/* claim.c: see claim.h. There are as many claims as changes of objects are under way at once: few
 * enough for a list. */
#include "mount/write/claim.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mutex.h"
#include "base/cleanup.h"

#include "base/banned.h"

void claims_init(struct claims *cs)
{
        *cs = (struct claims){0};
        mutex_init(&cs->mtx, LOCK_CLAIMS);
}

static bool is_free_locked(const struct claims *cs, const char *key, bool alone) REQUIRES(&cs->mtx)
{
        for (const struct claim *x = cs->held; x; x = x->next)
                if ((alone || x->alone) && !strcmp(x->key, key))
                        return false;
        return true;
}

int claim_take(struct claims *cs, struct claim *c, const char *key, bool alone)
{
        char *copy = strdup(key);
        if (!copy)
                return -ENOMEM;
        mutex_lock(&cs->mtx);
        bool ours = is_free_locked(cs, key, alone);
        struct claim **list = ours ? &cs->held : &cs->waiting;
        c->key = copy;
        c->alone = alone;
        c->next = *list;
        *list = c;
        mutex_unlock(&cs->mtx);
        return ours ? 0 : -EAGAIN;
}

void claim_drop(struct claims *cs, struct claim *c, struct waiters *told)
{
        mutex_lock(&cs->mtx);
        struct claim **pp = &cs->held;
        while (*pp != c)
                pp = &(*pp)->next;
        *pp = c->next;
        for (pp = &cs->waiting; *pp;) {
                struct claim *w = *pp;
                if (strcmp(w->key, c->key)) {
                        pp = &w->next;
                        continue;
                }
                *pp = w->next;
                free(TAKE_PTR(w->key));
                waiters_add(told, &w->waiter);
        }
        mutex_unlock(&cs->mtx);
        free(TAKE_PTR(c->key));
}
