/* SPDX-License-Identifier: Apache-2.0 */
/* proc_query.c: see proc_query.h. */
#include "mount/caller/proc_query.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mutex.h"
#include "base/log.h"

#include "base/banned.h"

enum {
        THREADS = 4,    /* so many looks less one may be stuck; then none is made */
        PATIENCE = 150, /* ms that a look may take, not counting that its thread waits to run */
        TICK = 50,      /* ms between two looks at the looker */
        QUEUES = 16     /* users that share one take turns as one */
};

/* What a user's processes have to wait for. */
struct queue {
        struct proc_query *first, **last; /* not begun, in order */
        struct proc_query *batch;         /* came before the view that is used now */
};

struct proc_queries {
        struct mount_list *mounts;
        struct mutex mtx;
        pthread_cond_t work, tick, drained;
        struct {
                struct queue queues[QUEUES];
                unsigned next;  /* the queue whose turn it is */
                size_t waiting; /* in all of them */
                bool active;    /* a thread serves them */
                bool watched;   /* another watches it */
                bool over;
                struct proc_query *now; /* being seen by the active thread, or NULL */
                pid_t seer;             /* that thread */
                int64_t since;
                unsigned turn; /* counts what is seen */
                unsigned stuck, users;
                unsigned begun; /* threads */
        } locked GUARDED_BY(&mtx);
        /* A thread has its own, since one that is stuck goes on with them. */
        struct proc_view views[THREADS + 1][QUEUES];
};

