/* SPDX-License-Identifier: Apache-2.0 */
/* container_of.h: from a member to the structure that it is embedded in. */
#ifndef CKPTFS_BASE_CONTAINER_OF_H
#define CKPTFS_BASE_CONTAINER_OF_H

#include <stddef.h>

/* The `type` whose `member` is at `ptr`, which must have that member's type. */
#define CONTAINER_OF(ptr, type, member)                                                            \
        __extension__({                                                                            \
                __typeof__(((type *)NULL)->member) *container_member = (ptr);                      \
                (type *)(void *)((char *)container_member - offsetof(type, member));               \
        })

#endif
