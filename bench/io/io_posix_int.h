/* SPDX-License-Identifier: Apache-2.0 */
/* io_posix_int.h: what the files io_posix*.c share. */
#ifndef CKPTFS_BENCH_IO_POSIX_INT_H
#define CKPTFS_BENCH_IO_POSIX_INT_H

#include <limits.h>
#include <stdbool.h>

#include "bench/core/io.h"
#include "bench/io/bounce.h"

/* The path of a file. 0, or -ENAMETOOLONG with io->why. */
int io_posix_path(struct io *io, const char *name, char out[PATH_MAX]);

/* Reads n bytes from offset `from` on; -ENODATA when the file ends before. `direct`: asks for whole
 * multiples of IO_ALIGN, for which there is room at p. */
int io_posix_read_block(int fd, char *p, size_t n, uint64_t from, bool direct);
/* Whether O_DIRECT can move a step as far as its place in the file and in memory say. */
bool io_posix_aligned(const struct io_step *s, const char *block);
/* Whether O_DIRECT can read it: a range may begin anywhere, and only behind the last byte of the
 * data is there room for what is read beyond it. */
bool io_posix_fits_direct(const struct io_data *d, const struct io_step *s, const char *block);

/* --- several threads (io_posix_threads.c) --- */

struct posix_work {
        int fd;
        const char *path;
        size_t block, threads;
        bool direct;           /* fd has O_DIRECT */
        struct bounce *bounce; /* a block for each thread, for data that is not held in memory */
};
/* Saves or loads all of the data. No thread is left, and nobody touches the data or the blocks,
 * when it returns: 0 or a negative errno, of whichever block failed first; then others may have
 * been moved. Blocks. */
int io_posix_threads(const struct posix_work *how, const struct io_data *d, bool load);

#endif
