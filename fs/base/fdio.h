/* SPDX-License-Identifier: Apache-2.0 */
/* fdio.h: descriptors as a caller wants them who minds neither signals nor short counts. */
#ifndef CKPTFS_BASE_FDIO_H
#define CKPTFS_BASE_FDIO_H

#include <stddef.h>

/* Writes all n bytes at the descriptor's position. 0 or a negative errno; then some may be written.
 * Blocks. */
int fd_write(int fd, const void *p, size_t n);

/* At the start of a program: takes the numbers of standard streams that are closed. Writing to them
 * fails as it should, and no file that is opened later gets the text that is meant for them. */
void fd_take_standard(void);
/* At its end: writes what standard output still holds. 0, or -1 and `program` says on standard
 * error that text is lost. */
int fd_flush_output(const char *program);

#endif
