/* SPDX-License-Identifier: Apache-2.0 */
/* null.h: what objects of null mode read as: PATTERN_NULL (bench/pattern.h), whatever was put. */
#ifndef CKPTFS_SIM_NULL_H
#define CKPTFS_SIM_NULL_H

#include <stdint.h>

/* The bytes of the pattern, repeated: offset `off` of an object is at null_at(off) in the memory
 * file null_fd(), with *run bytes behind it that are right too. */
uint64_t null_at(uint64_t off, uint64_t *run);
int null_fd(void);

/* The CRC32C of an object of that size, in time O(log size). */
uint32_t null_crc(uint64_t size);

/* Makes the memory file; before any of the above. 0 or a negative errno. */
int null_init(void);
void null_exit(void);

#endif
