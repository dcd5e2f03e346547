/* SPDX-License-Identifier: Apache-2.0 */
/* notify.h: what a service manager wants to hear, by the protocol of sd_notify(3): that the mount
 * stands, that it ends, and now and then that it is alive. Where there is no manager nothing
 * happens. */
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

#endif
