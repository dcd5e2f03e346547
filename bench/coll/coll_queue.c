/* SPDX-License-Identifier: Apache-2.0 */
/* coll_queue.c: see coll_queue.h. */
#include "bench/coll/coll_queue.h"

#include "base/banned.h"

static struct coll_work *next_locked(struct coll_queue *q) REQUIRES(&q->mtx)
{
        struct coll_work *w = q->locked.first;

        if (w && !(q->locked.first = w->next))
                q->locked.last = NULL;
        return w;
}

static void make_locked(struct coll_queue *q, struct coll_work *w) REQUIRES(&q->mtx)
{
        int err = q->locked.err;

        mutex_unlock(&q->mtx);
        if (!err)
                err = w->call(w);
        mutex_lock(&q->mtx);
        if (!q->locked.err)
                q->locked.err = err;
        w->err = q->locked.err;
        w->done = true;
        pthread_cond_broadcast(&q->done);
}

static void *queue_thread(void *arg)
{
        struct coll_queue *q = arg;
        struct coll_work *w;

        mutex_lock(&q->mtx);
        for (;;) {
                while (!(w = next_locked(q)) && !q->locked.quit)
                        mutex_wait(&q->came, &q->mtx);
                if (!w)
                        break;
                make_locked(q, w);
        }
        mutex_unlock(&q->mtx);
        return NULL;
}

int coll_queue_init(struct coll_queue *q, const struct coll *c, bool thread)
{
        *q = (struct coll_queue){.beside = false};
        mutex_init(&q->mtx, LOCK_BENCH);
        pthread_cond_init(&q->came, NULL);
        pthread_cond_init(&q->done, NULL);
        if (!thread || c->ranks == 1 || !c->any_thread)
                return 0;
        int err = -pthread_create(&q->thread, NULL, queue_thread, q);
        q->beside = !err;
        return err;
}

void coll_queue_release(struct coll_queue *q)
{
        if (!q->beside)
                return;
        mutex_lock(&q->mtx);
        q->locked.quit = true;
        pthread_cond_signal(&q->came);
        mutex_unlock(&q->mtx);
        pthread_join(q->thread, NULL);
        q->beside = false;
}

void coll_queue_add(struct coll_queue *q, struct coll_work *w)
{
        w->next = NULL;
        w->done = false;
        w->err = 0;
        mutex_lock(&q->mtx);
        if (!q->beside) {
                make_locked(q, w);
        } else {
                if (q->locked.last)
                        q->locked.last->next = w;
                else
                        q->locked.first = w;
                q->locked.last = w;
                pthread_cond_signal(&q->came);
        }
        mutex_unlock(&q->mtx);
}

int coll_queue_wait(struct coll_queue *q, struct coll_work *w)
{
        mutex_lock(&q->mtx);
        while (!w->done)
                mutex_wait(&q->done, &q->mtx);
        int err = w->err;
        mutex_unlock(&q->mtx);
        return err;
}
