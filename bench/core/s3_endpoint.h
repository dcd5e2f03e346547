/* SPDX-License-Identifier: Apache-2.0 */
/* s3_endpoint.h: where the keys s3.* lead, for clients of others than libstore. */
#ifndef CKPTFS_BENCH_S3_ENDPOINT_H
#define CKPTFS_BENCH_S3_ENDPOINT_H

#include <stdbool.h>
#include <stddef.h>

#include "bench/core/keys.h"

enum { PLACE_KEY_MAX = 1024 };

struct place {
        bool tls;
        char host[256]; /* with a port, unless it is the scheme's */
        char bucket[256];
        char dir[512]; /* prefix of s3.uri and the directory below it, without slashes at its ends
                        */
        char region[64];
};

/* Reads s3.uri, s3.endpoint and s3.region; what is not given comes from the environment's AWS_*
 * and, last, is the vendor's. 0, or -EINVAL with one line in `why`. */
int place_read(const struct keys *k, const char *dir, struct place *out, char *why, size_t nwhy);

/* The key of file `name`. */
void place_key(const struct place *p, const char *name, char out[PLACE_KEY_MAX]);

/* Puts what to do behind the line in `why` that says why the place does not open. */
void place_add_remedy(const struct place *p, int err, char *why, size_t nwhy);

#endif
