/* SPDX-License-Identifier: Apache-2.0 */
/* memsource.h: bytes in memory as the file that the readers of bench/format look into. */
#ifndef CKPTFS_TESTS_MEMSOURCE_H
#define CKPTFS_TESTS_MEMSOURCE_H

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "bench/format/read.h"
#include "tests/lib/unit.h"

struct memsource {
        struct source s;
        char *p;        /* a copy of just that size, so that a sanitizer sees what lies beyond */
        unsigned reads; /* that succeed before one fails; UINT_MAX: all */
};

static inline int memsource_read(void *arg, const struct io_range *v, size_t n, void *dst)
{
        struct memsource *m = arg;
        char *to = dst;

        if (m->reads != UINT_MAX && !m->reads--)
                return -EIO;
        for (size_t i = 0; i < n; i++) {
                ck_assert_uint_le(v[i].from, m->s.size);
                ck_assert_uint_le(v[i].len, m->s.size - v[i].from);
                memcpy(to, m->p + v[i].from, v[i].len);
                to += v[i].len;
        }
        return 0;
}

/* Free m->p behind it. */
static inline void memsource_init(struct memsource *m, const char *p, size_t n)
{
        *m = (struct memsource){.p = malloc(n ? n : 1), .reads = UINT_MAX};
        ck_assert_ptr_nonnull(m->p);
        memcpy(m->p, p, n);
        m->s = (struct source){.size = n, .read = memsource_read, .arg = m};
}

#endif
