/* SPDX-License-Identifier: Apache-2.0 */
/* cred_http.c: exchanges with identity servers: tried again, bounded, and their refusals told
 * without what they may hold of secrets. */
#include "store/cred/cred_int.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "base/cleanup.h"
#include "base/text/uri.h"
#include "base/text/xml.h"
#include "store/core/error_hint.h"
#include "store/core/xml_reply.h"
#include "store/http/http_once.h"
#include "store/http/retry.h"

#include "base/banned.h"

/* An instance of a fleet that begins together has to let the others pass. */
enum { PAUSE_MS = 200, PAUSE_MOST_MS = 3200, THROTTLED_TRIES = 7 };

void cred_call_release(struct cred_call *c)
{
        secret_buf_release(&c->url);
        secret_buf_release(&c->headers);
        secret_buf_release(&c->body);
        secret_buf_release(&c->reply);
        secret_buf_release(&c->reply_headers);
}

void cred_call_header(struct cred_call *c, const char *name, const char *value)
{
        buf_adds(&c->headers, name);
        buf_adds(&c->headers, ": ");
        buf_add(&c->headers, value, strlen(value) + 1);
}

void cred_call_field(struct cred_call *c, const char *name, const char *value)
{
        if (c->body.len)
                buf_addc(&c->body, '&');
        buf_adds(&c->body, name);
        buf_addc(&c->body, '=');
        uri_encode(&c->body, value, false);
}

/* Scheme and host of a URL, for messages: a path or query may tell too much. */
static int server_of(const char *url)
{
        const char *host = strstr(url, "://");
        return (int)(host ? (size_t)(host + 3 - url) + strcspn(host + 3, "/?#") : strlen(url));
}

static int try_once(struct cred_ask *a, struct cred_call *c)
{
        struct http_once x = {
                .method = c->method,
                .url = c->url.p,
                .headers = &c->headers,
                .body = &c->body,
                .timeout_ms = c->timeout_ms,
                .ca_bundle = a->ca_bundle,
                .direct = c->metadata,
                .stop = a->stop,
                .reply = c->reply,
                .reply_headers = c->reply_headers,
        };
        int err = http_once(&x);
        c->reply = x.reply;
        c->reply_headers = x.reply_headers;
        c->status = x.status;
        if (!err)
                return 0;
        c->status = 0;
        cred_no(a, 0, "%s at %.*s: %s", c->what, server_of(c->url.p), c->url.p, x.error);
        if (err == -ENOMEM || err == -ECANCELED)
                return err;
        if (err == -EPROTO)
                return cred_no(a, -EPROTO, "%s at %.*s cannot be trusted over TLS (%s): %s",
                               c->what, server_of(c->url.p), c->url.p, x.error,
                               error_hint_tls(x.error));
        return c->metadata ? -EHOSTDOWN : -ETIMEDOUT;
}

/* The server's own words for a refusal, where they are in a place that is known. */
struct words {
        struct buf code, text;
};

static int take_xml(void *arg, const char *path, const char *text)
{
        struct words *w = arg;
        const char *leaf = strrchr(path, '/');
        if (leaf && !strcmp(leaf, "/Code"))
                buf_adds(&w->code, text);
        if (leaf && !strcmp(leaf, "/Message"))
                buf_adds(&w->text, text);
        return 0;
}

static void take_json(const struct cred_call *c, struct words *w)
{
        CLEANUP(secret_json_freep) struct json *j = NULL;
        static const char *const codes[] = {"error", "code", "Code", "__type", "status"};
        static const char *const texts[] = {"error_description", "message", "Message"};
        char why[64];

        if (json_parse("", c->reply.p, c->reply.len, &j, why, sizeof why))
                return;
        const struct json *in = json_is_object(json_get(j, "error")) ? json_get(j, "error") : j;
        for (size_t i = 0; i < sizeof codes / sizeof *codes && !w->code.len; i++)
                buf_adds(&w->code, json_string(json_get(in, codes[i]), ""));
        for (size_t i = 0; i < sizeof texts / sizeof *texts && !w->text.len; i++)
                buf_adds(&w->text, json_string(json_get(in, texts[i]), ""));
}

static void words_release(struct words *w)
{
        buf_release(&w->code);
        buf_release(&w->text);
}

static void read_words(const struct cred_call *c, struct words *w)
{
        const struct xml_reader reader = {.leaf = take_xml, .arg = w};

        if (*c->reply.p == '{')
                take_json(c, w);
        else if (xml_read(c->reply.p, c->reply.len, &reader))
                buf_reset(&w->code);
}

/* --- tries --- */

/* Asked too often; or "the request could not be fulfilled because the identity provider (IDP) that
 * was asked to verify the incoming identity token could not be reached [...] Retry the request a
 * limited number of times" (STS API reference, AssumeRoleWithWebIdentity, IDPCommunicationError).
 * Both come with 400. */
