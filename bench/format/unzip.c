/* SPDX-License-Identifier: Apache-2.0 */
/* unzip.c: see unzip.h. */
#include "bench/format/unzip.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#include "base/banned.h"

enum {
        END_SIZE = 22,
        COMMENT_MAX = 65535,
        LOCATOR_SIZE = 20,
        END64_SIZE = 56,
        CENTRAL_SIZE = 46,
        LOCAL_SIZE = 30,
        DIRECTORY_MAX = 256 << 20,
        ZIP64_ID = 1,
        ENCRYPTED = 1
};
#define SAYS_64 0xffffffffULL /* of 4 bytes: the value stands elsewhere, in 8 */

static uint64_t le(const char *p, unsigned bytes)
{
        uint64_t v = 0;
        for (unsigned i = 0; i < bytes; i++)
                v |= (uint64_t)(unsigned char)p[i] << (8 * i);
        return v;
}

struct directory {
        uint64_t from, size, entries;
};

/* The fields of the zip64 end, which the locator before the end names. */
static int read_end64(const struct source *s, const char *locator, struct directory *d, char *why,
                      size_t nwhy)
{
        char end[END64_SIZE];
        int err = source_read(s, &(struct io_range){le(locator + 8, 8), END64_SIZE}, 1, end);
        if (err == -EBADMSG || (!err && memcmp(end, "PK\x06\x06", 4)))
                return refuse(why, nwhy, "its zip64 end is not where it should be");
        if (err)
                return err;
        d->entries = le(end + 32, 8);
        d->size = le(end + 40, 8);
        d->from = le(end + 48, 8);
        return 0;
}

static int find_directory(const struct source *s, struct directory *d, char *why, size_t nwhy)
{
        CLEANUP(freep) char *tail = NULL;
        uint64_t n = END_SIZE + COMMENT_MAX + LOCATOR_SIZE;
        if (n > s->size)
                n = s->size;
        if (n < END_SIZE)
                return refuse(why, nwhy, "it is too short for a zip archive");
        int err = source_take(s, s->size - n, n, &tail);
        if (err)
                return err;
        const char *end = NULL;
        for (size_t i = n - END_SIZE + 1; i-- > 0 && !end;)
                if (!memcmp(tail + i, "PK\x05\x06", 4) && i + END_SIZE + le(tail + i + 20, 2) == n)
                        end = tail + i;
        if (!end)
                return refuse(why, nwhy, "it has no end of a zip archive: it may be cut off");
        *d = (struct directory){le(end + 16, 4), le(end + 12, 4), le(end + 10, 2)};
        if (end - tail >= LOCATOR_SIZE && !memcmp(end - LOCATOR_SIZE, "PK\x06\x07", 4))
                err = read_end64(s, end - LOCATOR_SIZE, d, why, nwhy);
        if (err)
                return err;
        if (d->size > DIRECTORY_MAX || d->from > s->size || d->size > s->size - d->from ||
            d->entries > d->size / CENTRAL_SIZE || d->entries > FOUND_MAX)
                return refuse(why, nwhy, "its directory of files cannot be that large");
        return 0;
}

/* The sizes that did not fit into four bytes: those that say so, in this order. */
static int read_extra(const char *p, size_t n, uint64_t *const fields[3])
{
        while (n >= 4) {
                size_t len = le(p + 2, 2);
                if (len > n - 4)
                        return -EBADMSG;
                if (le(p, 2) == ZIP64_ID) {
                        const char *at = p + 4;
                        for (unsigned i = 0; i < 3; i++) {
                                if (*fields[i] != SAYS_64)
                                        continue;
                                if ((size_t)(p + 4 + len - at) < 8)
                                        return -EBADMSG;
                                *fields[i] = le(at, 8);
                                at += 8;
                        }
                        return 0;
                }
                p += 4 + len;
                n -= 4 + len;
        }
        return 0;
}

