/* SPDX-License-Identifier: Apache-2.0 */
/* interpolate.h: ${key} in the value of another key, as OmegaConf has it. */
#ifndef CKPTFS_BENCH_INTERPOLATE_H
#define CKPTFS_BENCH_INTERPOLATE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/* A key and the text that it has. */
struct interpolate_key {
        const char *name, *text;
};

/* The key that is called `name`, or "now:FORMAT"; false: there is none. */
typedef bool interpolate_fn(void *arg, const char *name, struct interpolate_key *out);

/* Appends the text of `key` with each ${name} filled in, whose text may hold others; ${.name} is
 * beside the key, ${..name} one above. 0, -ENOMEM, -ELOOP (a ring, or too deep) or -EINVAL (no such
 * key, none of its text yet, what is no key) with one line in `why` that begins with the key's
 * name. */
int interpolate(const struct interpolate_key *key, interpolate_fn *find, void *arg, struct buf *out,
                char *why, size_t nwhy);

#endif
