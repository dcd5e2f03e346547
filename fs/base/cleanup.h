/* SPDX-License-Identifier: Apache-2.0 */
/* cleanup.h: release at the end of the scope.
 *
 *      CLEANUP(freep) char *name = strdup(s);
 *      ...
 *      return TAKE_PTR(name);           the one hand-over is visible
 *
 * A clean-up function takes a pointer to the variable, accepts an empty one and keeps errno. */
#ifndef CKPTFS_BASE_CLEANUP_H
#define CKPTFS_BASE_CLEANUP_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CLEANUP(fn) __attribute__((cleanup(fn)))

/* The pointer in `p`, which becomes NULL: ownership leaves this scope. */
#define TAKE_PTR(p)                                                                                \
        __extension__({                                                                            \
                __typeof__(p) *take_pp = &(p);                                                     \
                __typeof__(p) take_p = *take_pp;                                                   \
                *take_pp = NULL;                                                                   \
                take_p;                                                                            \
        })

/* The descriptor in `fd`, which becomes -1. */
#define TAKE_FD(fd)                                                                                \
        __extension__({                                                                            \
                int *take_fdp = &(fd);                                                             \
                int take_fd = *take_fdp;                                                           \
                *take_fdp = -1;                                                                    \
                take_fd;                                                                           \
        })

/* CLEANUP(freep): free() of any malloc'ed pointer. */
static inline void freep(void *pp)
{
        int err = errno;
        free(*(void **)pp);
        errno = err;
}

static inline void closep(const int *fd)
{
        int err = errno;
        if (*fd >= 0)
                close(*fd);
        errno = err;
}

static inline void fclosep(FILE **f)
{
        int err = errno;
        if (*f)
                fclose(*f);
        errno = err;
}

#endif
