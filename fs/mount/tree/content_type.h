/* SPDX-License-Identifier: Apache-2.0 */
/* content_type.h: the media type of a new file. Pure. */
#ifndef CKPTFS_MOUNT_CONTENT_TYPE_H
#define CKPTFS_MOUNT_CONTENT_TYPE_H

#include <stddef.h>

/* Whether the option content_type is one: 0, or -EINVAL with one line in `why`. */
int content_type_check(const char *said, char *why, size_t nwhy);
/* What a file of that name gets by it, or NULL: what the store says of an object without one. */
const char *content_type_of(const char *said, const char *name);

#endif
