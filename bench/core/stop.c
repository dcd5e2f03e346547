/* SPDX-License-Identifier: Apache-2.0 */
/* stop.c: see stop.h. */
#include "bench/core/stop.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mutex.h"

#include "base/banned.h"

enum { MAX_THINGS = 4096, NAP_NS = 50 * 1000 * 1000 };

static struct {
        struct mutex mtx; /* guards the two lists */
        char *path[MAX_THINGS];
        size_t npath;
        pid_t child[16];
        size_t nchild;
        bool wanted; /* atomic */
} stop = {.mtx = MUTEX_INITIALIZER(LOCK_BENCH_STOP)};

bool stop_wanted(void)
{
        return __atomic_load_n(&stop.wanted, __ATOMIC_ACQUIRE);
}

void stop_cond_init(pthread_cond_t *cond)
{
        pthread_condattr_t monotonic;

        pthread_condattr_init(&monotonic);
        pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
        pthread_cond_init(cond, &monotonic);
        pthread_condattr_destroy(&monotonic);
}

void stop_nap_locked(pthread_cond_t *cond, struct mutex *mtx)
{
        struct timespec t;

        clock_gettime(CLOCK_MONOTONIC, &t);
        t.tv_nsec += NAP_NS;
        if (t.tv_nsec >= 1000000000) {
                t.tv_sec++;
                t.tv_nsec -= 1000000000;
        }
        mutex_timedwait(cond, mtx, &t);
}

static void clean_up(void)
{
        mutex_lock(&stop.mtx);
        __atomic_store_n(&stop.wanted, true, __ATOMIC_RELEASE);
        for (size_t i = 0; i < stop.nchild; i++)
                kill(stop.child[i], SIGTERM);
        while (stop.npath) {
                remove(stop.path[--stop.npath]);
                free(stop.path[stop.npath]);
        }
        mutex_unlock(&stop.mtx);
}

static void stop_signals(sigset_t *set)
{
        sigemptyset(set);
        sigaddset(set, SIGINT);
        sigaddset(set, SIGTERM);
        sigaddset(set, SIGHUP);
}

static void *wait_for_signal(void *arg)
{
        (void)arg;
        sigset_t set;
        int sig;
        stop_signals(&set);
        if (!sigwait(&set, &sig))
                clean_up();
        return NULL;
}

int stop_init(void)
{
        sigset_t set;
        pthread_t thread;

        stop_signals(&set);
        int err = pthread_sigmask(SIG_BLOCK, &set, NULL);
        if (!err)
                err = pthread_create(&thread, NULL, wait_for_signal, NULL);
        if (!err)
                pthread_detach(thread);
        return -err;
}

void stop_child_mask(sigset_t *set)
{
        pthread_sigmask(SIG_BLOCK, NULL, set);
        sigdelset(set, SIGINT);
        sigdelset(set, SIGTERM);
        sigdelset(set, SIGHUP);
}

int stop_add_path(const char *path)
{
        int err = 0;
        mutex_lock(&stop.mtx);
        if (stop_wanted())
                err = -ECANCELED;
        else if (stop.npath == MAX_THINGS || !(stop.path[stop.npath] = strdup(path)))
                err = -ENOMEM;
        else
                stop.npath++;
        mutex_unlock(&stop.mtx);
        return err;
}

void stop_drop_path(const char *path)
{
        mutex_lock(&stop.mtx);
        for (size_t i = stop.npath; i-- > 0;) {
                if (strcmp(stop.path[i], path))
                        continue;
                free(stop.path[i]);
                memmove(&stop.path[i], &stop.path[i + 1], (--stop.npath - i) * sizeof stop.path[0]);
                break;
        }
        mutex_unlock(&stop.mtx);
}

int stop_add_child(pid_t pid)
{
        int err = 0;
        mutex_lock(&stop.mtx);
        if (stop.nchild == sizeof stop.child / sizeof stop.child[0])
                err = -ENOMEM;
        else
                stop.child[stop.nchild++] = pid;
        if (!err && stop_wanted())
                kill(pid, SIGTERM);
        mutex_unlock(&stop.mtx);
        return err;
}

void stop_drop_child(pid_t pid)
{
        mutex_lock(&stop.mtx);
        for (size_t i = 0; i < stop.nchild; i++)
                if (stop.child[i] == pid)
                        stop.child[i] = stop.child[--stop.nchild];
        mutex_unlock(&stop.mtx);
}
