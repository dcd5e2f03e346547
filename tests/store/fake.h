/* SPDX-License-Identifier: Apache-2.0 */
/* fake.h: a server whose every answer a test writes, for what no real one does on demand: replies
 * that break, lie, come late or get lost. It looks at no signature.
 *
 *      static void answer(void *arg, struct fake_req *rq) { fake_reply(rq, 200, "", "hi", 2); }
 *      struct fake *f = fake_start(answer, &state);
 *      ... fake_url(f) ... fake_stop(f);
 */
#ifndef CKPTFS_TESTS_STORE_FAKE_H
#define CKPTFS_TESTS_STORE_FAKE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "store.h"

struct fake;
struct fake_req {
        struct fake *fake;
        int fd;
        unsigned n; /* 1 for the first request the server got */
        char method[8];
        char *target;    /* path and query as they came */
        struct buf head; /* the whole head */
        struct buf body; /* after fake_body() */
        size_t content_length;
        bool body_read, close;
};
typedef void fake_fn(void *arg, struct fake_req *rq);

/* `answer` runs on a thread per connection, one at a time over all of them unless it calls
 * fake_unlock(). Aborts the test when there is no socket. */
struct fake *fake_start(fake_fn *answer, void *arg);
void fake_stop(struct fake *f); /* waits for the answers to end */
const char *fake_url(const struct fake *f);
unsigned fake_requests(const struct fake *f);
unsigned fake_connections(const struct fake *f); /* that there were */
unsigned fake_open(const struct fake *f);        /* that there are */

/* Lets other requests be answered while this one goes on. */
void fake_unlock(struct fake_req *rq);
/* Whether the head has a line that starts with `name: value`, in any case of the name. */
bool fake_has(const struct fake_req *rq, const char *name, const char *value);
/* Whether it has a condition on the object that it is to write, */
bool fake_is_conditional(const struct fake_req *rq);
/* and the status of its refusal when that has this ETag (NULL: is not there), or 0. */
int fake_condition(const struct fake_req *rq, const char *etag);
/* Whether it is one on the condition of a version that never was, by which a store finds out
 * whether the server honors conditions: then it does. */
bool fake_probed(struct fake_req *rq);
/* Reads the request's body; false when the client went away. */
bool fake_body(struct fake_req *rq);
/* A whole reply; `headers` are lines that end in \r\n. Reads an unread body first. */
void fake_reply(struct fake_req *rq, int status, const char *headers, const void *body, size_t n);
/* A reply that announces `total` bytes and sends n of them, then closes. */
void fake_reply_part(struct fake_req *rq, int status, const char *headers, size_t total,
                     const void *body, size_t n);
void fake_error(struct fake_req *rq, int status, const char *code);
/* The same with the code that S3 has for 404, 412 and 501, or that of a bad request. */
void fake_refuse(struct fake_req *rq, int status);
/* Breaks the connection, with a reset. */
void fake_reset(struct fake_req *rq);
/* Says nothing until the client goes away. */
void fake_hang(struct fake_req *rq);

/* Opens a store "s3://bucket" at the server, with keys that are no secret. */
struct store *fake_store(const struct fake *f, const struct store_config *base);

#endif
