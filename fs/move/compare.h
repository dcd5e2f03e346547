/* SPDX-License-Identifier: Apache-2.0 */
/* compare.h: whether two objects have the same bytes: by their checksums, where the store tells
 * those of both, or else by reading them. */
#ifndef CKPTFS_MOVE_COMPARE_H
#define CKPTFS_MOVE_COMPARE_H

#include <stdbool.h>

#include "store.h"

struct compare {
        struct store *store;
        const char *keys[2], *etags[2]; /* and versions; copied */
        /* With an error nobody knows. One that is gone or of another version is not the same. */
        void (*done)(void *arg, int err, bool same);
        void *arg;
};
/* 0 or a negative errno, and done() never runs. */
int compare_start(const struct compare *job);

#endif
