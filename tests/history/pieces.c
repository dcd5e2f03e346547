/* SPDX-License-Identifier: Apache-2.0 */
/* pieces.c: see pieces.h. */
#include "pieces.h"

#include <stdio.h>
#include <string.h>

#include "base/banned.h"

enum { MAGIC = 0x68697374 };

struct cell {
        uint32_t magic, id;
        uint64_t len, off;
        uint32_t place, mix;
};

static struct cell cell_at(unsigned id, unsigned place, uint64_t len, uint64_t off)
{
        return (struct cell){MAGIC, id,    len,
                             off,   place, (uint32_t)(id * 2654435761u ^ off * 40503u ^ place)};
}

static size_t cut(uint64_t left)
{
        return left < sizeof(struct cell) ? (size_t)left : sizeof(struct cell);
}

void piece_fill(unsigned char *p, size_t n, unsigned id, unsigned place, uint64_t len, uint64_t off)
{
        for (size_t i = 0; i < n; i += sizeof(struct cell)) {
                struct cell c = cell_at(id, place, len, off + i);
                memcpy(p + i, &c, cut(n - i));
        }
}

/* What lies there, for a line. */
static void name_bytes(const unsigned char *p, uint64_t n, char *text, size_t size)
{
        struct cell c = {0};

        memcpy(&c, p, cut(n));
        if (c.magic == MAGIC)
                snprintf(text, size, "byte %llu of %llu of a piece of call %u",
                         (unsigned long long)c.off, (unsigned long long)c.len, c.id);
        else
                snprintf(text, size, "%s", c.magic || c.id || c.len ? "bytes of nobody" : "zeros");
}

/* The first cell of the piece that begins at p. False: none does. */
static int piece_begins(const unsigned char *p, uint64_t n, struct cell *first)
{
        *first = (struct cell){0};
        memcpy(first, p, cut(n));
        return first->magic == MAGIC && !first->off && first->len >= sizeof *first;
}

void pieces_tell(const unsigned char *p, uint64_t n, char *text, size_t size)
{
        char there[80];
        size_t put = 0;
        unsigned piece = 0;

        snprintf(text, size, "-");
        for (uint64_t at = 0; at < n; piece++) {
                struct cell first;
                uint64_t off = 0;
                if (!piece_begins(p + at, n - at, &first) || first.len > n - at ||
                    (first.place != ANYWHERE && first.place != piece)) {
                        name_bytes(p + at, n - at, there, sizeof there);
                        snprintf(text, size, "!no piece begins at byte %llu of %llu, but %s",
                                 (unsigned long long)at, (unsigned long long)n, there);
                        return;
                }
                for (; off < first.len; off += sizeof first) {
                        struct cell c = cell_at(first.id, first.place, first.len, off);
                        if (!memcmp(p + at + off, &c, cut(first.len - off)))
                                continue;
                        name_bytes(p + at + off, n - at - off, there, sizeof there);
                        snprintf(text, size,
                                 "!torn: in a piece of call %u, at byte %llu of %llu: %s", first.id,
                                 (unsigned long long)off, (unsigned long long)first.len, there);
                        return;
                }
                put += (size_t)snprintf(text + put, size - put, "%s%u", piece ? "," : "", first.id);
                if (put >= size)
                        put = size - 1;
                at += first.len;
        }
        if (!n)
                snprintf(text, size, "!it has no bytes");
}

void pieces_find(const unsigned char *p, unsigned piece, uint64_t *at, uint64_t *len)
{
        struct cell first;

        for (*at = 0;; *at += *len) {
                memcpy(&first, p + *at, sizeof first);
                *len = first.len;
                if (!piece--)
                        return;
        }
}
