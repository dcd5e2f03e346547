/* SPDX-License-Identifier: Apache-2.0 */
/* part_body.h: the body of one request: bytes in pool buffers, in the spill, and zeros, in order,
 * with their CRC32C. Filled by one thread, then only read. */
#ifndef CKPTFS_MOUNT_PART_BODY_H
#define CKPTFS_MOUNT_PART_BODY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/pool.h"

struct spill;

struct seg {
        struct pool_buf *buf; /* one reference, or NULL */
        uint64_t at;          /* offset in buf, or in the slot */
        uint64_t len;
        uint64_t slot; /* of the spill, one reference */
        bool spilled;  /* neither: zeros */
        bool fill;     /* buf is still to be filled, by whoever sends the part */
};

struct part_body {
        struct spill *spill;
        bool queued; /* counted as backlog until its first byte is asked for */
        unsigned no;
        uint64_t off; /* in the file */
        uint64_t len;
        uint32_t crc;
        unsigned nsegs, maxsegs;
        struct seg *segs;
        unsigned cursor; /* where part_body_read() left off: segment and its offset in the part */
        uint64_t cursor_off;
        uint64_t fill_from, fill_to; /* bytes of the file that are still to be filled, and what */
        uint64_t fill_bytes;         /* lies between; so many of these are */
};

struct part_body *part_body_new(struct spill *spill, unsigned no,
                                uint64_t off); /* NULL: no memory */
/* Gives everything back, which may wake others. NULL is fine. */
void part_body_free(struct part_body *p);

/* Each adds bytes at the end: of a buffer or a slot, of which it takes a reference, or zeros. 0 or
 * -ENOMEM. */
int part_body_add_buf(struct part_body *p, struct pool_buf *buf, uint32_t at, uint32_t n);
int part_body_add_spilled(struct part_body *p, uint64_t slot, uint32_t at, uint32_t n);
int part_body_add_zeros(struct part_body *p, uint64_t n);
/* The same of n bytes that part_body_fill() brings: room for them, in the buffers of the list
 * *room, which is behind them then, from *at on. */
int part_body_add_room(struct part_body *p, struct pool_buf **room, uint32_t *at, uint64_t n);
/* Bytes [pos, pos+n) of the file, in ascending order, go where the body has room for them. */
void part_body_fill(struct part_body *p, uint64_t pos, const void *src, size_t n);

/* Copies bytes [off, off+n) to dst: cheap in ascending order. 0 or the spill's error. */
int part_body_read(struct part_body *p, uint64_t off, void *dst, size_t n);

/* Copies what lies in the spill to its place in dst, where byte 0 of the part is; the rest of dst
 * stays as it is. 0 or the spill's error. */
int part_body_fetch(const struct part_body *p, void *dst);

/* Computes `crc`. May block on the local disk. 0 or the spill's error. */
int part_body_sum(struct part_body *p);

#endif
