/* SPDX-License-Identifier: Apache-2.0 */
/* relief.c: see relief.h. */
#include "mount/relief.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/pool.h"
#include "mount/reader.h"
#include "mount/tree.h"
#include "mount/writer.h"

#include "base/banned.h"

struct relief {
        struct pool *pool;
        struct tree *tree;
        size_t cap;
        pthread_t thread;
        pthread_mutex_t mtx;
        pthread_cond_t wake;
        struct {
                bool pressed, stop;
        } locked;
};

static void shrink_readers(struct relief *r)
{
        struct reader *list[64];
        size_t n = 0;

        tree_lock(r->tree);
        for (struct node *o = tree_open_list_locked(r->tree); o && n < 64; o = o->open_next)
                if (o->reader)
                        list[n++] = reader_ref(o->reader);
        tree_unlock(r->tree);
        for (size_t i = 0; i < n; i++) {
                reader_shrink(list[i]);
                reader_unref(list[i]);
        }
}

/* The writer with the most memory in an unfinished part, with a reference; *idle is the sum over
 * all. */
static struct writer *largest(struct relief *r, size_t *idle)
{
        struct writer *best = NULL;
        size_t most = 0;

        *idle = 0;
        tree_lock(r->tree);
        for (struct node *o = tree_open_list_locked(r->tree); o; o = o->open_next) {
                size_t n = o->writer ? writer_idle_bytes(o->writer) : 0;
                *idle += n;
                if (n > most) {
                        most = n;
                        best = o->writer;
                }
        }
        if (best)
                writer_ref(best);
        tree_unlock(r->tree);
        return best;
}

/* While uploads hold most of the memory it comes back by itself; unfinished parts do not. */
static void relieve_writers(struct relief *r)
{
        size_t idle, given = 0;
        struct writer *w;

        while ((w = largest(r, &idle)) && idle > r->cap / 2 && given < r->cap / 8) {
                size_t n = writer_relieve(w);
                writer_unref(w);
                w = NULL;
                if (!n)
                        return;
                given += n;
        }
        writer_unref(w);
}

static void *relief_main(void *arg)
{
        struct relief *r = arg;

        pthread_mutex_lock(&r->mtx);
        while (!r->locked.stop) {
                if (!r->locked.pressed) {
                        pthread_cond_wait(&r->wake, &r->mtx);
                        continue;
                }
                r->locked.pressed = false;
                pthread_mutex_unlock(&r->mtx);
                shrink_readers(r);
                relieve_writers(r);
                pthread_mutex_lock(&r->mtx);
        }
        pthread_mutex_unlock(&r->mtx);
        return NULL;
}

static void on_pressure(void *arg)
{
        struct relief *r = arg;
        pthread_mutex_lock(&r->mtx);
        r->locked.pressed = true;
        pthread_cond_signal(&r->wake);
        pthread_mutex_unlock(&r->mtx);
}

struct relief *relief_start(struct pool *pool, struct tree *tree, size_t cap)
{
        struct relief *r = calloc(1, sizeof *r);
        if (!r)
                return NULL;
        r->pool = pool;
        r->tree = tree;
        r->cap = cap;
        pthread_mutex_init(&r->mtx, NULL);
        pthread_cond_init(&r->wake, NULL);
        if (pthread_create(&r->thread, NULL, relief_main, r)) {
                free(r);
                return NULL;
        }
        pool_on_pressure(pool, on_pressure, r);
        return r;
}

void relief_stop(struct relief *r)
{
        if (!r)
                return;
        pool_on_pressure(r->pool, NULL, NULL);
        pthread_mutex_lock(&r->mtx);
        r->locked.stop = true;
        pthread_cond_signal(&r->wake);
        pthread_mutex_unlock(&r->mtx);
        pthread_join(r->thread, NULL);
        pthread_cond_destroy(&r->wake);
        pthread_mutex_destroy(&r->mtx);
        free(r);
}
