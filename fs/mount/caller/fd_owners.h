/* SPDX-License-Identifier: Apache-2.0 */
/* fd_owners.h: who may have a file open for writing, to tell the close that ends its writing from
 * one that leaves it open elsewhere, and what a writer that a signal ended leaves behind.
 *
 * The kernel says who opens, writes and closes, but not who inherited a descriptor; /proc does, as
 * far as the daemon sees it. Known are those who opened, those who wrote, their descendants and
 * whoever was once found to hold the file. The lock is a leaf, and /proc is read without it. */
#ifndef CKPTFS_MOUNT_FD_OWNERS_H
#define CKPTFS_MOUNT_FD_OWNERS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct fd_owners;
struct proc_view;

enum closing {
        CLOSE_LAST,      /* nobody goes on writing: publish */
        CLOSE_LEAVES,    /* open elsewhere, or a writer is still to close: that will publish */
        CLOSE_KILLED,    /* by the kernel, for a writer that a signal ended: publish nothing */
        CLOSE_BYSTANDER, /* by one that only inherited what a killed process wrote: publish nothing
                          */
        CLOSE_UNSURE     /* what was seen may be of an open that came meanwhile: look again */
};

/* One more open for writing by the process `pid` of the user `uid`, of the file of *slot: made with
 * the first. NULL: no memory. The caller guards *slot. */
struct fd_owners *fd_owners_open(struct fd_owners **slot, pid_t pid, uid_t uid);
/* Whether /proc does not show an open that is not over as one for writing, since its descriptors
 * only read: it has made the file, or emptied it. */
void fd_owners_unseen(struct fd_owners *h, bool is);
/* That open is over; the last one frees. */
void fd_owners_release(struct fd_owners **slot);

/* A process that opened it to write is gone before it had the descriptor: that is a kill. */
void fd_owners_gone(struct fd_owners *h);

/* Bytes of a mapping come, of which the kernel does not say whose they are. When nobody lives who
 * opened or wrote the file, and a signal is ending one of them, they are what that leaves; unless a
 * close was confirmed whose bytes are still to be published. When one lives that has not closed the
 * file, they are no killed one's, which come before its close. */
void fd_owners_mapped(struct fd_owners *h);

/* Thread `tid` writes. Cheap when it wrote last. */
void fd_owners_wrote(struct fd_owners *h, pid_t tid);
/* All that was written is published: who wrote it has no unfinished work any more. */
void fd_owners_published(struct fd_owners *h);

/* A look at who has the file, in three steps: what is known, what /proc tells, what follows. */
struct fd_owners_look {
        pid_t tid;
        ino_t ino;
        pid_t opener;    /* of a descriptor that is not seen; 0: of any other */
        unsigned opens;  /* that are not over, and are seen, */
        unsigned opened; /* and all that ever were */
        int last_pid;
        size_t n;
        pid_t *known;
        /* what was seen; the first two also when the rest is not there yet */
        atomic_int pid; /* of the thread, 0: not looked at yet */
        atomic_bool killed;
        bool held;
        size_t ngone, nfound;
        pid_t *gone, *found;
};

/* Whose turn all looks at the file take, so that they come in order: the user who opened it first.
 */
uid_t fd_owners_uid(const struct fd_owners *h);
/* Begins a look, for the close of a descriptor by thread `tid`; `ino` is the file's number. */
void fd_owners_look_begin(struct fd_owners_look *l, struct fd_owners *h, pid_t tid, ino_t ino);
/* Reads /proc, which asks no file system, but may wait for another process's exec: without any
 * lock, and touches nothing but `l`. `view`, of the mount's device, was begun after the close. */
void fd_owners_look_see(struct fd_owners_look *l, struct proc_view *view);
/* What the close is. Not `whole`: fd_owners_look_see() has not come to its end, and may run still.
 */
enum closing fd_owners_look_end(struct fd_owners_look *l, struct fd_owners *h, bool whole);
void fd_owners_look_release(struct fd_owners_look *l);

/* Whether a writer died by a signal, and nobody with a right to has closed the file since. */
bool fd_owners_killed(struct fd_owners *h);
/* Whether all who opened or wrote the file have closed it, and were told that it is well: who still
 * holds it only inherited it. */
bool fd_owners_closed(struct fd_owners *h);

#endif
