/* SPDX-License-Identifier: Apache-2.0 */
/* op_interrupt.h: a process that is being killed does not wait for the store.
 *
 * The kernel sends FUSE_INTERRUPT for any signal, once a request. A request whose thread is about
 * to die is answered with EINTR, which no program sees; other signals change nothing, but its
 * thread is looked at again and again from then on. What the request has begun at the store goes
 * on; its own reply, which comes second, goes to nobody: the function of libfuse returns an error
 * then, and what the kernel was to be given is taken back. What the request has not begun yet is
 * not begun any more (request_ended()).
 *
 * The kernel lets go of nodes and handles as soon as it has an answer. So the nodes that a request
 * names stay until its own reply, and its handle as long as the request has a reference. While its
 * handler runs nothing is answered in its place: those references are taken there.
 *
 * Of requests that come by a way of their own (uring.h) the kernel may tell too early, or, when the
 * signal came before it had sent the request, not at all: the threads that wait for one are looked
 * at after a moment as if a signal had been told.
 *
 * All requests that are not answered are in one table; whoever takes one out of it, or marks it as
 * ended, is the one who answers. */
#ifndef CKPTFS_MOUNT_OP_INTERRUPT_H
#define CKPTFS_MOUNT_OP_INTERRUPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

struct mount;
struct node;
struct request;
struct requests;

/* --- the session's --- */

/* The table of a mount whose requests come from `fd`, and name nodes by these numbers. NULL: it
 * cannot be had. */
struct requests *requests_new(struct mount *m, int fd,
                              struct node *(*node_of)(struct mount *m, uint64_t ino));
/* No look at threads any more. */
void requests_stop(struct requests *q);
/* Whether the end of an open file or a mapping, for which nobody waits, is being handled. */
bool requests_have_release(struct requests *q);
/* Waits until no request that changes names or attributes is under way, whether or not somebody
 * still waits for it. No request may come any more. */
void requests_wait(struct requests *q);
/* With the requests that nobody has answered. NULL is fine. */
void requests_free(struct requests *q);

/* The way by which one reply goes, as writev(2) does; whoever made the request known embeds it. */
struct reply_way {
        ssize_t (*reply)(struct reply_way *way, const struct iovec *iov, int n);
};

/* What was read: false when that is done with it, else it is to be handled by this thread, between
 * this and requests_handled(). Its reply goes by `way`, or NULL: by the descriptor. */
bool requests_begin(struct requests *q, const void *p, size_t n, struct reply_way *way);
void requests_handled(struct requests *q);
/* Writes a reply, as writev(2) does: ENOENT when the request was answered in its place. Neither the
 * tree nor anything after it is locked. */
ssize_t requests_reply(struct requests *q, int fd, const struct iovec *iov, int n);

/* --- between the op files --- */

/* A request stays until its own reply. */

/* The one that this thread handles. */
struct request *request_now(void);

/* From here to request_let() nobody answers in its place: true. False when that was done. */
bool request_hold(struct mount *m, struct request *r);
void request_let(struct mount *m, struct request *r);
/* Holds it again, for requests_handled(), even when it was answered. */
void request_keep(struct mount *m, struct request *r);

/* Whether its thread is gone: nothing is to be begun for it. */
bool request_ended(const struct request *r);

/* Its thread dies already, which its end does not say any more: it waits for a moment only. */
void request_dies(struct mount *m, struct request *r);

#endif
