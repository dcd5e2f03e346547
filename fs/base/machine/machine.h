/* SPDX-License-Identifier: Apache-2.0 */
/* machine.h: what a mount needs of the machine it runs on, for the mount and for who looks whether
 * it would stand. */
#ifndef CKPTFS_BASE_MACHINE_H
#define CKPTFS_BASE_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct params;

/* Whether memory=, with what the daemon takes beside it, is more than the machine has, or than the
 * control group of this process or one above it may use; then `remedy` is set. One line in `said`,
 * also when it is not. */
bool machine_lacks_memory(const struct params *p, char *said, size_t n, const char **remedy);

/* Bytes that this user may still write to the directory's disk; UINT64_MAX: not known. */
uint64_t machine_disk_free(const char *dir);

/* An unnamed file in the directory, to read and write: a descriptor or a negative errno. */
int machine_unnamed_file(const char *dir);

/* Whether a write may have met this error since a unit of systemd confines the process. */
bool machine_is_confined(int err);

/* Opens /dev/fuse: a descriptor, or a negative errno with one line in `why`. */
int machine_fuse_device(char *why, size_t nwhy);

/* Whether every user of the machine may read the file; false where there is none. */
bool machine_all_may_read(const char *file);

#endif
