/* SPDX-License-Identifier: Apache-2.0 */
/* proc_query.h: looks at /proc beside the threads that take requests.
 *
 * A look may have to wait for a process that itself waits for our reply, when that executes another
 * program (proc_fds.h). So looks have threads of their own, of which one looks and another watches
 * it: a look that blocks is given up after a moment, and the next ones go on. Users take turns,
 * and those of one turn come in order. */
#ifndef CKPTFS_MOUNT_PROC_QUERY_H
#define CKPTFS_MOUNT_PROC_QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "mount/caller/proc_fds.h"

/* What the owner embeds, on the heap. Of each look, begin() runs first and end() last, once, in the
 * order in which the looks with its uid came; see() between the two, or, when it blocks, still
 * after end(): so it may use nothing that end() gives away. drop() frees it. No lock is held. */
struct proc_query {
        struct proc_query *next; /* proc_query.c's, with */
        unsigned users;
        uid_t uid; /* whose turn it takes; looks at one file all take the same */
        void (*begin)(struct proc_query *l);
        void (*see)(struct proc_query *l, struct proc_view *view);
        void (*end)(struct proc_query *l, bool whole); /* whether see() has come to its end */
        void (*drop)(struct proc_query *l);
};

struct proc_queries;

/* Starts the threads; `dev` is the device of the files that matter. NULL: they cannot be had. */
struct proc_queries *proc_queries_start(dev_t dev);
/* Queues a look. Looks of a user that come meanwhile are served by one view. False, with nothing
 * done: no more is taken. */
bool proc_queries_add(struct proc_queries *k, struct proc_query *l);
/* Waits until each look that was queued has ended; see() of one that blocks may go on. No more is
 * taken from then on. */
void proc_queries_stop(struct proc_queries *k);
/* The same, and nobody uses it any more. NULL is fine. */
void proc_queries_free(struct proc_queries *k);

#endif
