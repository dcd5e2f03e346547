/* SPDX-License-Identifier: Apache-2.0 */
/* fake.c: see fake.h. */
#include "tests/store/fake.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/banned.h"

enum { CONNECTIONS_MAX = 2048 };

struct fake {
        fake_fn *answer;
        void *arg;
        int listener;
        char url[64];
        pthread_t acceptor;
        pthread_mutex_t turn; /* one answer at a time */
        pthread_mutex_t mtx;  /* guards what follows */
        int fds[CONNECTIONS_MAX];
        pthread_t threads[CONNECTIONS_MAX];
        unsigned nconn, nopen, nreq;
};

struct conn {
        struct fake *fake;
        unsigned i;
        int fd;
};

static bool send_all(int fd, const void *p, size_t n)
{
        for (const char *at = p; n;) {
                ssize_t put = send(fd, at, n, MSG_NOSIGNAL);
                if (put <= 0)
                        return false;
                at += put;
                n -= (size_t)put;
        }
        return true;
}

/* Reads a head; what came behind it goes to rq->body. */
static bool read_head(struct fake_req *rq)
{
        char chunk[4096];
        const char *end;
        while (!(end = strstr(rq->head.p, "\r\n\r\n"))) {
                ssize_t n = recv(rq->fd, chunk, sizeof chunk, 0);
                if (n <= 0 || buf_add(&rq->head, chunk, (size_t)n))
                        return false;
        }
        size_t len = (size_t)(end + 4 - rq->head.p);
        buf_add(&rq->body, end + 4, rq->head.len - len);
        rq->head.p[rq->head.len = len] = 0;
        return true;
}

static bool parse_head(struct fake_req *rq)
{
        const char *sp = strchr(rq->head.p, ' '), *sp2 = sp ? strchr(sp + 1, ' ') : NULL;
        const char *length = strcasestr(rq->head.p, "\r\ncontent-length:");
        if (!sp2 || sp - rq->head.p >= (long)sizeof rq->method)
                return false;
        memcpy(rq->method, rq->head.p, (size_t)(sp - rq->head.p));
        rq->target = strndup(sp + 1, (size_t)(sp2 - sp - 1));
        rq->content_length = length ? strtoul(length + 17, NULL, 10) : 0;
        return true;
}

static bool serve_one(struct conn *c)
{
        struct fake_req rq = {.fake = c->fake, .fd = c->fd, .head = BUF_INIT, .body = BUF_INIT};
        struct fake *f = c->fake;

        bool good = read_head(&rq) && parse_head(&rq);
        if (good) {
                pthread_mutex_lock(&f->turn);
                pthread_mutex_lock(&f->mtx);
                rq.n = ++f->nreq;
                pthread_mutex_unlock(&f->mtx);
                f->answer(f->arg, &rq);
                if (rq.fake)
                        pthread_mutex_unlock(&f->turn);
        }
        free(rq.target);
        buf_release(&rq.head);
        buf_release(&rq.body);
        return good && !rq.close;
}

static void *serve(void *arg)
{
        struct conn *c = arg;
        while (serve_one(c))
                ;
        pthread_mutex_lock(&c->fake->mtx);
        close(c->fd);
        c->fake->fds[c->i] = -1;
        c->fake->nopen--;
        pthread_mutex_unlock(&c->fake->mtx);
        free(c);
        return NULL;
}

static void *accept_all(void *arg)
{
        struct fake *f = arg;
        for (;;) {
                int fd = accept(f->listener, NULL, NULL);
                struct conn *c = fd < 0 ? NULL : malloc(sizeof *c);
                if (!c)
                        return NULL;
                pthread_mutex_lock(&f->mtx);
                if (f->nconn == CONNECTIONS_MAX)
                        abort();
                *c = (struct conn){f, f->nconn, fd};
                f->fds[c->i] = fd;
                if (pthread_create(&f->threads[c->i], NULL, serve, c))
                        abort();
                f->nconn++;
                f->nopen++;
                pthread_mutex_unlock(&f->mtx);
        }
}

struct fake *fake_start(fake_fn *answer, void *arg)
{
        struct fake *f = calloc(1, sizeof *f);
        struct sockaddr_in sa = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        socklen_t n = sizeof sa;

        if (!f)
                abort();
        f->answer = answer;
        f->arg = arg;
        pthread_mutex_init(&f->turn, NULL);
        pthread_mutex_init(&f->mtx, NULL);
        f->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (f->listener < 0 || bind(f->listener, (struct sockaddr *)&sa, sizeof sa) ||
            listen(f->listener, 64) || getsockname(f->listener, (struct sockaddr *)&sa, &n) ||
            pthread_create(&f->acceptor, NULL, accept_all, f))
                abort();
        snprintf(f->url, sizeof f->url, "http://127.0.0.1:%d", ntohs(sa.sin_port));
        return f;
}

void fake_stop(struct fake *f)
{
        shutdown(f->listener, SHUT_RDWR);
        pthread_join(f->acceptor, NULL);
        close(f->listener);
        pthread_mutex_lock(&f->mtx);
        for (unsigned i = 0; i < f->nconn; i++)
                if (f->fds[i] >= 0)
                        shutdown(f->fds[i], SHUT_RDWR);
        pthread_mutex_unlock(&f->mtx);
        for (unsigned i = 0; i < f->nconn; i++)
                pthread_join(f->threads[i], NULL);
        pthread_mutex_destroy(&f->turn);
        pthread_mutex_destroy(&f->mtx);
        free(f);
}

