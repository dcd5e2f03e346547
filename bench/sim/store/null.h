/* SPDX-License-Identifier: Apache-2.0 */
/* null.h: what objects of null mode read as: PATTERN_NULL (bench/pattern.h), whatever was put. */
#ifndef CKPTFS_SIM_NULL_H
#define CKPTFS_SIM_NULL_H

#include <stdint.h>

/* The bytes of an object from offset `off`; *run of them are there. */
const void *null_bytes(uint64_t off, uint64_t *run);

/* The CRC32C of an object of that size, in time O(log size). */
uint32_t null_crc(uint64_t size);

/* Makes the bytes; before any of the above. 0 or a negative errno. */
int null_init(void);
void null_exit(void);

#endif
