/* SPDX-License-Identifier: Apache-2.0 */
/* grow.h: arrays that grow as things are added to them. */
#ifndef CKPTFS_BASE_GROW_H
#define CKPTFS_BASE_GROW_H

#include <errno.h>
#include <stdlib.h>

/* Room for `want` elements in the array `v`, which has room for `max`: 0, or -ENOMEM and all is as
 * it was. The room doubles, from `first` on; what is new in it is not cleared. */
#define GROW_TO(v, want, max, first)                                                               \
        __extension__({                                                                            \
                int grow_err = 0;                                                                  \
                if ((want) > (max)) {                                                              \
                        __typeof__(max) grow_max = (max) ? 2 * (max) : (first);                    \
                        while (grow_max < (want))                                                  \
                                grow_max *= 2;                                                     \
                        __typeof__(v) grow_v = reallocarray((v), grow_max, sizeof *(v));           \
                        grow_err = grow_v ? 0 : -ENOMEM;                                           \
                        (v) = grow_v ? grow_v : (v);                                               \
                        (max) = grow_v ? grow_max : (max);                                         \
                }                                                                                  \
                grow_err;                                                                          \
        })

/* The same for one element more than the `n` that it has. */
#define GROW(v, n, max, first) GROW_TO(v, (n) + 1, max, first)

#endif
