/* SPDX-License-Identifier: Apache-2.0 */
/* ceiling.h: the single measurements behind "ceiling". */
#ifndef CKPTFS_BENCH_CEILING_H
#define CKPTFS_BENCH_CEILING_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "bench/core/child.h"
#include "bench/core/io.h"
#include "bench/core/keys.h"
#include "bench/measure/meter.h"

/* What a measurement needs around it. */
enum ceiling_kind { CEILING_ALONE, CEILING_DISK, CEILING_FUSE, CEILING_HTTP, CEILING_KINDS };

struct ceiling {
        const struct keys *keys;
        struct child child;   /* null FUSE or storesim */
        char mnt[PATH_MAX];   /* of the null FUSE */
        double read_ahead_kb; /* of it; 0: could not be raised */
        struct io *io;        /* of disk and HTTP */
        bool cached;          /* the page cache may have had what was read of the disk */
        char *buf;            /* CEILING_BUF bytes, page-aligned */
        char why[512];
};
enum { CEILING_BUF = 64 << 20 };
#define CEILING_OBJECT "ceiling" /* the file or object of disk and HTTP */

const char *ceiling_kind_name(enum ceiling_kind kind);

/* 0, or a negative errno with one line in c->why; then nothing is left. */
int ceiling_start(struct ceiling *c, enum ceiling_kind kind);
void ceiling_end(struct ceiling *c, enum ceiling_kind kind);

/* Moves `bytes` in blocks of `block` and meters it. 0 or a negative errno with c->why. */
typedef int ceiling_fn(struct ceiling *c, uint64_t block, uint64_t bytes, struct figure *out);
ceiling_fn ceiling_memcpy, ceiling_disk_write, ceiling_disk_read, ceiling_fuse_write,
        ceiling_fuse_read, ceiling_http_put, ceiling_http_get;

/* Frees what all kinds share. */
void ceiling_release(struct ceiling *c);

#endif
