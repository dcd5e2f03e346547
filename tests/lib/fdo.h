/* SPDX-License-Identifier: Apache-2.0 */
/* fdo.h: the verbs of fdo.c, in tables. */
#ifndef CKPTFS_TESTS_FDO_H
#define CKPTFS_TESTS_FDO_H

#include <errno.h>
#include <stdlib.h>

enum { FDO_NUMBER = 1 << 30 };

struct fdo_verb {
        const char *name; /* NULL: the end of the table */
        int nargs;
        /* Gives 0 for "ok", what it prints plus FDO_NUMBER, or a negative errno. */
        long long (*run)(char **a);
};

/* fdo_names.c: what is done to names and attributes, and signals. */
extern const struct fdo_verb fdo_names[];

static inline long long result(long long rc)
{
        return rc < 0 ? -errno : 0;
}

static inline long long number(const char *s)
{
        return strtoll(s, NULL, 0);
}

#endif
