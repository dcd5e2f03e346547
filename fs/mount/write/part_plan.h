/* SPDX-License-Identifier: Apache-2.0 */
/* part_plan.h: how large the parts of an upload are that is written from its start on, and the
 * cheapest way to publish what is known of a file. Pure arithmetic. */
#ifndef CKPTFS_MOUNT_PART_PLAN_H
#define CKPTFS_MOUNT_PART_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Parts double every PLAN_STEP numbers, so that a stream of unknown length starts small and still
 * reaches far: 16 MiB parts in 2 GiB of memory reach 5.3 TiB with part 10,000. */
enum { PLAN_STEP = 900 };

struct part_plan {
        uint64_t first; /* bytes in the first parts: a multiple of 1 MiB, at least 5 MiB */
        uint64_t most; /* no part is larger: half the memory, so that one fills while one is sent */
};

/* A plan for parts of `part_size` bytes in `memory` bytes of buffers. */
struct part_plan part_plan(uint64_t part_size, uint64_t memory);

/* Bytes in part `no` (1..10000). */
uint64_t part_plan_bytes(const struct part_plan *p, unsigned no);

/* The plan for a file whose size was announced: 10,000 parts hold it. */
struct part_plan part_plan_announced(const struct part_plan *p, uint64_t size);

/* Part `no` begins at `origin`, and the ones after it follow. */
struct part_anchor {
        uint64_t origin;
        unsigned no;
};
/* The part behind the anchor that byte `off` is in: false beyond the last. */
bool part_plan_at(const struct part_plan *p, const struct part_anchor *a, uint64_t off,
                  unsigned *no, uint64_t *start, uint64_t *len);

/* How many parts are to lie before byte `off` when the one that begins there is sent before what
 * lies before it is known: bytes [0, off) can be cut into so many, whatever becomes of them. As
 * many as a file written from its start on has there, or more, if that is little or `pieces` are
 * needed by what is known. */
unsigned part_plan_before(const struct part_plan *p, uint64_t off, uint64_t pieces);

/* Where an object of 10,000 such parts ends. */
uint64_t part_plan_reach(const struct part_plan *p);

/* --- commits --- */

struct plan_run { /* bytes [from, to) */
        uint64_t from, to;
};
struct plan_sent { /* a part that the store has and that is still right */
        unsigned no;
        uint64_t off, len;
};
struct plan_in {
        uint64_t size;               /* of the file */
        uint64_t base;               /* bytes [0, base) of the version before are still good */
        uint64_t base_size;          /* all of that version */
        bool copies;                 /* ranges of it can become parts */
        bool appends;                /* one request can add bytes to it */
        bool whole_copies;           /* it can become a part as a whole, the first; then parts may
                                        be small */
        uint64_t put_most;           /* largest body of one put */
        uint64_t part;               /* bytes of a part that is sent */
        const struct plan_run *held; /* what was written, in order; else base, else zeros */
        size_t nheld;
        const struct plan_sent *sent; /* in order; where copies are not whole, part_plan_before()
                                         chose the first one's number */
        size_t nsent;
};
struct plan_step {
        unsigned no;
        bool copy; /* of the same bytes of the base; else sent */
        uint64_t off, len;
};
struct plan {
        bool put;      /* one request of everything from `from` on: no steps */
        uint64_t from; /* 0, or the size of the base that it is added to */
        size_t n, max;
        struct plan_step *v;
        uint64_t moved; /* bytes to and from the store */
};
/* What is to be sent before an upload can be completed, or that one put or append does it. 0,
 * -EFBIG when 10,000 parts do not suffice, or -ENOMEM; then *out is empty. */
int plan_commit(const struct plan_in *in, struct plan *out);
/* Whether what was sent and what the plan sends make the file: parts lie one behind the other, have
 * consecutive numbers and sizes that stores take, and are of `size` bytes together. 0, or -EIO with
 * one line in `why`. */
int plan_check(const struct plan_in *in, const struct plan *p, char *why, size_t nwhy);
void plan_release(struct plan *p);

#endif
