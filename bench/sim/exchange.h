/* SPDX-License-Identifier: Apache-2.0 */
/* exchange.h: one request and its reply, between a connection, which moves bytes and keeps time,
 * and a protocol, which knows what they mean.
 *
 * The connection fills `rq` and calls begin(). The protocol says what the request is (for the log
 * and the faults) and where its body goes, or refuses it by setting a status; then the body is read
 * and dropped. When the body is there, finish() does the work and sets the reply. All runs on the
 * connection's thread. */
#ifndef CKPTFS_SIM_EXCHANGE_H
#define CKPTFS_SIM_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/uri.h"
#include "bench/sim/chunked.h"
#include "bench/sim/data.h"
#include "bench/sim/fault.h"
#include "bench/sim/http.h"

struct object;
struct server;
struct vault;

enum { EXCHANGE_QUERY_MAX = 32, EXCHANGE_TEXT_MAX = 4 << 20 };

enum body_to {
        BODY_DROP,   /* read and forgotten */
        BODY_TEXT,   /* to `text`, at most EXCHANGE_TEXT_MAX bytes */
        BODY_INTAKE, /* to `intake` */
};

struct exchange {
        struct http_request rq;
        char id[17]; /* names the request, in the reply and the log */
        uint64_t begun_ns;
        uint64_t bytes_in, bytes_out; /* of the bodies */

        /* set by begin() */
        const char *op; /* "PutObject", never NULL after begin() */
        char *path;     /* unescaped copy of the request's; bucket and key point into it */
        char *query_text;
        struct uri_pair query[EXCHANGE_QUERY_MAX];
        size_t nquery;
        const char *bucket, *key; /* "" for none */
        const char *upload;       /* upload id, "" for none */
        unsigned part;            /* 0: none */
        enum body_to to;
        bool chunked; /* the body comes in chunks */
        struct chunked chunks;
        struct buf text;
        struct intake intake;
        struct fault fault;
        const void *priv; /* the protocol's */

        /* the reply */
        int status;         /* 0: not known yet */
        struct buf headers; /* lines "Name: value\r\n" */
        struct buf body;
        struct object *object; /* or bytes [off, off + len) of this, referenced */
        uint64_t off, len;
        bool head_only; /* the length is said, the bytes are not sent */
        bool close;     /* the connection ends after the reply */
};

struct service; /* what a protocol works on */

struct protocol {
        const char *name;
        void (*begin)(struct service *s, struct exchange *x);
        void (*finish)(struct service *s, struct exchange *x);
        /* The reply to a request that is no HTTP, or that a fault answers: an error of that status,
         * code and message (NULL: the usual ones). */
        void (*refuse)(struct exchange *x, int status, const char *code, const char *message);
        /* An error inside a reply of status 200. */
        void (*error_in_200)(struct exchange *x, const char *code, const char *message);
};

struct service {
        struct vault *vault;
        struct faults *faults;               /* NULL: none */
        const char *region;                  /* NULL: any */
        const char *access_key, *secret_key; /* NULL: anybody */
};

extern const struct protocol protocol_s3;

/* The decoded value of a query parameter, NULL when it is absent. */
static inline const char *exchange_query(const struct exchange *x, const char *name)
{
        for (size_t i = 0; i < x->nquery; i++)
                if (!__builtin_strcmp(x->query[i].name, name))
                        return x->query[i].value;
        return NULL;
}

#endif
