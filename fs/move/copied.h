/* SPDX-License-Identifier: Apache-2.0 */
/* copied.h: which versions of which objects a move has copied, so that no other is deleted.
 *
 * Times do not tell: what another host uploads in parts has the time at which it began. 8 bytes an
 * object are kept, a hash of its name and version. */
#ifndef CKPTFS_MOVE_COPIED_H
#define CKPTFS_MOVE_COPIED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct copied {
        uint64_t *v;
        size_t n, max;
        bool partial; /* not all are known: there was no memory, or there are too many */
};
void copied_add(struct copied *c, const char *name, const char *etag);
/* After the last one was added. */
void copied_sort(struct copied *c);
bool copied_has(const struct copied *c, const char *name, const char *etag);
void copied_release(struct copied *c);

#endif
