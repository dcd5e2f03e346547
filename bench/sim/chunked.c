/* SPDX-License-Identifier: Apache-2.0 */
/* chunked.c: see chunked.h. */
#include "bench/sim/chunked.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/banned.h"

static int end_of_size(struct chunked *c)
{
        char *end;

        if (!strspn(c->line, "0123456789abcdefABCDEF"))
                return -EBADMSG;
        errno = 0;
        c->left = strtoull(c->line, &end, 16);
        if (errno || (*end && *end != ';'))
                return -EBADMSG;
        c->state = c->left ? CHUNK_DATA : CHUNK_TRAILER;
        return 0;
}

static int end_of_trailer(struct chunked *c)
{
        static const char name[] = "x-amz-checksum-crc32c:";

        if (!c->line[0]) {
                c->state = CHUNK_DONE;
        } else if (!strncasecmp(c->line, name, sizeof name - 1)) {
                const char *v = c->line + sizeof name - 1;
                snprintf(c->crc32c, sizeof c->crc32c, "%s", v + strspn(v, " "));
        }
        return 0;
}

static int end_of_line(struct chunked *c)
{
        if (c->nline && c->line[c->nline - 1] == '\r')
                c->nline--;
        c->line[c->nline] = 0;
        c->nline = 0;
        switch (c->state) {
        case CHUNK_SIZE:
                return end_of_size(c);
        case CHUNK_END:
                c->state = CHUNK_SIZE;
                return c->line[0] ? -EBADMSG : 0;
        case CHUNK_TRAILER:
                return end_of_trailer(c);
        default:
                return -EBADMSG;
        }
}

void chunked_skip(struct chunked *c, size_t n)
{
        c->len += n;
        c->left -= n;
        if (!c->left)
                c->state = CHUNK_END;
}

int chunked_feed(struct chunked *c, char *p, size_t n, chunked_fn *fn, void *arg)
{
        int err = 0;

        while (n && !err) {
                if (c->state == CHUNK_DATA) {
                        size_t k = n < c->left ? n : (size_t)c->left;
                        err = fn(arg, p, k);
                        chunked_skip(c, k);
                        p += k;
                        n -= k;
                        continue;
                }
                if (*p == '\n')
                        err = end_of_line(c);
                else if (c->state == CHUNK_DONE || c->nline == sizeof c->line - 1)
                        err = -EBADMSG;
                else
                        c->line[c->nline++] = *p;
                p++;
                n--;
        }
        return err;
}
