/* SPDX-License-Identifier: Apache-2.0 */
/* mutex.h: mutexes whose use the compiler checks: clang's thread safety analysis, from 19 on, which
 * knows capabilities in C (clang.llvm.org/docs/ThreadSafetyAnalysis.html). Other compilers see
 * plain pthread mutexes.
 *
 *      struct counter {
 *              struct mutex mtx;
 *              struct {
 *                      int n;
 *              } locked GUARDED_BY(&mtx);
 *      };
 *      void counter_add_locked(struct counter *c) REQUIRES(&c->mtx);
 */
#ifndef CKPTFS_BASE_MUTEX_H
#define CKPTFS_BASE_MUTEX_H

#include <pthread.h>
#include <time.h>

#if defined(__clang__) && __clang_major__ >= 19
#define THREAD_SAFETY(x) __attribute__((x))
#else
#define THREAD_SAFETY(x)
#endif

#define CAPABILITY(name) THREAD_SAFETY(capability(name))
/* Of a member, behind the mutex. */
#define GUARDED_BY(mutex) THREAD_SAFETY(guarded_by(mutex))
/* Of a function: the caller holds it; takes it; gives it back; must not hold it. */
#define REQUIRES(...) THREAD_SAFETY(requires_capability(__VA_ARGS__))
#define ACQUIRE(...)  THREAD_SAFETY(acquire_capability(__VA_ARGS__))
#define RELEASE(...)  THREAD_SAFETY(release_capability(__VA_ARGS__))
#define EXCLUDES(...) THREAD_SAFETY(locks_excluded(__VA_ARGS__))
/* Of a function whose locking the analysis cannot follow; a comment says why. */
#define UNCHECKED_LOCKING THREAD_SAFETY(no_thread_safety_analysis)

struct CAPABILITY("mutex") mutex {
        pthread_mutex_t os;
};

#define MUTEX_INITIALIZER                                                                          \
        {                                                                                          \
                .os = PTHREAD_MUTEX_INITIALIZER                                                    \
        }

static inline void mutex_init(struct mutex *m)
{
        pthread_mutex_init(&m->os, NULL);
}

static inline void mutex_destroy(struct mutex *m)
{
        pthread_mutex_destroy(&m->os);
}

static inline void mutex_lock(struct mutex *m) ACQUIRE(m) UNCHECKED_LOCKING
{
        pthread_mutex_lock(&m->os);
}

static inline void mutex_unlock(struct mutex *m) RELEASE(m) UNCHECKED_LOCKING
{
        pthread_mutex_unlock(&m->os);
}

/* Waits for the condition with the mutex given back meanwhile. */
static inline void mutex_wait(pthread_cond_t *cond, struct mutex *m) REQUIRES(m)
{
        pthread_cond_wait(cond, &m->os);
}

/* The same until `end` of the condition's clock: 0 or ETIMEDOUT. */
static inline int mutex_timedwait(pthread_cond_t *cond, struct mutex *m, const struct timespec *end)
        REQUIRES(m)
{
        return pthread_cond_timedwait(cond, &m->os, end);
}

#endif
