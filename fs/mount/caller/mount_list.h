/* SPDX-License-Identifier: Apache-2.0 */
/* mount_list.h: which mounts are of one device, by the numbers that /proc/PID/fdinfo gives them.
 *
 * A number belongs to one mount of the machine at a time, whatever its namespace, and is used again
 * once that is unmounted. The lists of the daemon's own namespace and of the machine's are read
 * once, and again when the kernel says that they changed (poll(2) of mountinfo,
 * proc_pid_mountinfo(5)): where containers run they have hundreds of lines, and they are asked at
 * each close of a file. */
#ifndef CKPTFS_MOUNT_MOUNT_LIST_H
#define CKPTFS_MOUNT_MOUNT_LIST_H

#include <stdbool.h>
#include <sys/types.h>

struct mount_list;

/* NULL: no memory. mount_list_free() takes NULL; nobody may use the list then. */
struct mount_list *mount_list_new(dev_t dev);
void mount_list_free(struct mount_list *l);

/* Whether the mount `id`, which process `pid` has a file of, is of the device. A mount that is in
 * neither list, nor in that of the process, was taken out of it: it may be. Thread-safe; may wait
 * for the disk of no file system, but for a mount(2) or umount(2) that is under way; then others do
 * not wait for the caller. */
bool mount_list_has(struct mount_list *l, pid_t pid, unsigned long id);

#endif
