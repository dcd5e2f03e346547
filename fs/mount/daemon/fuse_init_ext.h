/* SPDX-License-Identifier: Apache-2.0 */
/* fuse_init_ext.h: what is agreed with the kernel at its greeting and libfuse does not know: it
 * handles the request and writes the reply, and both pass by here. For the thread that handles the
 * greeting, from the request to the reply. */
#ifndef CKPTFS_MOUNT_FUSE_INIT_EXT_H
#define CKPTFS_MOUNT_FUSE_INIT_EXT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

/* Flags of 64 bits, as the kernel counts them; those of the second half are in a word of their own.
 */
#define INIT_EXT_DIRECT_IO_MMAP ((uint64_t)1 << 36) /* FUSE_DIRECT_IO_ALLOW_MMAP, Linux 6.6 */
#define INIT_EXT_IO_URING       ((uint64_t)1 << 41) /* FUSE_OVER_IO_URING, Linux 6.14 */

/* A request came in: if it is the greeting, what the kernel offers is kept. */
void init_ext_hear(const void *request, size_t n);

/* Wants those of the flags that the kernel offers; returns these. */
uint64_t init_ext_want(uint64_t flags);

/* A reply is about to go out: to that of the greeting it adds what is wanted. */
void init_ext_answer(const struct iovec *iov, int n);

#endif
