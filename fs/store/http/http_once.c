/* SPDX-License-Identifier: Apache-2.0 */
/* http_once.c: see http_once.h. */
#include "store/http/http_once.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "store/http/http_int.h"

#include "base/banned.h"

struct once {
        struct http_once *x;
        struct http_head head;
};

static size_t on_body(char *p, size_t size, size_t n, void *arg)
{
        struct http_once *x = ((struct once *)arg)->x;
        if (x->reply.len + size * n > HTTP_ONCE_MAX)
                return 0;
        return buf_add(&x->reply, p, size * n) ? 0 : size * n;
}

static size_t on_header(char *line, size_t size, size_t n, void *arg)
{
        struct once *o = arg;

        n *= size;
        return http_head_line(&o->head, &o->x->reply_headers, line, n) ? 0 : n;
}

static int on_progress(void *arg, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
        const struct http_once *x = arg;
        (void)a;
        (void)b;
        (void)c;
        (void)d;
        return x->stop && __atomic_load_n(x->stop, __ATOMIC_SEQ_CST);
}

static struct curl_slist *header_list(const struct buf *headers)
{
        struct curl_slist *list = curl_slist_append(NULL, "Expect:");
        for (size_t at = 0; list && at < headers->len; at += strlen(headers->p + at) + 1) {
                struct curl_slist *more = curl_slist_append(list, headers->p + at);
                if (!more)
                        curl_slist_free_all(list);
                list = more;
        }
        return list;
}

static void set_options(CURL *e, struct once *o, char *error)
{
        struct http_once *x = o->x;

        curl_easy_setopt(e, CURLOPT_ERRORBUFFER, error);
        http_easy_secure(e, x->ca_bundle);
        curl_easy_setopt(e, CURLOPT_URL, x->url);
        curl_easy_setopt(e, CURLOPT_CUSTOMREQUEST, x->method);
        if (x->body->len || !strcmp(x->method, "POST") || !strcmp(x->method, "PUT")) {
                curl_easy_setopt(e, CURLOPT_POSTFIELDS, x->body->p);
                curl_easy_setopt(e, CURLOPT_POSTFIELDSIZE, (long)x->body->len);
        }
        curl_easy_setopt(e, CURLOPT_TIMEOUT_MS, (long)x->timeout_ms);
        curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS, (long)x->timeout_ms);
        if (x->direct || http_goes_direct(x->url))
                curl_easy_setopt(e, CURLOPT_PROXY, "");
#if LIBCURL_VERSION_NUM >= 0x075700
        /* Whom `stop` ends does not wait for a name server that is silent. */
        curl_easy_setopt(e, CURLOPT_QUICK_EXIT, x->stop ? 1L : 0L);
#endif
        curl_easy_setopt(e, CURLOPT_NOPROGRESS, 0L);
        curl_easy_setopt(e, CURLOPT_XFERINFOFUNCTION, on_progress);
        curl_easy_setopt(e, CURLOPT_XFERINFODATA, x);
        http_easy_replies(e, on_body, on_header, o);
}

static int result(const struct once *o, CURLcode rc, const char *error)
{
        struct http_once *x = o->x;

        if (rc == CURLE_OK)
                return 0;
        snprintf(x->error, sizeof x->error, "%s", *error ? error : curl_easy_strerror(rc));
        if (rc == CURLE_WRITE_ERROR && o->head.wrong) {
                snprintf(x->error, sizeof x->error, "%s", o->head.wrong);
                return -ECONNRESET;
        }
        if (rc == CURLE_WRITE_ERROR) {
                snprintf(x->error, sizeof x->error, "the reply is too long");
                return -EFBIG;
        }
        if (rc == CURLE_ABORTED_BY_CALLBACK)
                return -ECANCELED;
        return http_easy_errno(rc);
}

int http_once(struct http_once *x)
{
        char error[CURL_ERROR_SIZE] = "";
        struct once o = {.x = x};
        int err = -ENOMEM;

        http_init();
        buf_reset(&x->reply);
        buf_reset(&x->reply_headers);
        x->status = 0;
        x->error[0] = 0;
        CURL *e = curl_easy_init();
        struct curl_slist *headers = header_list(x->headers);
        if (e && headers && !buf_grow(&x->reply, HTTP_ONCE_MAX)) {
                set_options(e, &o, error);
                curl_easy_setopt(e, CURLOPT_HTTPHEADER, headers);
                err = result(&o, curl_easy_perform(e), error);
                x->status = o.head.status;
        }
        for (struct curl_slist *node = headers; node; node = node->next)
                explicit_bzero(node->data, strlen(node->data));
        curl_slist_free_all(headers);
        curl_easy_cleanup(e);
        return err;
}

const char *http_once_header(const struct buf *reply_headers, const char *name)
{
        for (size_t at = 0; at < reply_headers->len;) {
                const char *n = reply_headers->p + at, *v = n + strlen(n) + 1;
                at += strlen(n) + strlen(v) + 2;
                if (!strcmp(n, name))
                        return v;
        }
        return NULL;
}

unsigned http_once_retry_after(const struct buf *reply_headers)
{
        const char *text = http_once_header(reply_headers, "retry-after");
        const char *date = http_once_header(reply_headers, "date");
        size_t digits = text ? strspn(text, "0123456789") : 0;

        if (!text || !*text)
                return 0;
        if (!text[digits])
                return digits < 9 ? (unsigned)strtoul(text, NULL, 10) : 999999999;
        /* A date is one of the server's clock. */
        time_t till = curl_getdate(text, NULL), now = date ? curl_getdate(date, NULL) : -1;
        if (now == -1)
                now = time(NULL);
        return till == -1 || till <= now        ? 0
               : till - now > (time_t)999999999 ? 999999999
                                                : (unsigned)(till - now);
}