static int64_t now_ms(void)
{
        struct timespec ts;
        clock_gettime(CLOCK_MONOTONIC, &ts);
        return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* Whether that thread of ours waits for something else than a processor. */
static bool is_asleep(pid_t tid)
{
        char path[64], line[256];
        snprintf(path, sizeof path, "/proc/self/task/%d/status", (int)tid);
        CLEANUP(fclosep) FILE *f = fopen(path, "re");
        while (f && fgets(line, sizeof line, f))
                if (!strncmp(line, "State:\t", 7))
                        return line[7] != 'R';
        return false;
}

/* Unlocks and frees what the last thread leaves. */
static void leave_and_unlock(struct proc_queries *k) RELEASE(&k->mtx)
{
        bool last = !--k->locked.users;
        mutex_unlock(&k->mtx);
        if (!last)
                return;
        pthread_cond_destroy(&k->work);
        pthread_cond_destroy(&k->tick);
        pthread_cond_destroy(&k->drained);
        mutex_destroy(&k->mtx);
        mount_list_free(k->mounts);
        free(k);
}

/* Who saw it and who ended it are done with it: the second drops it. */
static void unref_locked(struct proc_queries *k, struct proc_query *l) REQUIRES(&k->mtx)
{
        if (--l->users)
                return;
        mutex_unlock(&k->mtx);
        l->drop(l);
        mutex_lock(&k->mtx);
}

static void end_locked(struct proc_queries *k, struct proc_query *l, bool whole) REQUIRES(&k->mtx)
{
        mutex_unlock(&k->mtx);
        l->end(l, whole);
        mutex_lock(&k->mtx);
        unref_locked(k, l);
}

/* True when it came to its end, false when it was stuck and another thread has taken over. */
static bool see_locked(struct proc_queries *k, struct proc_query *l, struct proc_view *view)
        REQUIRES(&k->mtx)
{
        k->locked.now = l;
        k->locked.seer = gettid();
        k->locked.since = now_ms();
        unsigned turn = ++k->locked.turn;
        l->users++;
        mutex_unlock(&k->mtx);
        mutex_check_none();
        l->see(l, view);
        mutex_lock(&k->mtx);
        bool mine = k->locked.turn == turn;
        if (mine)
                k->locked.now = NULL;
        else
                k->locked.stuck--;
        unref_locked(k, l);
        return mine;
}

/* Most have seen nothing. */
static void view_clear(struct proc_view *view)
{
        if (view->npids)
                proc_view_release(view);
}

static void queue_init(struct queue *q)
{
        q->first = NULL;
        q->last = &q->first;
}

/* The next that something waits in, which is so. */
static unsigned take_turn_locked(struct proc_queries *k) REQUIRES(&k->mtx)
{
        unsigned i = k->locked.next;

        while (!k->locked.queues[i].batch && !k->locked.queues[i].first)
                i = (i + 1) % QUEUES;
        k->locked.next = (i + 1) % QUEUES;
        return i;
}

/* Takes the first, whose view is begun anew for those who came since. */
static struct proc_query *take_locked(struct proc_queries *k, struct queue *q,
                                      struct proc_view *view) REQUIRES(&k->mtx)
{
        if (!q->batch) {
                view_clear(view);
                q->batch = q->first;
                queue_init(q);
        }
        struct proc_query *l = q->batch;
        q->batch = l->next;
        view->list = k->mounts;
        k->locked.waiting--;
        return l;
}

/* Serves what is queued until there is nothing more, or another goes on: one of each queue in turn,
 * so that who has many descriptors, or many processes with them, holds up others by one look. */
static void serve_locked(struct proc_queries *k, struct proc_view *views) REQUIRES(&k->mtx)
{
        bool mine = true;

        while (mine && k->locked.waiting) {
                unsigned turn = take_turn_locked(k);
                struct proc_query *l = take_locked(k, &k->locked.queues[turn], &views[turn]);
                bool sees = k->locked.stuck < THREADS - 1;
                mutex_unlock(&k->mtx);
                l->begin(l);
                mutex_lock(&k->mtx);
                if (sees)
                        mine = see_locked(k, l, &views[turn]);
                if (mine)
                        end_locked(k, l, sees);
        }
        for (unsigned i = 0; i < QUEUES; i++)
                view_clear(&views[i]);
        if (!mine)
                return;
        k->locked.active = false;
        pthread_cond_broadcast(&k->drained);
}

static void wait_tick_locked(struct proc_queries *k) REQUIRES(&k->mtx)
{
        const struct timespec until = mutex_deadline(CLOCK_MONOTONIC, TICK);
        mutex_timedwait(&k->tick, &k->mtx, &until);
}

/* Whether what is being seen since `turn` is stuck. */
static bool is_stuck_locked(struct proc_queries *k, unsigned turn) REQUIRES(&k->mtx)
{
        pid_t seer = k->locked.seer;

        if (!k->locked.now || k->locked.turn != turn || now_ms() - k->locked.since < PATIENCE)
                return false;
        mutex_unlock(&k->mtx);
        bool asleep = is_asleep(seer);
        mutex_lock(&k->mtx);
        return asleep && k->locked.now && k->locked.turn == turn;
}

/* Watches who serves, until there is nothing to do for two ticks, and serves in its place when it
 * is stuck. */
static void watch_locked(struct proc_queries *k, struct proc_view *views) REQUIRES(&k->mtx)
{
        unsigned turn, idle = 0;

        k->locked.watched = true;
        for (turn = k->locked.turn; idle < 2 && !k->locked.over; turn = k->locked.turn) {
                wait_tick_locked(k);
                idle = turn == k->locked.turn && !k->locked.active ? idle + 1 : 0;
                if (!is_stuck_locked(k, turn))
                        continue;
                struct proc_query *l = k->locked.now;
                k->locked.now = NULL;
                k->locked.turn++;
                k->locked.stuck++;
                k->locked.watched = false;
                pthread_cond_signal(&k->work);
                log_info("a look at who has a file open is given up: a process does not let it be "
                         "seen");
                end_locked(k, l, false);
                serve_locked(k, views);
                return;
        }
        k->locked.watched = false;
}

static void *look_thread(void *arg)
{
        struct proc_queries *k = arg;

        mutex_lock(&k->mtx);
        struct proc_view *views = k->views[k->locked.begun++];
        while (!k->locked.over || k->locked.active || k->locked.waiting) {
                if (!k->locked.active && k->locked.waiting) {
                        k->locked.active = true;
                        if (!k->locked.watched)
                                pthread_cond_signal(&k->work);
                        serve_locked(k, views);
                } else if (k->locked.active && !k->locked.watched) {
                        watch_locked(k, views);
                } else {
                        mutex_wait(&k->work, &k->mtx);
                }
        }
        leave_and_unlock(k);
        return NULL;
}

struct proc_queries *proc_queries_start(dev_t dev)
{
        struct proc_queries *k = calloc(1, sizeof *k);
        pthread_t thread;

        if (!k)
                return NULL;
        k->mounts = mount_list_new(dev);
        if (!k->mounts) {
                free(k);
                return NULL;
        }
        mutex_init(&k->mtx, LOCK_PROC_QUERIES);
        mutex_cond_init(&k->work);
        mutex_cond_init(&k->tick);
        mutex_cond_init(&k->drained);
        mutex_lock(&k->mtx);
        for (unsigned i = 0; i < QUEUES; i++)
                queue_init(&k->locked.queues[i]);
        k->locked.users = 1;
        while (k->locked.users <= THREADS && !pthread_create(&thread, NULL, look_thread, k)) {
                pthread_detach(thread);
                k->locked.users++;
        }
        bool enough = k->locked.users > THREADS;
        mutex_unlock(&k->mtx);
        if (enough)
                return k;
        proc_queries_free(k);
        return NULL;
}

bool proc_queries_add(struct proc_queries *k, struct proc_query *l)
{
        l->next = NULL;
        l->users = 1;
        mutex_lock(&k->mtx);
        bool takes = !k->locked.over;
        if (takes) {
                struct queue *q = &k->locked.queues[l->uid % QUEUES];
                *q->last = l;
                q->last = &l->next;
                k->locked.waiting++;
        }
        if (takes && !k->locked.active)
                pthread_cond_signal(&k->work);
        mutex_unlock(&k->mtx);
        return takes;
}

void proc_queries_stop(struct proc_queries *k)
{
        mutex_lock(&k->mtx);
        while (k->locked.active || k->locked.waiting)
                mutex_wait(&k->drained, &k->mtx);
        k->locked.over = true;
        pthread_cond_broadcast(&k->work);
        pthread_cond_signal(&k->tick);
        mutex_unlock(&k->mtx);
}

void proc_queries_free(struct proc_queries *k)
{
        if (!k)
                return;
        proc_queries_stop(k);
        mutex_lock(&k->mtx);
        leave_and_unlock(k);
}
