/* SPDX-License-Identifier: Apache-2.0 */
/* copied.h: which versions of which objects a move has copied, so that no other is deleted.
 *
 * Neither times nor versions tell alone: what another host uploads in parts has the time at which
 * it began, and on S3 equal bytes have equal ETags. 8 bytes an object are kept, a hash of its name,
 * its version and the second of its time. */
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
/* `older`: it is so much older than its copy that no later object of the name has its time. */
void copied_add(struct copied *c, const char *name, const char *etag, int64_t mtime_ns, bool older);
/* After the last one was added. */
void copied_sort(struct copied *c);
enum copied_what { COPIED_NOT, COPIED, COPIED_OLDER };
enum copied_what copied_find(const struct copied *c, const char *name, const char *etag,
                             int64_t mtime_ns);
void copied_release(struct copied *c);

#endif
