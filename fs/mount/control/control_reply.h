/* SPDX-License-Identifier: Apache-2.0 */
/* control_reply.h: what a mount says of itself. */
#ifndef CKPTFS_MOUNT_CONTROL_REPLY_H
#define CKPTFS_MOUNT_CONTROL_REPLY_H

#include <stdbool.h>
#include <stddef.h>

struct buf;
struct mount;

/* Appends the reply to a request of n bytes, without its newline; `ends`: the mount is coming to
 * its end. Does not block. 0 or -ENOMEM. */
int control_reply(struct mount *m, bool ends, const char *text, size_t n, struct buf *out);

#endif
