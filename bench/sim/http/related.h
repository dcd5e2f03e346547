/* SPDX-License-Identifier: Apache-2.0 */
/* related.h: bodies of two parts, the description of an object and its data
 * (Content-Type: multipart/related; RFC 2387).
 *
 *      --B CRLF headers CRLF CRLF DESCRIPTION CRLF --B CRLF headers CRLF CRLF DATA CRLF --B--
 * [CRLF]
 *
 * Where the length of the whole is known, so is the end of the data, but for the last line break.
 * Where it is not, the last bytes so far are held back: they may be data or the end. Some clients
 * break lines by LF alone; the first one tells. Pure. */
#ifndef CKPTFS_SIM_RELATED_H
#define CKPTFS_SIM_RELATED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum { RELATED_BOUNDARY_MAX = 80, RELATED_HEAD_MAX = 64 << 10 };
#define RELATED_OPEN UINT64_MAX

struct related {
        char boundary[RELATED_BOUNDARY_MAX]; /* with "--" before it */
        const char *eol;                     /* NULL: not yet known */
        struct buf head;                     /* all before the data */
        size_t text_at, text_len;            /* the description in `head`; len 0: not yet seen */
        size_t type_at, type_len;            /* the data's own type; len 0: none */
        uint64_t left;                       /* bytes of data that are still to come for certain */
        uint64_t rest;                       /* bytes of the body that are still to come */
        bool open;                           /* how many is not known */
        char tail[RELATED_BOUNDARY_MAX + 8];
        size_t ntail;
};

/* `head` is an empty buf; body_len RELATED_OPEN: not known. 0, or -EINVAL when the type names no
 * boundary. */
int related_begin(struct related *r, const char *content_type, uint64_t body_len);
/* Takes the next bytes as they came; data goes to fn, in place. 0, what fn returned, or -EBADMSG.
 */
typedef int related_fn(void *arg, char *p, size_t n);
int related_feed(struct related *r, char *p, size_t n, related_fn *fn, void *arg);
/* Says that an open body is whole. The same. */
int related_end(struct related *r, related_fn *fn, void *arg);
/* How many of the next n bytes are data for certain, and taking them unseen. */
size_t related_left(const struct related *r, size_t n);
void related_skip(struct related *r, size_t n);
/* Whether the body ended as it should. */
bool related_is_whole(const struct related *r);

#endif