/* One entry of the directory; *p moves behind it. */
static int read_member(const char **p, const char *end, uint64_t size, struct zip_member *m)
{
        const char *h = *p;
        if (end - h < CENTRAL_SIZE || memcmp(h, "PK\x01\x02", 4))
                return -EBADMSG;
        size_t name = le(h + 28, 2), extra = le(h + 30, 2), comment = le(h + 32, 2);
        if ((size_t)(end - h) < CENTRAL_SIZE + name + extra + comment)
                return -EBADMSG;
        uint64_t packed = le(h + 20, 4);
        *m = (struct zip_member){.name = h + CENTRAL_SIZE,
                                 .n = name,
                                 .size = le(h + 24, 4),
                                 .header = le(h + 42, 4),
                                 .crc = (uint32_t)le(h + 16, 4)};
        if (read_extra(m->name + name, extra, (uint64_t *const[]){&m->size, &packed, &m->header}))
                return -EBADMSG;
        *p = h + CENTRAL_SIZE + name + extra + comment;
        bool stored = !le(h + 10, 2) && !(le(h + 8, 2) & ENCRYPTED) && packed == m->size;
        return stored && m->header < size && m->size <= size ? 0 : -EBADMSG;
}

static int compare(const char *a, size_t na, const char *b, size_t nb)
{
        int c = memcmp(a, b, na < nb ? na : nb);
        return c ? c : (na > nb) - (na < nb);
}

static int by_name(const void *a, const void *b)
{
        const struct zip_member *x = a, *y = b;
        return compare(x->name, x->n, y->name, y->n);
}

int unzip_read(const struct source *s, struct unzip *out, char *why, size_t nwhy)
{
        CLEANUP(unzip_release) struct unzip z = {0};
        struct directory d = {0};
        uint64_t sum = 0;

        int err = find_directory(s, &d, why, nwhy);
        if (!err)
                err = source_take(s, d.from, d.size, &z.directory);
        if (!err && !(z.v = calloc((size_t)d.entries + 1, sizeof *z.v)))
                err = -ENOMEM;
        if (err)
                return err;
        const char *p = z.directory;
        for (; z.n < d.entries; z.n++) {
                struct zip_member *m = &z.v[z.n];
                if (read_member(&p, z.directory + d.size, s->size, m))
                        return refuse(why, nwhy,
                                      "entry %zu of its directory is damaged, compressed or "
                                      "encrypted",
                                      z.n);
                sum += m->size;
                if (sum > s->size)
                        return refuse(why, nwhy, "its entries overlap");
        }
        if (z.n)
                qsort(z.v, z.n, sizeof *z.v, by_name);
        *out = z;
        z = (struct unzip){0};
        return 0;
}

void unzip_release(struct unzip *z)
{
        freep(&z->v);
        freep(&z->directory);
        *z = (struct unzip){0};
}

struct zip_member *unzip_find(const struct unzip *z, const char *name, size_t n)
{
        size_t lo = 0, hi = z->n;
        while (lo < hi) {
                size_t mid = lo + (hi - lo) / 2;
                int c = compare(z->v[mid].name, z->v[mid].n, name, n);
                if (!c)
                        return &z->v[mid];
                if (c < 0)
                        lo = mid + 1;
                else
                        hi = mid;
        }
        return NULL;
}

int unzip_root(const struct unzip *z, const char **root, size_t *n)
{
        static const char pkl[] = "/data.pkl";
        const size_t len = sizeof pkl - 1;
        for (size_t i = 0; i < z->n; i++) {
                const struct zip_member *m = &z->v[i];
                if (m->n > len && !memcmp(m->name + m->n - len, pkl, len)) {
                        *root = m->name;
                        *n = m->n - len + 1;
                        return 0;
                }
        }
        return -ENOENT;
}

int unzip_locate(const struct source *s, struct zip_member *const *v, size_t n, char *why,
                 size_t nwhy)
{
        CLEANUP(freep) char *heads = malloc(n * LOCAL_SIZE + 1);
        CLEANUP(freep) struct io_range *at = calloc(n + 1, sizeof *at);
        if (!heads || !at)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++)
                at[i] = (struct io_range){v[i]->header, LOCAL_SIZE};
        int err = source_read(s, at, n, heads);
        for (size_t i = 0; i < n && !err; i++) {
                const char *h = heads + i * LOCAL_SIZE;
                v[i]->data = v[i]->header + LOCAL_SIZE + le(h + 26, 2) + le(h + 28, 2);
                if (memcmp(h, "PK\x03\x04", 4) || v[i]->data > s->size ||
                    v[i]->size > s->size - v[i]->data)
                        err = -EBADMSG;
        }
        return err == -EBADMSG ? refuse(why, nwhy, "an entry is not where its directory says")
                               : err;
}
