/* SPDX-License-Identifier: Apache-2.0 */
/* gds.h: GPUDirect Storage, which moves the bytes of a file to and from a device without the host's
 * memory between, by NVIDIA's cuFile. The library is loaded when a job asks for it, so neither the
 * build nor a job without it needs any. docs/decisions/001 says what it is not for. */
#ifndef CKPTFS_BENCH_GDS_H
#define CKPTFS_BENCH_GDS_H

#include <stdbool.h>
#include <stddef.h>

#include "bench/core/io.h"
#include "bench/core/keys.h"

enum gds_mode {
        GDS_OFF,
        GDS_DIRECT,     /* cuFile fails where it has no direct way */
        GDS_COMPATIBLE, /* its compatibility mode: it copies through the host's memory itself */
        GDS_EITHER      /* the file system decides, and cuFile does not tell */
};

/* Opens what disk.gds of a job asks for, behind dev_use() and before threads are there. 0, also
 * when auto was given and there is none; else -EOPNOTSUPP or -EINVAL with one line in `why`. End
 * with gds_drop(), before dev_drop(). */
int gds_use(const struct keys *k, char *why, size_t nwhy);
void gds_drop(void);

/* How files of this job move; `says`: by what, or why not. */
enum gds_mode gds_mode(const char **says);
extern const char *const gds_mode_names[];

/* Pins device memory for that while it is in use. False: cuFile has no room for it, and goes
 * through buffers of its own on the device. */
bool gds_pin(const void *mem, size_t n);
void gds_unpin(const void *mem);

/* Saves data->device to the file or loads it from there. 0 or a negative errno; -EIO with one line
 * in `why`, which else is "". Blocks. */
int gds_move(int fd, const struct io_data *d, bool load, char *why, size_t nwhy);

#endif
