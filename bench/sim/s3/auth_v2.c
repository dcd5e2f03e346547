/* SPDX-License-Identifier: Apache-2.0 */
/* auth_v2.c: signature version 2 of S3 (HMAC-SHA1), which some clients still make and some servers
 * still take. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/digest.h"
#include "bench/sim/s3/s3.h"
#include "base/banned.h"

static const char scheme[] = "AWS ";
/* Parameters that belong to what is signed, sorted. */
static const char *const sub_resources[] = {
        "acl",     "delete",   "location", "logging",   "partNumber", "policy",   "tagging",
        "torrent", "uploadId", "uploads",  "versionId", "versioning", "versions", "website",
};

static int by_name(const void *a, const void *b)
{
        const struct http_header *const *x = a, *const *y = b;
        return strcasecmp((*x)->name, (*y)->name);
}

static void add_line(struct buf *b, const char *text)
{
        buf_addf(b, "%s\n", text ? text : "");
}

static void add_amz_headers(struct buf *b, const struct http_request *rq)
{
        const struct http_header *v[HTTP_HEADERS_MAX];
        size_t n = 0;

        for (unsigned i = 0; i < rq->nheaders; i++)
                if (!strncasecmp(rq->headers[i].name, "x-amz-", 6))
                        v[n++] = &rq->headers[i];
        qsort(v, n, sizeof *v, by_name);
        for (size_t i = 0; i < n; i++) {
                for (const char *p = v[i]->name; *p; p++)
                        buf_addc(b, *p >= 'A' && *p <= 'Z' ? (char)(*p + 'a' - 'A') : *p);
                buf_addf(b, ":%s\n", v[i]->value);
        }
}

static void add_resource(struct buf *b, const struct request *x)
{
        char before = '?';

        buf_adds(b, x->rq.path);
        for (size_t i = 0; i < sizeof sub_resources / sizeof sub_resources[0]; i++) {
                for (size_t q = 0; q < x->nquery; q++) {
                        if (strcmp(x->query[q].name, sub_resources[i]))
                                continue;
                        const char *value = x->query[q].value;
                        buf_addf(b, "%c%s%s%s", before, sub_resources[i], *value ? "=" : "", value);
                        before = '&';
                }
        }
}

/* Whether `signature` is what the secret makes of the request. */
static bool is_signed(const struct request *x, const char *secret, const char *signature)
{
        CLEANUP(buf_release) struct buf b = BUF_INIT;
        uint8_t mac[SHA1_LEN];
        char text[32];

        add_line(&b, x->rq.method);
        add_line(&b, s3_in(x, "content-md5"));
        add_line(&b, s3_in(x, "content-type"));
        add_line(&b, s3_in(x, "x-amz-date") ? "" : s3_in(x, "date"));
        add_amz_headers(&b, &x->rq);
        add_resource(&b, x);
        hmac_sha1(secret, strlen(secret), b.p, b.len, mac);
        base64_encode(mac, sizeof mac, text);
        return !b.failed && !strcmp(text, signature);
}

bool s3_is_v2(const char *authorization)
{
        return !strncmp(authorization, scheme, sizeof scheme - 1);
}

void s3_check_v2(const struct service *s, struct request *x, const char *authorization)
{
        const char *key = authorization + sizeof scheme - 1, *colon = strchr(key, ':');

        if (!colon)
                s3_refuse(x, 400, "AuthorizationHeaderMalformed", NULL);
        else if (!s->access_key || strlen(s->access_key) != (size_t)(colon - key) ||
                 strncmp(key, s->access_key, (size_t)(colon - key)))
                s3_error(x, "InvalidAccessKeyId");
        else if (!is_signed(x, s->secret_key, colon + 1))
                s3_error(x, "SignatureDoesNotMatch");
}
