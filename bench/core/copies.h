/* SPDX-License-Identifier: Apache-2.0 */
/* copies.h: the bytes that this process itself copies on the way between a shard and a storage, by
 * the memory that they pass. What the kernel and the libraries copy is theirs and not counted. */
#ifndef CKPTFS_BENCH_COPIES_H
#define CKPTFS_BENCH_COPIES_H

#include <stddef.h>
#include <stdint.h>

enum copies_kind {
        COPIES_HOST,     /* between two places of the host's memory */
        COPIES_PINNED,   /* between a device and host memory that is pinned for it */
        COPIES_PAGEABLE, /* between a device and other host memory, which the driver copies again */
        COPIES_KINDS
};

struct copies {
        uint64_t n[COPIES_KINDS];
};

/* Thread-safe, cheap. */
void copies_add(enum copies_kind kind, size_t n);
/* Copies n bytes, and counts them. */
void copies_host(void *to, const void *from, size_t n);
/* All of this process until now. */
struct copies copies_now(void);
struct copies copies_since(struct copies from);

#endif
