/* SPDX-License-Identifier: Apache-2.0 */
/* awscrt.h: the vendor's C client, aws-c-s3, behind calls that block.
 *
 * One client is one bucket. It splits uploads and downloads into parts itself and moves many at
 * once on threads of its own; a call waits for the end of one such transfer. Calls of one client
 * come from one thread. */
#ifndef CKPTFS_BENCH_AWSCRT_H
#define CKPTFS_BENCH_AWSCRT_H

#include <stddef.h>
#include <stdint.h>

#include "bench/core/io.h"
#include "bench/core/keys.h"
#include "bench/core/s3_endpoint.h"

struct awscrt;

/* Opens the bucket of `p`, which is copied, and reaches it. 0, or a negative errno with one line
 * in `why`. Blocks. */
int awscrt_open(const struct keys *k, const struct place *p, struct awscrt **out, char *why,
                size_t nwhy);
/* Waits until the client's threads have let go of it. NULL is fine. */
void awscrt_close(struct awscrt *c);

/* The calls return 0 or a negative errno with one line in `why`; -ECANCELED after a signal
 * (signal_cleanup.h). Requests are of `part` bytes. Data that is not held is made straight into the
 * parts, and checked in them, on threads of the client, several at a time. An upload that fails is
 * aborted before the call returns. */
int awscrt_put(struct awscrt *c, const char *key, const struct io_data *d, uint64_t part, char *why,
               size_t nwhy);
/* Of an object that has `have` bytes. */
int awscrt_get(struct awscrt *c, const char *key, uint64_t have, const struct io_data *d,
               uint64_t part, char *why, size_t nwhy);
int awscrt_size(struct awscrt *c, const char *key, uint64_t *out, char *why, size_t nwhy);
int awscrt_delete(struct awscrt *c, const char *key, char *why, size_t nwhy);

#endif
