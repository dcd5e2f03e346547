/* SPDX-License-Identifier: Apache-2.0 */
/* control_reply.h: what a mount says of itself. */
#ifndef CKPTFS_MOUNT_CONTROL_REPLY_H
#define CKPTFS_MOUNT_CONTROL_REPLY_H

#include <stdbool.h>
#include <stddef.h>

struct buf;
struct mount;

/* What a client may ask for that is not the room's own: on its thread, with a line in `text` on
 * what came of it. It may read local files. */
struct control_hooks {
        void *arg;
        /* `options`: a list of those that are to change, or NULL. */
        int (*reload)(void *arg, const char *options, char *text, size_t n);
};

/* Appends the reply to a request of n bytes, without its newline; `ends`: the mount is coming to
 * its end. Blocks on local
 * files at most. 0 or -ENOMEM. */
int control_reply(struct mount *m, const struct control_hooks *hooks, bool ends, const char *text,
                  size_t n, struct buf *out);

#endif
