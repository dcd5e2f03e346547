/* SPDX-License-Identifier: Apache-2.0 */
/* claim.h: which keys the commits of a mount are about to change.
 *
 * An upload whose file was renamed is completed under its first name and moved from there. No other
 * commit may give that name an object meanwhile, which would be moved or deleted in its place. */
#ifndef CKPTFS_MOUNT_CLAIM_H
#define CKPTFS_MOUNT_CLAIM_H

#include <stdbool.h>

#include "base/mutex.h"

struct claim {
        struct claim *next;
        char *key;
        bool alone;
        void (*retry)(struct claim *c); /* the caller's: ask again */
};

struct claims {
        struct mutex mtx;
        struct claim *held, *waiting;
};
void claims_init(struct claims *cs);

/* Claims the key, `alone` or beside others who are not. 0; -EAGAIN: somebody is in the way, and
 * c->retry() will run once, on any thread, when he may be gone; or -ENOMEM. */
int claim_take(struct claims *cs, struct claim *c, const char *key, bool alone);
/* Ends a claim that was taken; it may be taken again at once. Those who waited for it are added to
 * *ready, for claims_retry(). */
void claim_drop(struct claims *cs, struct claim *c, struct claim **ready);
/* Runs the retries of a list that claim_drop() made, NULL is fine. No lock may be held. */
void claims_retry(struct claim *ready);

#endif
