/* SPDX-License-Identifier: Apache-2.0 */
/* script_http.c: the HTTP door of libstore played from a script. */
#include "tests/fuzz/script_http.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "store/cred/cred_int.h"
#include "store/http/http.h"
#include "store/http/http_once.h"
#include "tests/fuzz/fuzz.h"
#include "base/banned.h"

int __wrap_http_open(const struct http_config *cfg, struct http **out, char *why, size_t nwhy);
void __wrap_http_stop(struct http *h);
void __wrap_http_close(struct http *h);
int __wrap_http_submit(struct http *h, struct http_req *rq);
int __wrap_http_once(struct http_once *x);
int __wrap_usleep(useconds_t us);
int __wrap_cred_exec(struct cred_ask *a, const char *what, char *const argv[], char *const env[],
                     unsigned timeout_ms, struct buf *out);

static const uint8_t *at;
static size_t left;
static struct http_req *first, **last = &first;

void script_begin(const uint8_t *p, size_t n)
{
        at = p;
        left = n;
}

/* The reply whose turn it is, cut off the script; false behind the last. */
static bool next_reply(const uint8_t **p, size_t *n)
{
        static const char between[] = "\n%%\n";
        enum { BETWEEN = sizeof between - 1 };

        if (!left)
                return false;
        const uint8_t *end = left >= BETWEEN ? memmem(at, left, between, BETWEEN) : NULL;
        *p = at;
        *n = end ? (size_t)(end - at) : left;
        size_t used = *n + (end ? BETWEEN : 0);
        at += used;
        left -= used;
        return true;
}

static void lower(char *s)
{
        for (; *s; s++)
                if (*s >= 'A' && *s <= 'Z')
                        *s = (char)(*s + 'a' - 'A');
}

/* Takes status and headers off a reply, as curl hands them over: names in lower case, values
 * without blanks around them. The errno in place of a reply, or 0. */
static int head(const uint8_t **p, size_t *n, int *status, struct buf *headers)
{
        CLEANUP(freep) char *line = fuzz_line(p, n);

        if (!strcmp(line, "reset"))
                return -ECONNRESET;
        if (!strcmp(line, "stall"))
                return -ETIMEDOUT;
        *status = (int)strtol(line, NULL, 10);
        if (*status < 100 || *status > 599)
                *status = 200;
        while (*n) {
                CLEANUP(freep) char *h = fuzz_line(p, n);
                char *value = strchr(h, ':');
                if (!*h)
                        break;
                if (!value || value == h)
                        continue;
                *value++ = 0;
                lower(h);
                value += strspn(value, " \t");
                if (buf_add(headers, h, strlen(h) + 1) ||
                    buf_add(headers, value, strlen(value) + 1))
                        abort();
        }
        return 0;
}

/* Hands a body over in two pieces, as a network would. */
static int body(struct http_req *rq, const uint8_t *p, size_t n)
{
        size_t half = n / 2;
        int err = half ? rq->data(rq, p, half) : 0;

        if (!err && n > half)
                err = rq->data(rq, p + half, n - half);
        rq->by_callback = err != 0;
        return err;
}

static int send_body(struct http_req *rq)
{
        char piece[4096];
        int err = 0;

        for (uint64_t off = 0; !err && rq->body_read && off < rq->body_len;) {
                size_t n = rq->body_len - off < sizeof piece ? (size_t)(rq->body_len - off)
                                                             : sizeof piece;
                err = rq->body_read(rq->body_arg, off, piece, n);
                off += n;
        }
        rq->by_callback = err != 0;
        return err;
}

static int play(struct http_req *rq)
{
        const uint8_t *p;
        size_t n;

        rq->status = 0;
        rq->by_callback = false;
        rq->resent = false;
        *rq->error = 0;
        buf_reset(&rq->reply);
        int err = rq->prepare ? rq->prepare(rq) : 0;
        rq->by_callback = err != 0;
        if (!err)
                err = send_body(rq);
        if (err)
                return err;
        if (!next_reply(&p, &n))
                return -ECANCELED;
        err = head(&p, &n, &rq->status, &rq->reply);
        if (err)
                rq->status = 0;
        else if (n && rq->method != HTTP_HEAD)
                err = body(rq, p, n);
        return err;
}

void script_run(void)
{
        while (first) {
                struct http_req *rq = first;
                first = rq->next;
                if (!first)
                        last = &first;
                rq->next = NULL;
                rq->done(rq, play(rq));
        }
}

bool script_is_over(void)
{
        return !left;
}

int __wrap_http_open(const struct http_config *cfg, struct http **out, char *why, size_t nwhy)
{
        static char door;

        (void)cfg, (void)why, (void)nwhy;
        *out = (struct http *)&door;
        return 0;
}

void __wrap_http_stop(struct http *h)
{
        (void)h;
}

void __wrap_http_close(struct http *h)
{
        (void)h;
}

int __wrap_http_submit(struct http *h, struct http_req *rq)
{
        (void)h;
        rq->next = NULL;
        *last = rq;
        last = &rq->next;
        return 0;
}

int __wrap_http_once(struct http_once *x)
{
        const uint8_t *p;
        size_t n;

        if (!next_reply(&p, &n))
                return -ECANCELED;
        x->status = 0;
        *x->error = 0;
        int err = head(&p, &n, &x->status, &x->reply_headers);
        if (err)
                return err;
        return n > HTTP_ONCE_MAX ? -EFBIG : buf_add(&x->reply, p, n);
}

/* What is waited for between tries. */
int __wrap_usleep(useconds_t us)
{
        (void)us;
        return 0;
}

/* A program that prints credentials: the body of the next reply is what it prints. */
int __wrap_cred_exec(struct cred_ask *a, const char *what, char *const argv[], char *const env[],
                     unsigned timeout_ms, struct buf *out)
{
        CLEANUP(buf_release) struct buf headers = BUF_INIT;
        const uint8_t *p;
        size_t n;
        int status;

        (void)env, (void)timeout_ms;
        if (!argv[0])
                abort();
        if (!next_reply(&p, &n) || head(&p, &n, &status, &headers))
                return cred_no(a, -EACCES, "%s fails", what);
        return buf_add(out, p, n);
}
