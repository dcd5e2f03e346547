/* SPDX-License-Identifier: Apache-2.0 */
/* waiter.h: whoever waits for something without a thread: a place in a list, and what comes then.
 *
 * The list lies beside what is waited for and is guarded by the same lock. When that has ended, its
 * waiters are moved out under the lock and run when no lock is held. */
#ifndef CKPTFS_BASE_WAITER_H
#define CKPTFS_BASE_WAITER_H

#include <stdbool.h>
#include <stddef.h>

/* The owner embeds it and fills in ready(), which runs once for each wait, on any thread, without a
 * lock, and must not block. It may free the waiter or let it wait again. */
struct waiter {
        struct waiter *next; /* the list's */
        void (*ready)(struct waiter *w);
        int err; /* how it ended: 0 or a negative errno */
};

/* First come, first served. All zeros is an empty list. */
struct waiters {
        struct waiter *first, *last;
};

static inline bool waiters_any(const struct waiters *q)
{
        return q->first;
}

static inline void waiters_add(struct waiters *q, struct waiter *w)
{
        w->next = NULL;
        *(q->first ? &q->last->next : &q->first) = w;
        q->last = w;
}

/* The first, which the list forgets; or NULL. */
static inline struct waiter *waiters_take(struct waiters *q)
{
        struct waiter *w = q->first;
        if (w)
                q->first = w->next;
        return w;
}

/* All of `from`, which is empty then, behind those of `q`. */
static inline void waiters_move(struct waiters *q, struct waiters *from)
{
        if (!from->first)
                return;
        *(q->first ? &q->last->next : &q->first) = from->first;
        q->last = from->last;
        from->first = NULL;
}

/* Tells all of the list, which is the caller's, that it has ended with `err`; the list is empty
 * then. Within a ready() they are told behind it, before the outermost call of this thread returns:
 * a chain of a thousand that wait one for the other takes no stack. */
void waiters_run(struct waiters *list, int err);
/* The same of one that is in no list. */
void waiter_run(struct waiter *w, int err);

#endif
