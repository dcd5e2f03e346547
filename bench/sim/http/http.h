/* SPDX-License-Identifier: Apache-2.0 */
/* http.h: heads of HTTP/1.1 requests (RFC 9110, 9112). */
#ifndef CKPTFS_SIM_HTTP_H
#define CKPTFS_SIM_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HTTP_HEAD_MAX = 32 << 10, HTTP_HEADERS_MAX = 600 };

struct http_header {
        const char *name, *value; /* as they came, without the blanks around the value */
};

/* Strings point into the head that was parsed. */
struct http_request {
        const char *method;
        const char *path;  /* still escaped */
        const char *query; /* still escaped, "" when there is none */
        unsigned nheaders;
        struct http_header headers[HTTP_HEADERS_MAX];
        uint64_t body_len; /* when `chunked`, 0 until whoever reads the body knows it */
        bool chunked;      /* the body comes in chunks, and says itself where it ends */
        bool keep_alive;
        bool expect_continue;
};

/* Parses the head of a request at buf[0..len) in place; bytes behind the head stay as they are.
 * Returns the length of the head, 0 when it is not whole yet, or minus the HTTP status that refuses
 * it: 400, 411, 414, 431, 501 (a transfer coding other than chunked), 505. Pure. */
int http_parse(char *buf, size_t len, struct http_request *rq);

/* The value of a header (any case), NULL when it is absent. */
const char *http_header(const struct http_request *rq, const char *name);

/* One range of "bytes=a-b", "a-" or "-n" against an object of `size` bytes. Returns 1 and the range
 * cut to the object, 0 when there is nothing to obey (no header, not in bytes, several ranges, bad
 * syntax: RFC 9110 14.2 says to ignore it), or -416. */
int http_range(const char *value, uint64_t size, uint64_t *off, uint64_t *len);

/* "Fri, 24 May 2013 00:00:00 GMT"; `out` holds 32 bytes. */
void http_date(int64_t unix_s, char out[32]);

/* "2013-05-24T00:00:00.000Z" */
enum { HTTP_TIME_LEN = 25 };
void http_time(int64_t ns, char out[HTTP_TIME_LEN]);
/* Writes `n` in at least `width` digits, up to `end`; returns where they begin. Lists hold
 * thousands of numbers; printf() would take most of their time. */
char *http_digits(char *end, uint64_t n, int width);

const char *http_reason(int status);

#endif
