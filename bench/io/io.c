/* SPDX-License-Identifier: Apache-2.0 */
/* io.c: the table of storages. */
#include "bench/core/io.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"

#include "base/banned.h"

#ifdef HAVE_AWSCRT
#define AWSCRT_OPS &io_awscrt
#else
#define AWSCRT_OPS NULL
#endif
#ifdef HAVE_LIBS3
#define LIBS3_OPS &io_libs3
#else
#define LIBS3_OPS NULL
#endif

const struct io_storage io_storages[] = {
        {"mount", &io_posix, "files below mount.path, through a mounted bucket", NULL},
        {"s3", &io_s3, "objects below s3.uri, straight through libstore", NULL},
        {"gcs", &io_s3, "objects below gcs.uri, straight through libstore", NULL},
        {"awscrt", AWSCRT_OPS, "objects below s3.uri, through the vendor's aws-c-s3",
         "aws-c-s3 was not given: run bench/third_party/awscrt.sh, and configure "
         "--with-awscrt=DIR"},
        {"libs3", LIBS3_OPS, "objects below s3.uri, through libs3, a save in one request",
         "libs3 was not found: install libs3-dev and configure anew"},
        {"disk", &io_posix, "files below path", NULL},
        {"null", &io_null, "nowhere, with null.delay_us: what measuring itself costs", NULL},
};
const size_t io_nstorages = sizeof io_storages / sizeof io_storages[0];

const struct io_storage *io_find(const char *name, char *why, size_t nwhy)
{
        CLEANUP(buf_release) struct buf b = BUF_INIT;
        for (size_t i = 0; i < io_nstorages; i++) {
                const struct io_storage *st = &io_storages[i];
                if (!strcmp(st->name, name) && st->ops)
                        return st;
                if (!strcmp(st->name, name)) {
                        snprintf(why, nwhy, "storage %s is not in this build: %s", name,
                                 st->missing);
                        return NULL;
                }
                buf_addf(&b, "%s%s", i ? ", " : "", st->name);
        }
        snprintf(why, nwhy, "storage '%s' is unknown: give one of %s", name, b.p);
        return NULL;
}

bool io_next(const struct io_data *d, uint64_t most, struct io_step *s)
{
        const struct io_range whole = {0, d->size};
        const struct io_range *v = d->nranges ? d->ranges : &whole;
        size_t n = d->nranges ? d->nranges : 1;

        s->off += s->len;
        s->in_range += s->len;
        for (; s->range < n && s->in_range == v[s->range].len; s->range++)
                s->in_range = 0;
        if (s->range == n || s->off >= d->size) {
                s->len = 0;
                return false;
        }
        uint64_t left = v[s->range].len - s->in_range;
        s->from = v[s->range].from + s->in_range;
        s->len = left < most ? left : most;
        return true;
}

uint64_t io_reach(const struct io_data *d)
{
        uint64_t end = d->nranges ? 0 : d->size;
        for (size_t i = 0; i < d->nranges; i++) {
                uint64_t e = d->ranges[i].from + d->ranges[i].len;
                end = e > end ? e : end;
        }
        return end;
}

int io_count_none(struct io *io, struct io_count *out, bool *host)
{
        (void)io;
        *out = (struct io_count){0};
        *host = false;
        return -EOPNOTSUPP;
}

void io_keep_none(struct io *io, const char *name)
{
        (void)io;
        (void)name;
}

int io_keep_not_none(struct io *io, const char *name)
{
        (void)io;
        (void)name;
        return 0;
}

void *io_new(const struct io_ops *ops, size_t size, unsigned rank, char *why, size_t nwhy)
{
        struct io *io = calloc(1, size);

        if (!io) {
                snprintf(why, nwhy, "out of memory: free some");
                return NULL;
        }
        io->ops = ops;
        io->rank = rank;
        return io;
}

int io_fail(struct io *io, int err, const char *subject)
{
        snprintf(io->why, sizeof io->why, "%s: %s", subject, strerror(-err));
        return err;
}
