/* SPDX-License-Identifier: Apache-2.0 */
/* signal_cleanup.h: Ctrl-C leaves nothing behind.
 *
 * A thread of its own waits for SIGINT and SIGTERM, for a launcher kills a rank about a second
 * after it asked, and the rank may stand in an fsync() until then. So the thread removes the
 * registered paths at once; everybody else asks signal_came() and leaves in order. A second signal,
 * more than a second later, ends the process where it is. */
#ifndef CKPTFS_BENCH_SIGNAL_CLEANUP_H
#define CKPTFS_BENCH_SIGNAL_CLEANUP_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/mutex.h"

/* Starts the thread and blocks the two signals in the caller and in threads it starts later; call
 * before any other thread exists. 0 or a negative errno. */
int signal_cleanup_init(void);

/* Whether a signal came. Thread-safe. */
bool signal_came(void);

/* Waiting for others in steps after which a signal is heard: one step, with the mutex held, for a
 * condition of mutex_cond_init(). */
void signal_nap_locked(pthread_cond_t *cond, struct mutex *mtx) REQUIRES(mtx);

/* Remembers a file, or an empty directory, to be removed at a signal, newest first; copied. 0,
 * -ENOMEM, or -ECANCELED after the signal: then the path is not to be made. */
int cleanup_add_path(const char *path);
/* The path is gone or is to stay. */
void cleanup_drop_path(const char *path);
/* A job is done: what is left of it is to stay. */
void cleanup_drop_paths(void);

/* The child, or another rank, is sent SIGTERM at a signal. */
int cleanup_add_child(pid_t pid);
void cleanup_drop_child(pid_t pid);
void cleanup_drop_children(void);

/* The mask with which a child begins: that of this thread without the two signals. */
void signal_child_mask(sigset_t *set);

#endif
