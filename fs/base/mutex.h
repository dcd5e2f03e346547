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
#include <stdint.h>
#include <time.h>

#include "base/lock_order.h"

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
#define ASSERTS(...)  THREAD_SAFETY(assert_capability(__VA_ARGS__))
#define EXCLUDES(...) THREAD_SAFETY(locks_excluded(__VA_ARGS__))
/* Of a function whose locking the analysis cannot follow; a comment says why. */
#define UNCHECKED_LOCKING THREAD_SAFETY(no_thread_safety_analysis)

struct CAPABILITY("mutex") mutex {
        pthread_mutex_t os;
        enum lock_rank rank;
};

#define MUTEX_INITIALIZER(r)                                                                       \
        {                                                                                          \
                .os = PTHREAD_MUTEX_INITIALIZER, .rank = (r)                                       \
        }

/* Builds with sanitizers note which mutexes a thread holds: a wrong order, one that is taken twice
 * or given back by another thread ends the program with one line. */
#ifdef LOCK_CHECKS
void mutex_note_taken(const struct mutex *m);
void mutex_note_given_back(const struct mutex *m);
void mutex_check_held(const struct mutex *m);
void mutex_check_none(void);
#else
static inline void mutex_note_taken(const struct mutex *m)
{
        (void)m;
}
static inline void mutex_note_given_back(const struct mutex *m)
{
        (void)m;
}
static inline void mutex_check_held(const struct mutex *m)
{
        (void)m;
}
/* Stands before a callback that may do anything: this thread holds no mutex. */
static inline void mutex_check_none(void)
{
}
#endif

static inline void mutex_init(struct mutex *m, enum lock_rank rank)
{
        pthread_mutex_init(&m->os, NULL);
        m->rank = rank;
}

static inline void mutex_destroy(struct mutex *m)
{
        pthread_mutex_destroy(&m->os);
}

/* What the mutex guards is seen by this thread alone: it is being made, or nobody is left. */
static inline void mutex_unshared(const struct mutex *m) ASSERTS(m)
{
        (void)m;
}

/* For callbacks that run with the mutex held: says so to the analysis. */
static inline void mutex_is_locked(const struct mutex *m) ASSERTS(m)
{
        mutex_check_held(m);
}

static inline void mutex_lock(struct mutex *m) ACQUIRE(m) UNCHECKED_LOCKING
{
        pthread_mutex_lock(&m->os);
        mutex_note_taken(m);
}

static inline void mutex_unlock(struct mutex *m) RELEASE(m) UNCHECKED_LOCKING
{
        mutex_note_given_back(m);
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

/* That clock's time in so many milliseconds. */
static inline struct timespec mutex_deadline(clockid_t clock, uint64_t ms)
{
        struct timespec t;

        clock_gettime(clock, &t);
        t.tv_sec += (time_t)(ms / 1000);
        t.tv_nsec += (long)(ms % 1000) * 1000000;
        t.tv_sec += t.tv_nsec / 1000000000;
        t.tv_nsec %= 1000000000;
        return t;
}

/* A condition whose clock is CLOCK_MONOTONIC. */
static inline void mutex_cond_init(pthread_cond_t *cond)
{
        pthread_condattr_t attr;

        pthread_condattr_init(&attr);
        pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
        pthread_cond_init(cond, &attr);
        pthread_condattr_destroy(&attr);
}

#endif
