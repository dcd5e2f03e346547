/* SPDX-License-Identifier: Apache-2.0 */
/* fdio.h: descriptors as a caller wants them who minds neither signals nor short counts. */
#ifndef CKPTFS_BASE_FDIO_H
#define CKPTFS_BASE_FDIO_H

#include <stddef.h>

/* Writes all n bytes at the descriptor's position. 0 or a negative errno; then some may be written.
 * Blocks. */
int fd_write(int fd, const void *p, size_t n);

#endif
