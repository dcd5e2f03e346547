/* SPDX-License-Identifier: Apache-2.0 */
/* conflict_record.h: a change whose base another host replaced: its bytes stay at the store,
 * recorded for `ckptctl recover`, while the other's object stands. */
#ifndef CKPTFS_MOUNT_CONFLICT_RECORD_H
#define CKPTFS_MOUNT_CONFLICT_RECORD_H

#include <stdint.h>

#include "store.h"

struct conflict_change {
        const char *key, *base; /* copied; base: the version that was changed, or NULL */
        const char *name;       /* of the file now, borrowed until done(): the upload may have
                                   another */
        uint64_t size;          /* of the file with the change */
        /* The upload with all of its parts sent, borrowed until done(); or, when NULL, the bytes,
         * whose body is borrowed until done(), and their metadata, copied. */
        struct store_upload *upload;
        const struct store_body *body;
        const struct store_meta *meta;
};

/* Records the change; done() runs on an I/O thread. err 0: it is kept, which was logged: the upload
 * must not be aborted. Else it is not, which was logged, too: abort it. Does not block. 0, or a
 * negative errno: done() never runs. */
int conflict_record(struct store *s, const struct conflict_change *what,
                    void (*done)(void *arg, int err), void *arg);

#endif
