/* SPDX-License-Identifier: Apache-2.0 */
/* pieces.h: the bytes of a piece: cells that name the call that wrote them, so that any mixture of
 * versions shows. */
#ifndef CKPTFS_TESTS_HISTORY_PIECES_H
#define CKPTFS_TESTS_HISTORY_PIECES_H

#include <stddef.h>
#include <stdint.h>

enum { PIECE_LEAST = 64, ANYWHERE = 0xffff };

/* Fills n bytes that begin at byte `off` of a piece; off is a multiple of PIECE_LEAST. `place` is
 * the number of the piece in its file, or ANYWHERE. */
void piece_fill(unsigned char *p, size_t n, unsigned id, unsigned place, uint64_t len,
                uint64_t off);
/* The pieces that the bytes consist of, as in struct call: "7,7,9", or what is wrong, after "!". */
void pieces_tell(const unsigned char *p, uint64_t n, char *text, size_t size);
/* Where that piece begins in the bytes, which are whole, and how long it is. */
void pieces_find(const unsigned char *p, unsigned piece, uint64_t *at, uint64_t *len);

#endif
