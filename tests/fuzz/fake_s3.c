/* SPDX-License-Identifier: Apache-2.0 */
/* fake_s3.c: a small S3 behind the HTTP door of libstore. */
#include "tests/fuzz/fake_s3.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "store/http/http.h"
#include "base/banned.h"

int __wrap_http_open(const struct http_config *cfg, struct http **out, char *why, size_t nwhy);
void __wrap_http_stop(struct http *h);
void __wrap_http_close(struct http *h);
int __wrap_http_submit(struct http *h, struct http_req *rq);

/* --- what is stored: keys with their query taken off, and uploads under the id's number --- */

enum { OBJECTS_MAX = 64, KEY_MAX = 1200, UPLOADS_MAX = 16, PIECE = 1 << 16 };

static struct {
        char key[KEY_MAX]; /* "" free */
        uint64_t size;
        unsigned etag;
} objects[OBJECTS_MAX];
static uint64_t uploads[UPLOADS_MAX]; /* bytes of the parts */
static unsigned last_etag, last_upload;

static int find(const char *key)
{
        for (int i = 0; i < OBJECTS_MAX; i++)
                if (*objects[i].key && !strcmp(objects[i].key, key))
                        return i;
        return -1;
}

static unsigned store_object(const char *key, uint64_t size)
{
        int i = find(key);

        for (int k = 0; i < 0 && k < OBJECTS_MAX; k++)
                if (!*objects[k].key)
                        i = k;
        if (i < 0)
                i = 0;
        snprintf(objects[i].key, KEY_MAX, "%s", key);
        objects[i].size = size;
        return objects[i].etag = ++last_etag;
}

/* --- requests and replies --- */

struct reply {
        int status;
        uint64_t zeros; /* of the body, in place of `body` */
        struct buf body;
};

static void add_header(struct http_req *rq, const char *name, const char *value)
{
        if (buf_add(&rq->reply, name, strlen(name) + 1) ||
            buf_add(&rq->reply, value, strlen(value) + 1))
                abort();
}

static void add_etag(struct http_req *rq, unsigned etag)
{
        char text[16];

        snprintf(text, sizeof text, "\"%u\"", etag);
        add_header(rq, "etag", text);
}

static const char *sent_header(const struct http_req *rq, const char *name)
{
        size_t n = strlen(name);

        for (size_t at = 0; at < rq->headers.len; at += strlen(rq->headers.p + at) + 1)
                if (!strncasecmp(rq->headers.p + at, name, n) && rq->headers.p[at + n] == ':')
                        return rq->headers.p + at + n + 1 + strspn(rq->headers.p + at + n + 1, " ");
        return NULL;
}

/* A condition of the request that does not hold. */
static bool refused(const struct http_req *rq, int i)
{
        const char *match = sent_header(rq, "If-Match"), *none = sent_header(rq, "If-None-Match");
        char etag[16] = "";

        if (i >= 0)
                snprintf(etag, sizeof etag, "\"%u\"", objects[i].etag);
        return (match && strcmp(match, etag) != 0) || (none && i >= 0);
}

static void list(const char *prefix, struct reply *r)
{
        buf_adds(&r->body, "<ListBucketResult><IsTruncated>false</IsTruncated>");
        for (int i = 0; i < OBJECTS_MAX; i++) {
                const char *key = objects[i].key;
                if (!*key || strncmp(key, prefix, strlen(prefix)) != 0)
                        continue;
                const char *slash = strchr(key + strlen(prefix), '/');
                if (slash)
                        buf_addf(&r->body, "<CommonPrefixes><Prefix>%.*s</Prefix></CommonPrefixes>",
                                 (int)(slash + 1 - key), key);
                else
                        buf_addf(&r->body,
                                 "<Contents><Key>%s</Key><Size>%llu</Size><ETag>\"%u\"</ETag>"
                                 "<LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents>",
                                 key, (unsigned long long)objects[i].size, objects[i].etag);
        }
        buf_adds(&r->body, "</ListBucketResult>");
}

static void get(struct http_req *rq, int i, struct reply *r)
{
        const char *range = sent_header(rq, "Range");
        unsigned long long from = 0, to = 0, size;
        char text[80];

        if (i < 0) {
                r->status = 404;
                return;
        }
        size = objects[i].size;
        r->zeros = rq->method == HTTP_HEAD ? 0 : size;
        if (range && sscanf(range, "bytes=%llu-%llu", &from, &to) == 2) {
                if (from >= size) {
                        r->status = 416;
                        r->zeros = 0;
                        return;
                }
                to = to < size ? to : size - 1;
                snprintf(text, sizeof text, "bytes %llu-%llu/%llu", from, to, size);
                add_header(rq, "content-range", text);
                r->status = 206;
                r->zeros = to - from + 1;
        }
        snprintf(text, sizeof text, "%llu", range ? r->zeros : size);
        add_header(rq, "content-length", text);
        add_header(rq, "last-modified", "Thu, 01 Jan 2026 00:00:00 GMT");
        add_etag(rq, objects[i].etag);
}

