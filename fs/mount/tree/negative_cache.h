/* SPDX-License-Identifier: Apache-2.0 */
/* negative_cache.h: between which names of a directory the store had nothing, and when it was
 * asked. A few are remembered. Pure. */
#ifndef CKPTFS_MOUNT_NEGATIVE_CACHE_H
#define CKPTFS_MOUNT_NEGATIVE_CACHE_H

#include <stdbool.h>
#include <stdint.h>

struct negative_cache;
void negative_cache_free(struct negative_cache *g);

/* There was nothing between the names `from` and `to` (NULL: the end), which are copied; names of
 * directories end in '/'. *g is made when it is NULL; without memory nothing is noted. */
void negative_cache_note(struct negative_cache **g, const char *from, const char *to,
                         int64_t asked_ns);

/* Whether there was neither a file nor a directory `name` when the store was asked, after `since`.
 */
bool negative_cache_have(const struct negative_cache *g, const char *name, int64_t since);

#endif
