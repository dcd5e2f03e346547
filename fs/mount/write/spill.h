/* SPDX-License-Identifier: Apache-2.0 */
/* spill.h: a bounded, unnamed local file for unsent data that memory has no room for. Thread-safe;
 * blocks on the local disk. */
#ifndef CKPTFS_MOUNT_SPILL_H
#define CKPTFS_MOUNT_SPILL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct spill;

/* Whether files can be made in `dir`: 0, or a negative errno with one line in `why`. */
int spill_check(const char *dir, char *why, size_t nwhy);

/* A spill of at most `cap` bytes in `dir`. `dir` is copied. NULL: no memory. */
struct spill *spill_new(const char *dir, uint64_t cap);
void spill_free(struct spill *s); /* NULL is fine */

/* Makes the file, unless one is there that works: before a slot is taken. 0 or the disk's error,
 * which the log has once until the disk works again. */
int spill_open(struct spill *s);
/* Takes a slot of POOL_BUF_SIZE bytes, with one reference. 0, -ENOSPC when all are taken, or
 * -ENOMEM. Does not block. */
int spill_take(struct spill *s, uint64_t *slot);
void spill_ref(struct spill *s, uint64_t slot);
void spill_drop(struct spill *s, uint64_t slot);
/* Whether somebody else refers to it too. */
bool spill_is_shared(struct spill *s, uint64_t slot);

/* Bytes [off, off+n) of the slot. Block on the disk: no lock is held. 0 or a negative errno. */
int spill_write(struct spill *s, uint64_t slot, uint64_t off, const void *p, size_t n);
int spill_get(struct spill *s, uint64_t slot, uint64_t off, void *dst, size_t n);

/* Bytes of the slots that are taken. */
uint64_t spill_used(struct spill *s);

/* Whether there was no room when somebody last tried: no slot, or as spill_note() says what became
 * of the bytes: 0 or the disk's error. A slot that is given back is room, too. */
bool spill_is_full(struct spill *s);
void spill_forget_full(struct spill *s);
void spill_note(struct spill *s, int err);

#endif
