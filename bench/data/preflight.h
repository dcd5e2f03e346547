/* SPDX-License-Identifier: Apache-2.0 */
/* preflight.h: what a job takes of the machine, and whether that is there, asked before the first
 * write.
 */
#ifndef CKPTFS_BENCH_PREFLIGHT_H
#define CKPTFS_BENCH_PREFLIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "bench/core/keys.h"

struct run;

struct preflight {
        bool still;      /* nothing is saved or loaded */
        uint64_t moved;  /* bytes that all ranks together save and load; 0: not known yet */
        uint64_t stored; /* most bytes of all ranks that lie at the storage at once */
        uint64_t memory; /* bytes of the host that this rank holds and cannot do without */
        uint64_t shards; /* the same, unless they live on a device */
        uint64_t held;   /* what it holds beside those where the hold key lets it */
};

/* "66.0 MB", "24.2 TB": three digits that say something. Returns `out`, or "none". */
enum { BYTES_TEXT = 24 };
const char *bytes_text(uint64_t bytes, char out[BYTES_TEXT]);

/* The same of what is counted: "89.9 million", "1.01 trillion". Returns `out`. */
const char *count_text(uint64_t n, char out[BYTES_TEXT]);

/* Asks whether storage, memory and disk are there for it: a directory that is none, a mount that is
 * none, memory of this machine's ranks, free room of `path`. With `dry` says the needs there. Keeps
 * them in r->preflight. 0, or a negative errno with one line in `why` (-ENOMEM, -ENOSPC: does not
 * fit).
 */
int preflight_check(const struct run *r, const struct keys *k, const struct preflight *n, FILE *dry,
                    char *why, size_t nwhy);

/* The same of a job whose storage key does not say where its files are: at `path`, or, NULL, not on
 * this machine. */
int preflight_check_at(const struct run *r, const struct preflight *n, const char *path, FILE *dry,
                       char *why, size_t nwhy);

/* Whether `dir` has room for what all ranks together put there before it goes to the storage. */
int preflight_check_staging(const struct run *r, const char *dir, uint64_t bytes, FILE *dry,
                            char *why, size_t nwhy);

/* The least of what the control group named in `membership` (as /proc/self/cgroup, version 2) and
 * those above it, below the directory `top`, may still have, page cache not counted. UINT64_MAX: no
 * limit. */
uint64_t preflight_group_room(const char *membership, const char *top);

/* Whether a hold key has this machine's ranks hold so many bytes in so much free memory. */
bool preflight_holds(unsigned hold, double bytes, double room);

/* Bytes of memory that can be had on this machine without taking any from another program, within
 * what its control groups may have. */
uint64_t preflight_memory_free(void);

#endif
