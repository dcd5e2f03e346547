/* SPDX-License-Identifier: Apache-2.0 */
/* bounce.h: blocks of dev_buffer() between shards and a client whose callbacks move small pieces,
 * each of which would be a copy of its own to or from a device. */
#ifndef CKPTFS_BENCH_BOUNCE_H
#define CKPTFS_BENCH_BOUNCE_H

#include "bench/core/io.h"

struct bounce {
        char **block; /* NULL: not made yet */
        size_t n, room;
        uint64_t have, begun; /* blocks of a save, from 1: in its memory, and on its way */
};

/* Of n blocks, at least two. With a device in use they are made at once, since pinning takes a time
 * that no save is to pay. 0 or -ENOMEM. */
int bounce_init(struct bounce *s, size_t n, size_t room);
/* Zeroed ones are fine. */
void bounce_release(struct bounce *s);

/* The i-th block, for whoever fills it himself. NULL: no memory. */
char *bounce_block(struct bounce *s, size_t i);

/* Of a save whose data has ahead(): copies at most *n bytes from `at` on, which *n then says. The
 * block behind is on its way meanwhile. 0 or a negative errno. */
int bounce_give(struct bounce *s, const struct io_data *d, uint64_t at, char *to, int *n);
/* Waits for what is on its way, after the last. */
void bounce_end(struct bounce *s, const struct io_data *d);

#endif
