/* SPDX-License-Identifier: Apache-2.0 */
/* crc_combine.h: the checksum of a whole object from the checksums of its ranges, whatever order
 * they come in. Pure, of bounded size, not thread-safe. */
#ifndef CKPTFS_MOUNT_CRC_COMBINE_H
#define CKPTFS_MOUNT_CRC_COMBINE_H

#include <stdbool.h>
#include <stdint.h>

enum { CRC_COMBINE_MAX = 128 }; /* pieces that do not touch each other */

/* Ascending and apart: neighbours that touch are one piece. Zero: empty. */
struct crc_combine {
        unsigned n;
        struct chain_piece {
                uint64_t off, len;
                uint32_t crc;
        } v[CRC_COMBINE_MAX + 1]; /* one more while a piece is added */
};

/* Adds the CRC32C of bytes [off, off+len), len > 0. Of pieces that overlap the longest stays, since
 * a checksum cannot be cut; of too many the shortest goes. What was lost that way is known again
 * when it is added again. */
void crc_combine_add(struct crc_combine *c, uint64_t off, uint64_t len, uint32_t crc);

/* Whether all `size` > 0 bytes are covered; *crc is their checksum then. */
bool crc_combine_whole(const struct crc_combine *c, uint64_t size, uint32_t *crc);

/* Forgets all. */
void crc_combine_reset(struct crc_combine *c);

#endif
