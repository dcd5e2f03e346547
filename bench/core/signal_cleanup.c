/* SPDX-License-Identifier: Apache-2.0 */
/* signal_cleanup.c: see signal_cleanup.h. */
#include "bench/core/signal_cleanup.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/mutex.h"
#include "bench/core/clock.h"

#include "base/banned.h"

enum { NAP_MS = 50 };

static struct {
        bool signal_came; /* atomic */
        struct mutex mtx;
        char **path GUARDED_BY(&mtx); /* as many as a job has files */
        size_t npath GUARDED_BY(&mtx), room GUARDED_BY(&mtx);
        pid_t child[1024] GUARDED_BY(&mtx);
        size_t nchild GUARDED_BY(&mtx);
} cleanup = {.mtx = MUTEX_INITIALIZER(LOCK_BENCH_CLEANUP)};

bool signal_came(void)
{
        return __atomic_load_n(&cleanup.signal_came, __ATOMIC_ACQUIRE);
}

void signal_nap_locked(pthread_cond_t *cond, struct mutex *mtx)
{
        const struct timespec t = mutex_deadline(CLOCK_MONOTONIC, NAP_MS);
        mutex_timedwait(cond, mtx, &t);
}

static void clean_up(void)
{
        mutex_lock(&cleanup.mtx);
        __atomic_store_n(&cleanup.signal_came, true, __ATOMIC_RELEASE);
        for (size_t i = 0; i < cleanup.nchild; i++)
                kill(cleanup.child[i], SIGTERM);
        while (cleanup.npath) {
                remove(cleanup.path[--cleanup.npath]);
                free(cleanup.path[cleanup.npath]);
        }
        mutex_unlock(&cleanup.mtx);
}

static void ending_signals(sigset_t *set)
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
        ending_signals(&set);
        if (sigwait(&set, &sig))
                return NULL;
        /* the same one may come twice: timeout(1) sends it to a process and to its group */
        uint64_t soon = clock_ns() + 1000ULL * 1000 * 1000;
        clean_up();
        do {
                if (sigwait(&set, &sig))
                        return NULL;
        } while (clock_ns() < soon);
        fputs("ckptbench: ended at once by a second signal: what it had written may be left\n",
              stderr);
        _exit(130);
}

int signal_cleanup_init(void)
{
        sigset_t set;
        pthread_t thread;

        ending_signals(&set);
        int err = pthread_sigmask(SIG_BLOCK, &set, NULL);
        if (!err)
                err = pthread_create(&thread, NULL, wait_for_signal, NULL);
        if (!err)
                pthread_detach(thread);
        return -err;
}

void signal_child_mask(sigset_t *set)
{
        pthread_sigmask(SIG_BLOCK, NULL, set);
        sigdelset(set, SIGINT);
        sigdelset(set, SIGTERM);
        sigdelset(set, SIGHUP);
}

static int add_path_locked(const char *path) REQUIRES(&cleanup.mtx)
{
        if (GROW(cleanup.path, cleanup.npath, cleanup.room, 64))
                return -ENOMEM;
        cleanup.path[cleanup.npath] = strdup(path);
        if (!cleanup.path[cleanup.npath])
                return -ENOMEM;
        cleanup.npath++;
        return 0;
}

int cleanup_add_path(const char *path)
{
        mutex_lock(&cleanup.mtx);
        int err = signal_came() ? -ECANCELED : add_path_locked(path);
        mutex_unlock(&cleanup.mtx);
        return err;
}

void cleanup_drop_path(const char *path)
{
        mutex_lock(&cleanup.mtx);
        for (size_t i = cleanup.npath; i-- > 0;) {
                if (strcmp(cleanup.path[i], path))
                        continue;
                free(cleanup.path[i]);
                memmove(&cleanup.path[i], &cleanup.path[i + 1],
                        (--cleanup.npath - i) * sizeof cleanup.path[0]);
                break;
        }
        mutex_unlock(&cleanup.mtx);
}

void cleanup_drop_paths(void)
{
        mutex_lock(&cleanup.mtx);
        while (cleanup.npath)
                free(cleanup.path[--cleanup.npath]);
        mutex_unlock(&cleanup.mtx);
}

int cleanup_add_child(pid_t pid)
{
        int err = 0;
        mutex_lock(&cleanup.mtx);
        if (cleanup.nchild == sizeof cleanup.child / sizeof cleanup.child[0])
                err = -ENOMEM;
        else
                cleanup.child[cleanup.nchild++] = pid;
        if (!err && signal_came())
                kill(pid, SIGTERM);
        mutex_unlock(&cleanup.mtx);
        return err;
}

void cleanup_drop_children(void)
{
        mutex_lock(&cleanup.mtx);
        cleanup.nchild = 0;
        mutex_unlock(&cleanup.mtx);
}

void cleanup_drop_child(pid_t pid)
{
        mutex_lock(&cleanup.mtx);
        for (size_t i = 0; i < cleanup.nchild; i++)
                if (cleanup.child[i] == pid)
                        cleanup.child[i] = cleanup.child[--cleanup.nchild];
        mutex_unlock(&cleanup.mtx);
}
