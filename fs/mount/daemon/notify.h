/* SPDX-License-Identifier: Apache-2.0 */
/* notify.h: what a service manager wants to hear, by the protocol of sd_notify(3): that the mount
 * stands, that it ends, and now and then that it is alive. Where there is no manager nothing
 * happens. And a manager takes a descriptor from one process to the next one of its service. */
#ifndef CKPTFS_MOUNT_NOTIFY_H
#define CKPTFS_MOUNT_NOTIFY_H

/* The mount answers; what it is, for `systemctl status`. */
void notify_ready(const char *url, const char *mountpoint);
/* A reload begins; it ends with notify_ready(). */
void notify_reloading(void);
/* The mount is over, and what was closed is still being published: that takes as long as it does,
 * so the watchdog is told to rest. */
void notify_stopping(void);

/* How often notify_alive() is to be called, in milliseconds: half of what the manager waits for; or
 * -1: it does not ask. */
int notify_interval_ms(void);
void notify_alive(void);

/* Gives the manager the descriptor to keep for the next process of the service. 0 once it has it,
 * or has refused it, which it does not tell; -ENOENT where there is no manager, or another negative
 * errno. */
int notify_hand_over(int fd);
/* The descriptor that the manager has kept for this process, or -1. From then on it keeps it no
 * more: the mount is to end when this process does. */
int notify_handed(void);

#endif
