/* SPDX-License-Identifier: Apache-2.0 */
/* claim.h: which keys are about to be changed by commits, renames, removals and changes of
 * attributes of a mount.
 *
 * An upload whose file was renamed is completed under its first name and moved from there. Nobody
 * else may give that name an object meanwhile, which would be moved or deleted in its place, nor
 * take this one away. */
#ifndef CKPTFS_MOUNT_CLAIM_H
#define CKPTFS_MOUNT_CLAIM_H

#include <stdbool.h>

#include "base/mutex.h"
#include "base/waiter.h"

struct claim {
        struct waiter waiter; /* the caller's: who is told is to ask again */
        struct claim *next;
        char *key;
        bool alone;
};

struct claims {
        struct mutex mtx;
        struct claim *held, *waiting;
};
void claims_init(struct claims *cs);

/* Claims the key, `alone` or beside others who are not. 0; -EAGAIN: somebody is in the way, and the
 * waiter is told when that one may be gone; or -ENOMEM. */
int claim_take(struct claims *cs, struct claim *c, const char *key, bool alone);
/* Ends a claim that was taken; it may be taken again at once. Those who waited for it are added to
 * *told, for waiters_run(). */
void claim_drop(struct claims *cs, struct claim *c, struct waiters *told);

#endif
