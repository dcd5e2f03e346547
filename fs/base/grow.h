/* SPDX-License-Identifier: Apache-2.0 */
/* grow.h: arrays that grow as things are added to them. */
#ifndef CKPTFS_BASE_GROW_H
#define CKPTFS_BASE_GROW_H

#include <errno.h>
#include <stdlib.h>

/* Room for one element more in the array `v`, which has `n` and room for `max`: 0, or -ENOMEM and
 * all is as it was. The room doubles, from `first` on. */
#define GROW(v, n, max, first)                                                                     \
        __extension__({                                                                            \
                int grow_err = 0;                                                                  \
                if ((n) == (max)) {                                                                \
                        __typeof__(max) grow_max = (max) ? 2 * (max) : (first);                    \
                        __typeof__(v) grow_v = reallocarray((v), grow_max, sizeof *(v));           \
                        grow_err = grow_v ? 0 : -ENOMEM;                                           \
                        (v) = grow_v ? grow_v : (v);                                               \
                        (max) = grow_v ? grow_max : (max);                                         \
                }                                                                                  \
                grow_err;                                                                          \
        })

#endif
