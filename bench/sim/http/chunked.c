/* SPDX-License-Identifier: Apache-2.0 */
/* chunked.c: see chunked.h. */
#include "bench/sim/http/chunked.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/banned.h"

static int end_of_size(struct chunked *c)
{
        size_t digits = strspn(c->line, "0123456789abcdefABCDEF");
        const char *behind = c->line + digits + strspn(c->line + digits, " \t");

        if (!digits || (*behind && *behind != ';'))
                return -EBADMSG;
        errno = 0;
        c->left = strtoull(c->line, NULL, 16);
        if (errno || c->left > INT64_MAX)
                return -EBADMSG;
        c->state = c->left ? CHUNK_DATA : CHUNK_TRAILER;
        return 0;
}

static int end_of_trailer(struct chunked *c)
{
        static const char name[] = "x-amz-checksum-crc32c:";

        if (!c->line[0]) {
                c->state = CHUNK_DONE;
        } else if (++c->ntrailers > CHUNK_TRAILERS_MAX) {
                return -EBADMSG;
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

ssize_t chunked_frame(struct chunked *c, const char *p, size_t n)
{
        size_t at = 0;
        int err = 0;

        while (at < n && !err && c->state != CHUNK_DATA && c->state != CHUNK_DONE) {
                if (p[at] == '\n')
                        err = end_of_line(c);
                else if (!p[at] || c->nline == sizeof c->line - 1)
                        err = -EBADMSG;
                else
                        c->line[c->nline++] = p[at];
                at++;
        }
        return err ? err : (ssize_t)at;
}

int chunked_feed(struct chunked *c, char *p, size_t n, chunked_fn *fn, void *arg)
{
        while (n) {
                size_t k = n < c->left ? n : (size_t)c->left;
                if (c->state == CHUNK_DATA) {
                        int err = fn(arg, p, k);
                        chunked_skip(c, k);
                        if (err)
                                return err;
                } else {
                        ssize_t took = chunked_frame(c, p, n);
                        if (took <= 0) /* 0: behind the end */
                                return took ? (int)took : -EBADMSG;
                        k = (size_t)took;
                }
                p += k;
                n -= k;
        }
        return 0;
}
