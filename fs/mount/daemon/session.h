/* SPDX-License-Identifier: Apache-2.0 */
/* session.h: the connection with the kernel: mounting, the threads that take requests, the end. */
#ifndef CKPTFS_MOUNT_SESSION_H
#define CKPTFS_MOUNT_SESSION_H

#include <signal.h>
#include <stddef.h>

struct mount;
struct session;

/* The version of libfuse that runs. */
const char *session_library(void);

/* Mounts on m->mountpoint, or takes m->handed. `m` must outlive the session. 0 or a negative errno
 * with one line in `why`. */
int session_new(struct mount *m, struct session **out, char *why, size_t nwhy);

/* Mounts on m->mountpoint, and leaves the descriptor to the service manager, for the process that
 * is to serve: it answers nothing before. `m` must outlive this process. 0 or a negative errno with
 * one line in `why`. */
int session_hand_over(struct mount *m, char *why, size_t nwhy);

/* Starts the threads; the mount answers from then on. 0 or a negative errno with `why`. */
int session_start(struct session *s, char *why, size_t nwhy);

/* The signals that a session waits for. */
void session_signals(sigset_t *set);
/* Waits for umount, SIGTERM or SIGINT; reload(arg) is called at each SIGHUP. The caller has blocked
 * session_signals() in all threads. */
void session_wait(struct session *s, void (*reload)(void *arg), void *arg);

/* Ends the threads, so that no request is taken any more, and the open files. NULL is fine. */
void session_stop(struct session *s);
/* Unmounts if need be and frees: after the store is closed, whose callbacks reply through the
 * session. NULL is fine. */
void session_free(struct session *s);

#endif
