/* SPDX-License-Identifier: Apache-2.0 */
/* uring.h: requests by io_uring, and replies the same way (Linux 6.14).
 *
 * Each core has a ring with entries, each of which takes one request until that is answered, and a
 * thread that runs there and handles what programs of that core ask. Who answers from another
 * thread leaves the reply to the ring's, which gives it to the kernel with the next request.
 * Interrupts, and what no reply is expected to, come by /dev/fuse still. */
#ifndef CKPTFS_MOUNT_URING_H
#define CKPTFS_MOUNT_URING_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "mount/ops/op_interrupt.h"

struct pool_buf;
struct uring;

enum { URING_PARTS = 3 }; /* of a request: its header, its arguments, their bytes */

struct uring_hooks {
        void *arg;
        struct pool_buf *(*buffer)(void *arg);
        /* A request in these parts, whose reply goes by `way`; the buffer is the thread's. */
        void (*handle)(void *arg, const struct iovec *parts, struct reply_way *way,
                       struct pool_buf **buf);
};

/* Makes the rings and their threads, for requests to the mount of `fd`, in at most a quarter of
 * `memory`. Before the kernel's greeting is answered: from then on, where it offers rings and the
 * answer wants them, nobody is served before uring_start(). NULL: it cannot be had, and `why` has
 * cause and remedy. */
struct uring *uring_new(int fd, uint64_t memory, const struct uring_hooks *hooks, char *why,
                        size_t nwhy);
/* Gives the kernel the entries. 0 or a negative errno: it goes on by /dev/fuse. */
int uring_start(struct uring *u);
/* No request is handled from now on, and the threads have given their buffers back. Replies are
 * still sent. NULL is fine. */
void uring_drain(struct uring *u);
/* After the last reply, and before what the rings belong to is unmounted: they keep it. NULL is
 * fine. */
void uring_free(struct uring *u);

/* Why a kernel does not offer rings, and what helps. */
const char *uring_not_offered(void);

#endif
