/* SPDX-License-Identifier: Apache-2.0 */
/* machine.h: what a mount needs of the machine it runs on, for the mount and for who looks whether
 * it would stand. */
#ifndef CKPTFS_BASE_MACHINE_H
#define CKPTFS_BASE_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of memory that this process may use; *container: its control group allows less than the
 * machine has. */
uint64_t machine_memory(bool *container);

/* Bytes that this user may still write to the directory's disk; UINT64_MAX: not known. */
uint64_t machine_disk_free(const char *dir);

/* An unnamed file in the directory, to read and write: a descriptor or a negative errno. */
int machine_unnamed_file(const char *dir);

/* Opens /dev/fuse: a descriptor, or a negative errno with one line in `why`. */
int machine_fuse_device(char *why, size_t nwhy);

/* Whether every user of the machine may read the file; false where there is none. */
bool machine_all_may_read(const char *file);

#endif
