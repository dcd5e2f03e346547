/* SPDX-License-Identifier: Apache-2.0 */
/* io_posix_int.h: what the files io_posix*.c share. */
#ifndef CKPTFS_BENCH_IO_POSIX_INT_H
#define CKPTFS_BENCH_IO_POSIX_INT_H

#include <limits.h>

#include "bench/core/io.h"

/* The path of a file. 0, or -ENAMETOOLONG with io->why. */
int io_posix_path(struct io *io, const char *name, char out[PATH_MAX]);

#endif