static bool asks_for_patience(const struct cred_call *c, const struct words *w)
{
        return c->status == 429 || retry_throttled(w->code.p) ||
               !strcmp(w->code.p, "IDPCommunicationError");
}

/* How often a call is tried that was answered so; 0: no more. */
static unsigned tries_after(const struct cred_call *c)
{
        CLEANUP(words_release) struct words w = {BUF_INIT, BUF_INIT};
        unsigned tries = c->tries ? c->tries : 1;

        if (c->status == 200)
                return 0;
        read_words(c, &w);
        if (asks_for_patience(c, &w))
                return c->metadata || tries > THROTTLED_TRIES ? tries : THROTTLED_TRIES;
        return c->status >= 500 ? tries : 0;
}

/* Before the i-th try, in which others like this one are not to meet again. */
static void pause_before(unsigned i)
{
        unsigned most = i < 4 ? PAUSE_MS << i : PAUSE_MOST_MS, chance;

        if (getrandom(&chance, sizeof chance, GRND_NONBLOCK) != sizeof chance)
                chance = most / 2;
        usleep((most / 2 + chance % (most / 2 + 1)) * 1000U);
}

int cred_call(struct cred_ask *a, struct cred_call *c)
{
        int err = -ENOMEM;

        for (unsigned i = 0, most = 1; i < most; i++) {
                if (c->url.failed || c->headers.failed || c->body.failed)
                        return cred_no(a, -ENOMEM, "no memory: end another program");
                if (i)
                        pause_before(i);
                if (a->stop && __atomic_load_n(a->stop, __ATOMIC_SEQ_CST))
                        return cred_no(a, -ECANCELED, "stopped");
                err = try_once(a, c);
                if (!err)
                        most = tries_after(c);
                else if (err == -EHOSTDOWN || err == -ETIMEDOUT)
                        most = c->tries ? c->tries : 1;
                else
                        break;
        }
        return err;
}

const char *cred_call_reply_header(const struct cred_call *c, const char *name)
{
        return http_once_header(&c->reply_headers, name);
}

time_t cred_call_time(const struct cred_ask *a, const struct cred_call *c, time_t theirs)
{
        const char *date = cred_call_reply_header(c, "date");
        int64_t now = date ? s3_time_http(date) / 1000000000 : 0;

        return now ? cred_now(a) + (theirs - now) : theirs;
}

/* "Signature expired: [...] is now earlier than [...]" is what AWS's Security Token Service says of
 * one that is signed by a clock which is off, with the code of one that is wrong; and Google's
 * token server "Token must be a short-lived token (60 minutes) and in a reasonable timeframe". */
bool cred_follow_clock(struct cred_ask *a, const struct cred_call *c)
{
        bool said = c->reply.len && strstr(c->reply.p, "reasonable timeframe");

        return a->skew_s && (c->status == 400 || c->status == 403) &&
               clock_follow(cred_call_reply_header(c, "date"), said, a->skew_s);
}

/* A long text without blanks may be a token that the server repeats. */
static bool looks_secret(const char *text)
{
        for (const char *p = text; *p; p += strcspn(p, " ") + strspn(p + strcspn(p, " "), " "))
                if (strcspn(p, " ") > 100)
                        return true;
        return false;
}

int cred_call_ok(struct cred_ask *a, const struct cred_call *c)
{
        CLEANUP(words_release) struct words w = {BUF_INIT, BUF_INIT};

        if (c->status == 200)
                return 0;
        read_words(c, &w);
        bool passes = c->status >= 500 || asks_for_patience(c, &w);
        if (looks_secret(w.text.p) || looks_secret(w.code.p))
                buf_reset(&w.text);
        cred_no(a, 0, "%s at %.*s answers %d%s%.100s%s%.300s", c->what, server_of(c->url.p),
                c->url.p, c->status, w.code.len ? " " : "", w.code.p, w.text.len ? ": " : "",
                w.text.p);
        return passes ? -ETIMEDOUT : -EACCES;
}

int cred_call_parse(struct cred_ask *a, const struct cred_call *c, struct json **out)
{
        char why[256];
        int err = cred_call_ok(a, c);
        if (err)
                return err;
        if (json_parse(c->what, c->reply.p, c->reply.len, out, why, sizeof why) ||
            !json_is_object(*out))
                return cred_no(a, -EBADMSG,
                               "%s at %.*s answers with something that is no JSON: correct its "
                               "address",
                               c->what, server_of(c->url.p), c->url.p);
        return 0;
}

int cred_call_json(struct cred_ask *a, struct cred_call *c, struct json **out)
{
        int err = cred_call(a, c);
        return err ? err : cred_call_parse(a, c, out);
}
