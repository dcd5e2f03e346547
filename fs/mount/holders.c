/* SPDX-License-Identifier: Apache-2.0 */
/* holders.c: see holders.h. */
#include "mount/holders.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "mount/killed.h"
#include "mount/procfd.h"

#include "base/banned.h"

enum { KNOWN_MAX = 64, TIDS_MAX = 16 };

struct known {
        pid_t pid;
        bool opened;
        bool wrote; /* since the last kill */
};

struct holders {
        pthread_mutex_t mtx;
        atomic_int last; /* thread that wrote last, or 0 */
        unsigned opens;
        bool killed;
        int last_pid; /* newest process when the file was opened, see newest_process() */
        size_t n, next;
        struct known v[KNOWN_MAX];
        size_t ntids;
        struct {
                pid_t tid, pid;
        } tids[TIDS_MAX]; /* of writing threads */
};

static struct known *know_locked(struct holders *h, pid_t pid)
{
        for (size_t i = 0; i < h->n; i++)
                if (h->v[i].pid == pid)
                        return &h->v[i];
        struct known *k = h->n < KNOWN_MAX ? &h->v[h->n++] : &h->v[h->next++ % KNOWN_MAX];
        *k = (struct known){.pid = pid};
        return k;
}

struct holders *holders_open(struct holders **slot, pid_t pid)
{
        struct holders *h = *slot;
        if (!h) {
                h = calloc(1, sizeof *h);
                if (!h)
                        return NULL;
                pthread_mutex_init(&h->mtx, NULL);
                h->last_pid = newest_process();
                *slot = h;
        }
        pthread_mutex_lock(&h->mtx);
        h->opens++;
        know_locked(h, pid)->opened = true;
        pthread_mutex_unlock(&h->mtx);
        return h;
}

void holders_release(struct holders **slot)
{
        struct holders *h = *slot;
        pthread_mutex_lock(&h->mtx);
        bool over = !--h->opens;
        pthread_mutex_unlock(&h->mtx);
        if (!over)
                return;
        *slot = NULL;
        pthread_mutex_destroy(&h->mtx);
        free(h);
}

static pid_t process_locked(struct holders *h, pid_t tid)
{
        for (size_t i = 0; i < h->ntids && i < TIDS_MAX; i++)
                if (h->tids[i].tid == tid)
                        return h->tids[i].pid;
        size_t at = h->ntids++ % TIDS_MAX;
        h->tids[at].tid = tid;
        return h->tids[at].pid = process_of(tid);
}

void holders_wrote(struct holders *h, pid_t tid)
{
        if (atomic_load_explicit(&h->last, memory_order_relaxed) == tid)
                return;
        pthread_mutex_lock(&h->mtx);
        know_locked(h, process_locked(h, tid))->wrote = true;
        atomic_store_explicit(&h->last, tid, memory_order_relaxed);
        pthread_mutex_unlock(&h->mtx);
}

/* Whether as many opens of the file are held by somebody as there are. */
static bool is_held_locked(struct holders *h, pid_t pid, ino_t ino, struct procview *view)
{
        struct procfds fds = {.ino = ino};
        int newest = newest_process();
        bool forked = newest < 0 || newest != h->last_pid;
        size_t known = h->n;

        procfds_add(&fds, view, pid, forked);
        for (size_t i = 0; i < known; i++)
                procfds_add(&fds, view, h->v[i].pid, forked);
        for (size_t i = 0; i < fds.n; i++)
                know_locked(h, fds.v[i].pid);
        return procfds_distinct(&fds) >= h->opens;
}

enum closing holders_close(struct holders *h, pid_t tid, ino_t ino, struct procview *view)
{
        enum closing is = CLOSE_LAST;
        pid_t pid = process_of(tid);

        pthread_mutex_lock(&h->mtx);
        if (killed(tid)) {
                h->killed = true;
                atomic_store_explicit(&h->last, 0, memory_order_relaxed);
                for (size_t i = 0; i < h->n; i++)
                        h->v[i].wrote = false;
                is_held_locked(h, pid, ino, view); /* to know who inherited it */
                is = CLOSE_KILLED;
        } else if (is_held_locked(h, pid, ino, view)) {
                is = CLOSE_LEAVES;
        } else if (h->killed) {
                const struct known *k = know_locked(h, pid);
                if (k->opened || k->wrote)
                        h->killed = false;
                else
                        is = CLOSE_BYSTANDER;
        }
        pthread_mutex_unlock(&h->mtx);
        return is;
}

bool holders_killed(struct holders *h)
{
        pthread_mutex_lock(&h->mtx);
        bool is = h->killed;
        pthread_mutex_unlock(&h->mtx);
        return is;
}
