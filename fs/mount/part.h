/* SPDX-License-Identifier: Apache-2.0 */
/* part.h: the bytes of one part, as a list of segments in pool buffers or in the spill, and their
 * CRC32C. Not thread-safe: filled under the writer's lock, then only read. */
#ifndef CKPTFS_MOUNT_PART_H
#define CKPTFS_MOUNT_PART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/pool.h"

struct spill;

struct seg {
        struct pool_buf *buf; /* one reference; NULL: in the spill */
        uint64_t at;          /* offset in buf, or the spill's name of it */
        uint32_t len;
        uint32_t room; /* bytes behind it in buf that only this part may fill */
};

struct part {
        struct part *next; /* of whoever holds it */
        void *owner;       /* of whoever sends it */
        bool queued;       /* counted as backlog until its first byte is asked for */
        unsigned no;
        uint64_t len;
        uint32_t crc;
        unsigned nsegs, maxsegs;
        struct seg *segs;
        unsigned cursor; /* where part_read() left off: segment and its offset in the part */
        uint64_t cursor_off;
};

struct part *part_new(unsigned no); /* NULL: no memory */
/* Gives every buffer back. NULL is fine. */
void part_free(struct part *p, struct spill *spill);

/* Adds bytes that lie in `buf`, keeping a reference. 0 or -ENOMEM. */
int part_add_buf(struct part *p, struct pool_buf *buf, const void *bytes, size_t n);
/* Adds a copy of the bytes, in the room of the last segment or in new buffers. All or nothing: 0 or
 * -ENOMEM. */
int part_add_copy(struct part *p, struct pool *pool, const void *bytes, size_t n);

/* Copies bytes [off, off+n) to dst: cheap in ascending order. 0 or the spill's error. */
int part_read(struct part *p, struct spill *spill, uint64_t off, void *dst, size_t n);

/* Moves every segment in memory to the spill. Returns 0, or the error with the rest still in
 * memory. */
int part_spill(struct part *p, struct spill *spill);
/* Bytes of the pool that the part holds. */
size_t part_in_memory(const struct part *p);

#endif