const char *fake_url(const struct fake *f)
{
        return f->url;
}

static unsigned count(const struct fake *f, const unsigned *what)
{
        struct fake *w = (struct fake *)(uintptr_t)f;
        pthread_mutex_lock(&w->mtx);
        unsigned n = *what;
        pthread_mutex_unlock(&w->mtx);
        return n;
}

unsigned fake_requests(const struct fake *f)
{
        return count(f, &f->nreq);
}

unsigned fake_connections(const struct fake *f)
{
        return count(f, &f->nconn);
}

unsigned fake_open(const struct fake *f)
{
        return count(f, &f->nopen);
}

void fake_unlock(struct fake_req *rq)
{
        if (rq->fake)
                pthread_mutex_unlock(&rq->fake->turn);
        rq->fake = NULL;
}

bool fake_has(const struct fake_req *rq, const char *name, const char *value)
{
        char line[512];
        snprintf(line, sizeof line, "\r\n%s: %s", name, value);
        return strcasestr(rq->head.p, line) != NULL;
}

bool fake_body(struct fake_req *rq)
{
        char chunk[65536];
        rq->body_read = true;
        while (rq->body.len < rq->content_length) {
                ssize_t n = recv(rq->fd, chunk, sizeof chunk, 0);
                if (n <= 0 || buf_add(&rq->body, chunk, (size_t)n))
                        return false;
        }
        return true;
}

void fake_reply_part(struct fake_req *rq, int status, const char *headers, size_t total,
                     const void *body, size_t n)
{
        CLEANUP(buf_release) struct buf out = BUF_INIT;
        if (!rq->body_read && !fake_body(rq)) {
                rq->close = true;
                return;
        }
        buf_addf(&out, "HTTP/1.1 %d Said So\r\nContent-Length: %zu\r\n%s\r\n", status, total,
                 headers);
        if (strcmp(rq->method, "HEAD"))
                buf_add(&out, body, n);
        if (!send_all(rq->fd, out.p, out.len) || n < total)
                rq->close = strcmp(rq->method, "HEAD") != 0;
}

void fake_reply(struct fake_req *rq, int status, const char *headers, const void *body, size_t n)
{
        fake_reply_part(rq, status, headers, n, body, n);
}

void fake_error(struct fake_req *rq, int status, const char *code)
{
        char body[512];
        int n = snprintf(body, sizeof body,
                         "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>%s</Code>"
                         "<Message>as told</Message><RequestId>rid-%u</RequestId></Error>",
                         code, rq->n);
        fake_reply(rq, status, "Content-Type: application/xml\r\n", body, (size_t)n);
}

void fake_refuse(struct fake_req *rq, int status)
{
        fake_error(rq, status,
                   status == 404   ? "NoSuchKey"
                   : status == 412 ? "PreconditionFailed"
                   : status == 501 ? "NotImplemented"
                                   : "InvalidArgument");
}

int fake_condition(const struct fake_req *rq, const char *etag)
{
        bool match = fake_has(rq, "If-Match", ""), absent = fake_has(rq, "If-None-Match", "*");

        if (match && !etag)
                return 404;
        return (absent && etag) || (match && !fake_has(rq, "If-Match", etag)) ? 412 : 0;
}

bool fake_is_conditional(const struct fake_req *rq)
{
        return fake_has(rq, "If-Match", "") || fake_has(rq, "If-None-Match", "*");
}

bool fake_probed(struct fake_req *rq)
{
        static const char never[] = "\"no version has this ETag\"";

        if (!fake_has(rq, "If-Match", never) && !fake_has(rq, "x-amz-copy-source-if-match", never))
                return false;
        fake_error(rq, 412, "PreconditionFailed");
        return true;
}

void fake_reset(struct fake_req *rq)
{
        struct linger now = {.l_onoff = 1, .l_linger = 0};
        setsockopt(rq->fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
        rq->close = true;
}

void fake_hang(struct fake_req *rq)
{
        char chunk[65536];
        fake_unlock(rq);
        while (recv(rq->fd, chunk, sizeof chunk, 0) > 0)
                ;
        rq->close = true;
}

struct store *fake_store(const struct fake *f, const struct store_config *base)
{
        struct store_config cfg = base ? *base : (struct store_config){.url = NULL};
        struct store *s;
        char why[512];

        setenv("AWS_ACCESS_KEY_ID", "fake", 1);
        setenv("AWS_SECRET_ACCESS_KEY", "fake", 1);
        setenv("AWS_CONFIG_FILE", "/dev/null", 1);
        setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null", 1);
        unsetenv("AWS_PROFILE");
        unsetenv("AWS_REGION");
        if (!cfg.url)
                cfg.url = "s3://bucket";
        if (!cfg.endpoint)
                cfg.endpoint = fake_url(f);
        if (store_open(&cfg, &s, why, sizeof why)) {
                fprintf(stderr, "%s\n", why);
                abort();
        }
        return s;
}
