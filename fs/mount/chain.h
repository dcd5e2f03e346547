/* SPDX-License-Identifier: Apache-2.0 */
/* chain.h: the checksum of a whole object from the checksums of its ranges, whatever order they
 * arrive in. Pure, of bounded size, not thread-safe. */
#ifndef CKPTFS_MOUNT_CHAIN_H
#define CKPTFS_MOUNT_CHAIN_H

#include <stdbool.h>
#include <stdint.h>

enum { CHAIN_MAX = 128 }; /* ranges that may wait for one before them */

struct chain {
        uint64_t off; /* crc covers bytes [0, off) */
        uint32_t crc;
        bool broken; /* ranges overlapped or too many waited: it will never be whole */
        unsigned n;
        struct {
                uint64_t off, len;
                uint32_t crc;
        } v[CHAIN_MAX];
};

/* Adds the CRC32C of bytes [off, off+len). */
void chain_add(struct chain *c, uint64_t off, uint64_t len, uint32_t crc);

#endif
