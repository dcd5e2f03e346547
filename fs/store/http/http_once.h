/* SPDX-License-Identifier: Apache-2.0 */
/* http_once.h: one HTTP exchange that is waited for, with a small body both ways: what identity
 * servers want. The store's own exchanges are http.h. */
#ifndef CKPTFS_STORE_HTTP_ONCE_H
#define CKPTFS_STORE_HTTP_ONCE_H

#include <stdbool.h>

#include "base/buf.h"

enum { HTTP_ONCE_MAX = 64 << 10 /* bytes of a reply's body, and of its headers */ };

struct http_once {
        const char *method;
        const char *url;
        const struct buf *headers; /* "Name: value" with its NUL, one behind the other */
        const struct buf *body;
        unsigned timeout_ms; /* of the whole exchange */
        const char *ca_bundle;
        bool direct;     /* never by a proxy */
        const int *stop; /* atomic: not 0 ends the exchange within a second */

        int status;
        struct buf reply, reply_headers; /* the caller's; as http_req.reply */
        char error[256];                 /* what the transport says, "" when nothing */
};

/* Blocks. 0 when a whole reply came, whatever its status; -ETIMEDOUT, -ECONNREFUSED, -EHOSTUNREACH,
 * -EPROTO (TLS), -EFBIG, -ECANCELED, -ECONNRESET, -ENOMEM. Redirects are not followed. The memory
 * of `reply` is allocated once, so that a caller who wipes it wipes all. */
int http_once(struct http_once *x);

/* The value of a header of the reply (its name in lower case), or NULL. */
const char *http_once_header(const struct buf *reply_headers, const char *name);
/* Seconds for which the reply asks to be left alone (Retry-After, a number or a date); 0: it does
 * not, or none that can be read. */
unsigned http_once_retry_after(const struct buf *reply_headers);

#endif
