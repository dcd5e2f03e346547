/* SPDX-License-Identifier: Apache-2.0 */
/* http_easy.c: one transfer of curl: its options, and its callbacks. */
#include "store/http/http_int.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/mutex.h"
#include "base/text/digits.h"
#include "base/banned.h"

/* Measured on loopback: PUT 3.4-4.3 GB/s with 512 KiB to 2 MiB to send from, no difference between
 * them, and 2.2-2.9 with curl's default of 64 KiB. 512 KiB is the most that curl takes for
 * receiving. */
enum { SEND_BUFFER = 512 << 10, RECEIVE_BUFFER = 512 << 10, META_BUFFER = 64 << 10 };

enum { SPREAD = 16 }; /* ages at which connections end, in the last quarter */

/* TLS 1.3 leaves the choice to the order of the client; with 128 bits AES costs a quarter less. */
#define TLS13_CIPHERS "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256"

static int64_t clock_ns(void)
{
        struct timespec ts;
        clock_gettime(CLOCK_MONOTONIC, &ts);
        return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static size_t on_read(char *dst, size_t size, size_t n, void *arg)
{
        struct http_slot *slot = arg;
        struct http_req *rq = slot->rq;
        uint64_t left = rq->body_len - slot->body_off;

        n *= size;
        if (n > left)
                n = left;
        if (!n)
                return 0;
        int err = rq->body_read(rq->body_arg, slot->body_off, dst, n);
        if (err) {
                slot->cb_err = err;
                return CURL_READFUNC_ABORT;
        }
        slot->body_off += n;
        if (slot->body_off == rq->body_len)
                slot->sent_ns = clock_ns();
        return n;
}

static int on_seek(void *arg, curl_off_t off, int origin)
{
        struct http_slot *slot = arg;
        if (origin != SEEK_SET || off < 0 || (uint64_t)off > slot->rq->body_len)
                return CURL_SEEKFUNC_FAIL;
        slot->body_off = (uint64_t)off;
        return CURL_SEEKFUNC_OK;
}

static size_t on_write(char *p, size_t size, size_t n, void *arg)
{
        struct http_slot *slot = arg;
        n *= size;
        mutex_check_none();
        int err = slot->rq->data ? slot->rq->data(slot->rq, p, n) : 0;
        if (err) {
                slot->cb_err = err;
                return n ? 0 : 1;
        }
        return n;
}

/* curl sends a request again by itself when a kept connection dies before a byte of the reply. */
static int on_begin(void *arg, char *ip, char *local_ip, int port, int local_port)
{
        struct http_slot *slot = arg;
        (void)ip;
        (void)local_ip;
        (void)port;
        (void)local_port;
        if (slot->begun && slot->rq->once)
                return CURL_PREREQFUNC_ABORT;
        slot->rq->resent = ++slot->begun > 1;
        slot->sent_ns = clock_ns();
        return CURL_PREREQFUNC_OK;
}

/* 0: the line is none that begins a reply. curl takes "HTTp/1.1 503" for a 200. */
static int status_of(const char *line, size_t n)
{
        static const char http[] = "HTTP/";
        const char *end = line + n, *p = line + sizeof http - 1;
        int status = 0;

        if (n < sizeof http - 1 || memcmp(line, http, sizeof http - 1) != 0)
                return 0;
        while (p < end && !isspace((unsigned char)*p))
                p++;
        while (p < end && isspace((unsigned char)*p))
                p++;
        for (int i = 0; i < 3; i++, p++) {
                if (p == end || !isdigit((unsigned char)*p))
                        return 0;
                status = status * 10 + (*p - '0');
        }
        return status < 100 ? 0 : status;
}

static void add_reply_header(struct buf *to, const char *line, size_t len)
{
        while (len && isspace((unsigned char)line[len - 1]))
                len--;
        const char *colon = memchr(line, ':', len);
        if (!colon || memchr(line, 0, len))
                return;
        const char *value = colon + 1, *end = line + len;
        while (value < end && (*value == ' ' || *value == '\t'))
                value++;
        for (const char *p = line; p < colon; p++)
                buf_addc(to, (char)tolower((unsigned char)*p));
        buf_addc(to, 0);
        buf_add(to, value, (size_t)(end - value));
        buf_addc(to, 0);
}

/* Where the body ends has to be said once. "If a message is received without Transfer-Encoding and
 * with an invalid Content-Length header field, then the message framing is invalid and the
 * recipient MUST treat it as an unrecoverable error" (RFC 9112, section 6.3); with both fields, it
 * "ought to be handled as an error". */
static int check_length(struct http_head *h, const char *line, size_t n)
{
        static const char length[] = "content-length:", coding[] = "transfer-encoding:";
        char text[24];
        uint64_t v;

        if (n >= sizeof coding - 1 && !strncasecmp(line, coding, sizeof coding - 1))
                h->coded = true;
        if (n >= sizeof length - 1 && !strncasecmp(line, length, sizeof length - 1)) {
                const char *p = line + sizeof length - 1, *end = line + n;
                while (p < end && isspace((unsigned char)*p))
                        p++;
                while (end > p && isspace((unsigned char)end[-1]))
                        end--;
                bool fits = (size_t)(end - p) < sizeof text;
                snprintf(text, sizeof text, "%.*s", fits ? (int)(end - p) : 0, p);
                if (digits_parse(text, &v))
                        h->wrong = "the reply has a length that is no number";
                else if (h->has_length && h->length != v)
                        h->wrong = "the reply has two lengths";
                h->length = v;
                h->has_length = true;
        }
        if (h->coded && h->has_length)
                h->wrong = "the reply has both a length and a coding that tells its end";
        return h->wrong ? -EPROTO : 0;
}

int http_head_line(struct http_head *h, struct buf *headers, const char *line, size_t n)
{
        /* An interim reply (100) is forgotten with its headers. */
        if (!h->status || (h->ended && h->status < 200)) {
                buf_reset(headers);
                *h = (struct http_head){.status = status_of(line, n)};
                h->wrong = h->status ? NULL : "the reply begins with no status";
                return h->wrong ? -EPROTO : 0;
        }
        if (h->ended) /* a trailer, which is none of the fields that are looked at here */
                return 0;
        if (*line == '\r' || *line == '\n')
                h->ended = true;
        else if (check_length(h, line, n))
                return -EPROTO;
        else if (headers->len + n <= HTTP_REPLY_MAX)
                add_reply_header(headers, line, n);
        return headers->failed ? -ENOMEM : 0;
}

static size_t on_header(char *line, size_t size, size_t n, void *arg)
{
        struct http_slot *slot = arg;
        struct http_req *rq = slot->rq;

        n *= size;
        if (http_head_line(&slot->head, &rq->reply, line, n))
                return 0;
        if (!rq->reply.len && !slot->head.ended) /* nothing but the status so far */
                slot->replied_ns = clock_ns();
        rq->status = slot->head.status;
        return n;
}

void http_easy_secure(CURL *e, const char *ca_bundle)
{
        curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
        curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https");
        curl_easy_setopt(e, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
        curl_easy_setopt(e, CURLOPT_PATH_AS_IS, 1L); /* a key may hold "/../" */
        curl_easy_setopt(e, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
        curl_easy_setopt(e, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
        curl_easy_setopt(e, CURLOPT_USERAGENT, PACKAGE_NAME "/" PACKAGE_VERSION);
        if (ca_bundle) { /* in place of the system's, of which curl also knows a folder */
                curl_easy_setopt(e, CURLOPT_CAINFO, ca_bundle);
                curl_easy_setopt(e, CURLOPT_CAPATH, NULL);
        }
}

void http_easy_replies(CURL *e, curl_write_callback body, curl_write_callback header, void *arg)
{
        curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, body);
        curl_easy_setopt(e, CURLOPT_WRITEDATA, arg);
        curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, header);
        curl_easy_setopt(e, CURLOPT_HEADERDATA, arg);
}

/* The vendor takes addresses out of the name that still answer for a while: who stays with a
 * connection stays with them. Not all connections of a burst end in the same second. */
static long lifetime_s(struct http_worker *w)
{
        long age = (long)(w->h->cfg.connection_age_ms / 1000);
        return age - age / 4 * (long)(w->slots++ % SPREAD) / SPREAD;
}

static void set_fixed_options(struct http_slot *slot)
{
        CURL *e = slot->easy;
        const struct http_config *cfg = &slot->w->h->cfg;
        bool data = slot->lane == HTTP_DATA;

        curl_easy_setopt(e, CURLOPT_PRIVATE, slot);
        curl_easy_setopt(e, CURLOPT_SHARE, slot->w->share);
        curl_easy_setopt(e, CURLOPT_ERRORBUFFER, slot->error);
        http_easy_secure(e, cfg->ca_bundle);
        /* Each connection to an address of its own choice: the vendor has many for a name. */
        curl_easy_setopt(e, CURLOPT_DNS_CACHE_TIMEOUT, 0L);
        curl_easy_setopt(e, CURLOPT_DNS_SHUFFLE_ADDRESSES, 1L);
        curl_easy_setopt(e, CURLOPT_MAXLIFETIME_CONN, lifetime_s(slot->w));
        curl_easy_setopt(e, CURLOPT_OPENSOCKETFUNCTION, http_on_open);
        curl_easy_setopt(e, CURLOPT_OPENSOCKETDATA, slot);
        curl_easy_setopt(e, CURLOPT_TCP_NODELAY, 1L);
        curl_easy_setopt(e, CURLOPT_TCP_KEEPALIVE, 1L);
        curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS, (long)cfg->connect_timeout_ms);
        curl_easy_setopt(e, CURLOPT_TLS13_CIPHERS, TLS13_CIPHERS);
        curl_easy_setopt(e, CURLOPT_UPLOAD_BUFFERSIZE, (long)(data ? SEND_BUFFER : META_BUFFER));
        curl_easy_setopt(e, CURLOPT_BUFFERSIZE, (long)(data ? RECEIVE_BUFFER : META_BUFFER));
        curl_easy_setopt(e, CURLOPT_READFUNCTION, on_read);
        curl_easy_setopt(e, CURLOPT_READDATA, slot);
        curl_easy_setopt(e, CURLOPT_SEEKFUNCTION, on_seek);
        curl_easy_setopt(e, CURLOPT_SEEKDATA, slot);
        curl_easy_setopt(e, CURLOPT_PREREQFUNCTION, on_begin);
        curl_easy_setopt(e, CURLOPT_PREREQDATA, slot);
        http_easy_replies(e, on_write, on_header, slot);
}

struct http_slot *http_slot_new(struct http_worker *w, enum http_lane lane)
{
        struct http_slot *slot = calloc(1, sizeof *slot);
        if (!slot)
                return NULL;
        slot->easy = curl_easy_init();
        if (!slot->easy) {
                free(slot);
                return NULL;
        }
        slot->w = w;
        slot->lane = lane;
        set_fixed_options(slot);
        return slot;
}

void http_slot_free(struct http_slot *slot)
{
        curl_easy_cleanup(slot->easy);
        free(slot);
}

static void set_method(CURL *e, const struct http_req *rq)
{
        bool body = rq->method == HTTP_PUT || rq->method == HTTP_POST || rq->method == HTTP_PATCH;
        const char *name = rq->method == HTTP_POST     ? "POST"
                           : rq->method == HTTP_PATCH  ? "PATCH"
                           : rq->method == HTTP_DELETE ? "DELETE"
                                                       : NULL;
        /* In this order each option undoes what the exchange before may have left. */
        curl_easy_setopt(e, CURLOPT_UPLOAD, 0L);
        curl_easy_setopt(e, CURLOPT_NOBODY, 0L);
        curl_easy_setopt(e, CURLOPT_HTTPGET, 1L);
        curl_easy_setopt(e, CURLOPT_CUSTOMREQUEST, name);
        if (rq->method == HTTP_HEAD)
                curl_easy_setopt(e, CURLOPT_NOBODY, 1L);
        if (body)
                curl_easy_setopt(e, CURLOPT_UPLOAD, 1L);
        curl_easy_setopt(e, CURLOPT_INFILESIZE_LARGE, body ? (curl_off_t)rq->body_len : -1);
}

/* The list is curl's, its nodes and text are ours: no allocation. */
static int set_headers(struct http_slot *slot)
{
        static char no_expect[] = "Expect:";
        struct http_req *rq = slot->rq;
        struct curl_slist *node = slot->headers;

        *node = (struct curl_slist){no_expect, NULL};
        for (size_t at = 0; at < rq->headers.len; at += strlen(rq->headers.p + at) + 1) {
                if (node == slot->headers + HTTP_HEADERS_MAX - 1)
                        return -EINVAL;
                node->next = node + 1;
                node++;
                *node = (struct curl_slist){rq->headers.p + at, NULL};
        }
        curl_easy_setopt(slot->easy, CURLOPT_HTTPHEADER, slot->headers);
        return 0;
}

/* libcurl before 8.1.1 keeps a pointer to the last header of the exchange before, which it has
 * freed, and writes there when the first header of a reply is folded (curl's pull request 11103). A
 * copy of the handle, which takes 2 microseconds, has no such pointer. */
static int forget_headers(struct http_slot *slot)
{
        static const unsigned mended = 0x080101;
        CURL *copy;

        if (!slot->used || curl_version_info(CURLVERSION_NOW)->version_num >= mended)
                return 0;
        copy = curl_easy_duphandle(slot->easy);
        if (!copy)
                return -ENOMEM;
        curl_easy_setopt(copy, CURLOPT_SHARE, slot->w->share); /* is not copied */
        curl_easy_cleanup(slot->easy);
        slot->easy = copy;
        return 0;
}

int http_slot_setup(struct http_slot *slot)
{
        struct http_req *rq = slot->rq;
        CURL *e;

        slot->body_off = 0;
        slot->cb_err = 0;
        slot->begun = 0;
        slot->sent_ns = slot->replied_ns = 0;
        rq->resent = false;
        slot->passed_by = false;
        slot->head = (struct http_head){.status = 0};
        slot->moved = 0;
        slot->stage = 0;
        slot->moved_ms = slot->begun_ms = slot->w->now_ms;
        slot->error[0] = 0;
        if (rq->url.failed || rq->headers.failed || forget_headers(slot))
                return -ENOMEM;
        slot->used = true;
        e = slot->easy;
        set_method(e, rq);
        curl_easy_setopt(e, CURLOPT_FRESH_CONNECT, (long)rq->fresh);
        curl_easy_setopt(e, CURLOPT_PROXY, http_goes_direct(rq->url.p) ? "" : NULL);
        if (curl_easy_setopt(e, CURLOPT_URL, rq->url.p) != CURLE_OK)
                return -ENOMEM;
        return set_headers(slot);
}

int http_easy_errno(CURLcode rc)
{
        switch (rc) {
        case CURLE_COULDNT_RESOLVE_HOST:
        case CURLE_COULDNT_RESOLVE_PROXY:
        case CURLE_URL_MALFORMAT:
                return -EHOSTUNREACH;
        case CURLE_COULDNT_CONNECT:
                return -ECONNREFUSED;
        case CURLE_OPERATION_TIMEDOUT:
                return -ETIMEDOUT;
        case CURLE_PEER_FAILED_VERIFICATION:
        case CURLE_SSL_CACERT_BADFILE:
        case CURLE_SSL_CERTPROBLEM:
        case CURLE_SSL_CIPHER:
        case CURLE_SSL_ISSUER_ERROR:
                return -EPROTO;
        case CURLE_OUT_OF_MEMORY:
                return -ENOMEM;
        default:
                return -ECONNRESET;
        }
}

int http_slot_result(struct http_slot *slot, CURLcode rc)
{
        struct http_req *rq = slot->rq;

        rq->by_callback = slot->cb_err != 0;
        rq->error[0] = 0;
        /* A connection that ends within the headers is a reply to curl: without a length nothing is
         * missing. What is not said (an ETag, a mode) would be taken for what is not there. */
        if (rc == CURLE_OK && !slot->cb_err && !slot->head.ended) {
                snprintf(rq->error, sizeof rq->error, "the reply ended within its headers");
                return -ECONNRESET;
        }
        if (rc == CURLE_OK || rq->by_callback)
                return slot->cb_err;
        snprintf(rq->error, sizeof rq->error, "%s",
                 rc == CURLE_WRITE_ERROR && slot->head.wrong ? slot->head.wrong
                 : slot->error[0]                            ? slot->error
                                                             : curl_easy_strerror(rc));
        if (rc == CURLE_COULDNT_CONNECT && slot->passed_by)
                http_shun_none(slot->w);
        if (rc == CURLE_OPERATION_TIMEDOUT) /* of the connect: the watchdog sees to the rest */
                rq->silent_ms = slot->w->h->cfg.connect_timeout_ms;
        return http_easy_errno(rc);
}