static void put(struct http_req *rq, const char *key, int i, struct reply *r)
{
        const char *source = sent_header(rq, "x-amz-copy-source");
        unsigned etag;

        if (refused(rq, i)) {
                r->status = 412;
                return;
        }
        if (source) {
                const char *at = strstr(source, "bucket/");
                int from = at ? find(at + strlen("bucket/")) : -1;
                if (from < 0) {
                        r->status = 404;
                        return;
                }
                etag = store_object(key, objects[from].size);
                buf_addf(&r->body, "<CopyObjectResult><ETag>\"%u\"</ETag></CopyObjectResult>",
                         etag);
        } else {
                etag = store_object(key, rq->body_len);
        }
        add_etag(rq, etag);
}

/* An upload's requests: begun, parts, copied parts, completed, aborted. */
static void upload(struct http_req *rq, const char *key, const char *query, struct reply *r)
{
        const char *at = strstr(query, "uploadId=");
        unsigned id = at ? (unsigned)strtoul(at + strlen("uploadId="), NULL, 10) % UPLOADS_MAX : 0;
        unsigned long long from, to;

        if (rq->method == HTTP_POST && !at) {
                uploads[++last_upload % UPLOADS_MAX] = 0;
                buf_addf(&r->body,
                         "<InitiateMultipartUploadResult><UploadId>%u</UploadId>"
                         "</InitiateMultipartUploadResult>",
                         last_upload);
        } else if (rq->method == HTTP_POST) {
                unsigned etag = store_object(key, uploads[id]);
                buf_addf(&r->body,
                         "<CompleteMultipartUploadResult><ETag>\"%u\"</ETag>"
                         "</CompleteMultipartUploadResult>",
                         etag);
        } else if (rq->method == HTTP_PUT && sent_header(rq, "x-amz-copy-source")) {
                const char *range = sent_header(rq, "x-amz-copy-source-range");
                if (range && sscanf(range, "bytes=%llu-%llu", &from, &to) == 2 && from <= to)
                        uploads[id] += to - from + 1;
                buf_addf(&r->body, "<CopyPartResult><ETag>\"%u\"</ETag></CopyPartResult>",
                         ++last_etag);
        } else if (rq->method == HTTP_PUT) {
                uploads[id] += rq->body_len;
                add_etag(rq, ++last_etag);
        } else {
                r->status = 204;
        }
}

static void answer(struct http_req *rq, struct reply *r)
{
        const char *path = strstr(rq->url.p, "/bucket");
        const char *key = path ? path + strlen("/bucket") : "";
        const char *query = strchr(key, '?') ? strchr(key, '?') + 1 : "";
        char name[KEY_MAX], *at;

        key += *key == '/';
        snprintf(name, sizeof name, "%.*s", (int)strcspn(key, "?"), key);
        int i = find(name);
        if (strstr(query, "upload")) {
                upload(rq, name, query, r);
        } else if (strstr(query, "list-type")) {
                at = strstr(query, "prefix=");
                snprintf(name, sizeof name, "%.*s", at ? (int)strcspn(at + 7, "&") : 0,
                         at ? at + 7 : "");
                while ((at = strstr(name, "%2F")) != NULL) {
                        *at = '/';
                        memmove(at + 1, at + 3, strlen(at + 3) + 1);
                }
                list(name, r);
        } else if (rq->method == HTTP_GET || rq->method == HTTP_HEAD) {
                get(rq, i, r);
        } else if (rq->method == HTTP_PUT) {
                put(rq, name, i, r);
        } else if (rq->method == HTTP_POST) {
                buf_adds(&r->body, "<DeleteResult></DeleteResult>");
        } else if (refused(rq, i)) {
                r->status = 412;
        } else {
                if (i >= 0)
                        *objects[i].key = 0;
                r->status = 204;
        }
}

/* --- the door --- */

static struct door {
        pthread_mutex_t mtx;
        pthread_cond_t cond;
        pthread_t thread;
        struct http_req *first, **last;
        bool stopped, closing;
        unsigned refuse;
        int refuse_with;
} door = {.mtx = PTHREAD_MUTEX_INITIALIZER, .cond = PTHREAD_COND_INITIALIZER};

