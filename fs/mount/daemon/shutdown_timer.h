/* SPDX-License-Identifier: Apache-2.0 */
/* shutdown_timer.h: the end of a mount comes in time, also when the store does not answer. */
#ifndef CKPTFS_MOUNT_SHUTDOWN_TIMER_H
#define CKPTFS_MOUNT_SHUTDOWN_TIMER_H

#include "store.h"

struct shutdown_timer;

/* Stops the store (store_stop()) when it has confirmed nothing for `ms`, which begin now, unless
 * shutdown_timer_end() comes first, and says so in the log. NULL: no memory or thread; then the end
 * may take longer. */
struct shutdown_timer *shutdown_timer_start(struct store *s, unsigned ms);
/* Ends it, while the store is still there. NULL is fine. */
void shutdown_timer_end(struct shutdown_timer *c);

#endif
