/* SPDX-License-Identifier: Apache-2.0 */
/* left_upload.h: uploads that could not be aborted, since the store was away, or refused it for
 * credentials or a certificate that had expired. Each is tried again once a file is published,
 * which shows that the store takes requests again, and at the end of the mount. Bounded in number
 * and tries; the log names the uploads that stay at the store. Thread-safe. */
#ifndef CKPTFS_MOUNT_LEFT_UPLOAD_H
#define CKPTFS_MOUNT_LEFT_UPLOAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/container_of.h"
#include "base/mutex.h"
#include "store.h"

struct left_uploads {
        struct mutex mtx;
        pthread_cond_t ended;
        struct {
                struct list list;
                size_t n;    /* in the list, or tried now */
                bool trying; /* one of them, at most */
        } locked GUARDED_BY(&mtx);
};

void left_uploads_init(struct left_uploads *l);
/* Takes `up`, which was of the file `key`, and whose abort has failed with `err`. May be called
 * with the lock of a file. */
void left_uploads_add(struct left_uploads *l, struct store_upload *up, const char *key, int err);
/* The store takes requests: tries the first again, and the others after that. Does not block. */
void left_uploads_try(struct left_uploads *l);
/* Tries each for the last time; none may be added any more. Blocks. */
void left_uploads_finish(struct left_uploads *l);

#endif