void fake_s3_reset(void)
{
        memset(objects, 0, sizeof objects);
        door.refuse = 0;
}

void fake_s3_refuse(unsigned n, int status)
{
        pthread_mutex_lock(&door.mtx);
        door.refuse = n;
        door.refuse_with = status;
        pthread_mutex_unlock(&door.mtx);
}

/* Whether this request is one of those refused; the status is for it then. */
static bool is_refused(int *status)
{
        pthread_mutex_lock(&door.mtx);
        bool is = door.refuse > 0;
        door.refuse -= is;
        *status = door.refuse_with;
        pthread_mutex_unlock(&door.mtx);
        return is;
}

static int take_body(struct http_req *rq)
{
        static char piece[PIECE];
        int err = 0;

        for (uint64_t off = 0; !err && rq->body_read && off < rq->body_len;) {
                size_t n = rq->body_len - off < PIECE ? (size_t)(rq->body_len - off) : PIECE;
                err = rq->body_read(rq->body_arg, off, piece, n);
                off += n;
        }
        return err;
}

static int give_body(struct http_req *rq, const struct reply *r)
{
        static const char zeros[PIECE];
        int err = r->body.len ? rq->data(rq, r->body.p, r->body.len) : 0;

        for (uint64_t left = r->zeros; !err && left;) {
                size_t n = left < PIECE ? (size_t)left : PIECE;
                err = rq->data(rq, zeros, n);
                left -= n;
        }
        return err;
}

static int exchange(struct http_req *rq)
{
        CLEANUP(buf_release) struct buf none = BUF_INIT;
        struct reply r = {.status = 200, .body = none};
        int status, err;

        rq->status = 0;
        rq->by_callback = rq->resent = false;
        *rq->error = 0;
        buf_reset(&rq->reply);
        err = rq->prepare ? rq->prepare(rq) : 0;
        if (!err)
                err = take_body(rq);
        rq->by_callback = err != 0;
        if (err)
                return err;
        if (!is_refused(&status)) {
                answer(rq, &r);
        } else if (!status) {
                answer(rq, &r);
                err = -ECONNRESET;
        } else {
                r.status = status;
                buf_adds(&r.body, "<Error><Code>Refused</Code></Error>");
        }
        if (!err && rq->method != HTTP_HEAD) {
                rq->status = r.status;
                err = give_body(rq, &r);
                rq->by_callback = err != 0;
        }
        rq->status = err == -ECONNRESET ? 0 : r.status;
        buf_release(&r.body);
        return err;
}

static struct http_req *next_request(bool *stopped)
{
        pthread_mutex_lock(&door.mtx);
        while (!door.first && !door.closing)
                pthread_cond_wait(&door.cond, &door.mtx);
        struct http_req *rq = door.first;
        if (rq) {
                door.first = rq->next;
                rq->next = NULL;
                if (!door.first)
                        door.last = &door.first;
        }
        *stopped = door.stopped;
        pthread_mutex_unlock(&door.mtx);
        return rq;
}

static void *serve(void *arg)
{
        struct http_req *rq;
        bool stopped;

        while ((rq = next_request(&stopped)) != NULL)
                rq->done(rq, stopped ? -ECANCELED : exchange(rq));
        return arg;
}

int __wrap_http_open(const struct http_config *cfg, struct http **out, char *why, size_t nwhy)
{
        (void)cfg, (void)why, (void)nwhy;
        door.first = NULL;
        door.last = &door.first;
        door.stopped = door.closing = false;
        if (pthread_create(&door.thread, NULL, serve, NULL))
                abort();
        *out = (struct http *)&door;
        return 0;
}

void __wrap_http_stop(struct http *h)
{
        (void)h;
        pthread_mutex_lock(&door.mtx);
        door.stopped = true;
        pthread_mutex_unlock(&door.mtx);
}

void __wrap_http_close(struct http *h)
{
        (void)h;
        pthread_mutex_lock(&door.mtx);
        door.stopped = door.closing = true;
        pthread_cond_signal(&door.cond);
        pthread_mutex_unlock(&door.mtx);
        pthread_join(door.thread, NULL);
}

int __wrap_http_submit(struct http *h, struct http_req *rq)
{
        (void)h;
        pthread_mutex_lock(&door.mtx);
        int err = door.stopped ? -ESHUTDOWN : 0;
        if (!err) {
                rq->next = NULL;
                *door.last = rq;
                door.last = &rq->next;
                pthread_cond_signal(&door.cond);
        }
        pthread_mutex_unlock(&door.mtx);
        return err;
}
