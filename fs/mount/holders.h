/* SPDX-License-Identifier: Apache-2.0 */
/* holders.h: who may have a file open for writing, to tell the close that ends its writing from one
 * that leaves it open elsewhere, and what a writer that a signal ended leaves behind.
 *
 * The kernel says who opens, writes and closes, but not who inherited a descriptor; /proc does, as
 * far as the daemon sees it. Known are those who opened, those who wrote, their descendants and
 * whoever was once found to hold the file. The lock is a leaf. */
#ifndef CKPTFS_MOUNT_HOLDERS_H
#define CKPTFS_MOUNT_HOLDERS_H

#include <stdbool.h>
#include <sys/types.h>

struct holders;
struct procview;

enum closing {
        CLOSE_LAST,     /* nobody goes on writing: publish */
        CLOSE_LEAVES,   /* open elsewhere: their close will publish */
        CLOSE_KILLED,   /* by the kernel, for a process that a signal ended: publish nothing */
        CLOSE_BYSTANDER /* by one that only inherited what a killed process wrote: publish nothing
                         */
};

/* One more open for writing by the thread `tid`, of the file of *slot: made with the first. NULL:
 * no memory. The caller guards *slot; process_of(tid) is `pid`. */
struct holders *holders_open(struct holders **slot, pid_t pid);
/* That open is over; the last one frees. */
void holders_release(struct holders **slot);

/* Thread `tid` writes. Cheap when it wrote last. */
void holders_wrote(struct holders *h, pid_t tid);

/* What the close of a descriptor by thread `tid` is. `ino` is the file's inode number; `view`, of
 * the mount's device, was begun after the close. Reads /proc, which asks no file system. */
enum closing holders_close(struct holders *h, pid_t tid, ino_t ino, struct procview *view);

/* Whether a writer died by a signal, and nobody with a right to has closed the file since. */
bool holders_killed(struct holders *h);

#endif
