/* SPDX-License-Identifier: Apache-2.0 */
/* control.h: the socket by which `ckptctl` asks a running mount (base/control/control_proto.h).
 *
 * One thread serves it, to at most CONTROL_CLIENTS at once, each for ten seconds at most. It takes
 * the locks of the mount for moments, as everybody does, so neither a request of the kernel nor the
 * store ever waits for a client, nor a client for the store. Only the user who mounted and root are
 * answered. */
#ifndef CKPTFS_MOUNT_CONTROL_H
#define CKPTFS_MOUNT_CONTROL_H

#include <stddef.h>

struct control;
struct control_hooks;
struct mount;

/* Begins to listen for a mount that stands, and removes sockets of daemons that died; *out is NULL
 * with control_dir=none. 0, or a negative errno with one line in `why`. */
int control_start(struct mount *m, const struct control_hooks *hooks, struct control **out,
                  char *why, size_t nwhy);
/* From now on the mount is said to end. NULL is fine. */
void control_note_end(struct control *c);
/* Removes the socket; before the mount is taken apart. NULL is fine. Blocks for moments. */
void control_stop(struct control *c);

#endif
