/* SPDX-License-Identifier: Apache-2.0 */
/* s3_request.c: from what an operation wants to a signed request. */
#include "store/s3/s3.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/text/aws_host.h"
#include "base/cleanup.h"
#include "base/digest.h"
#include "base/mutex.h"
#include "base/banned.h"

void s3_msg_release(struct s3_msg *m)
{
        buf_release(&m->names);
}

void s3_query(struct s3_msg *m, const char *name, const char *value)
{
        if (m->nquery < sizeof m->query / sizeof *m->query)
                m->query[m->nquery] = (struct uri_pair){name, value};
        m->nquery++;
}

void s3_header(struct s3_msg *m, const char *name, const char *value)
{
        if (m->nheader < sizeof m->header / sizeof *m->header)
                m->header[m->nheader] = (struct uri_pair){name, value};
        m->nheader++;
}

/* --- where --- */

void s3_add_host(const struct store_kind *k, const char *region, struct buf *url, size_t *host)
{
        const char *label = k->point ? k->point : k->bucket;

        if (k->endpoint) {
                *host = (size_t)(strstr(k->endpoint, "://") + 3 - k->endpoint);
                buf_add(url, k->endpoint, *host);
                if (!k->path_style)
                        buf_addf(url, "%s.", label);
                buf_adds(url, k->endpoint + *host);
                return;
        }
        if (s3_is_express(k->bucket)) {
                *host = strlen("https://");
                buf_adds(url, "https://");
                s3_express_host(k, region, url);
                return;
        }
        *host = strlen("https://");
        buf_adds(url, "https://");
        if (!k->path_style)
                buf_addf(url, "%s.", label);
        buf_addf(url, "s3%s%s%s.%s.%s", k->point ? "-accesspoint" : "",
                 cred_chain_fips(k->creds) ? "-fips" : "",
                 cred_chain_dualstack(k->creds) ? ".dualstack" : "", region, aws_domain(region));
}

/* What curl would say, too: without the port that the scheme implies. */
static int host_header(const char *url, size_t at, struct buf *host)
{
        const char *port;
        buf_adds(host, url + at);
        bool tls = !strncmp(url, "https", 5);
        port = strrchr(host->p, ':');
        if (port && !strcmp(port, tls ? ":443" : ":80"))
                host->p[host->len = (size_t)(port - host->p)] = 0;
        return host->failed ? -ENOMEM : 0;
}

static int add_path(struct store_kind *k, const char *key, struct buf *path)
{
        buf_adds(path, k->base ? k->base : "");
        buf_addc(path, '/');
        if (k->path_style) {
                uri_encode(path, k->bucket, false);
                if (key)
                        buf_addc(path, '/');
        }
        if (key)
                uri_encode(path, key, true);
        return path->failed ? -ENOMEM : 0;
}

/* --- body --- */

static int read_xml(void *arg, uint64_t off, void *dst, size_t len)
{
        memcpy(dst, ((const struct buf *)arg)->p + off, len);
        return 0;
}

struct body_texts {
        char sha[2 * SHA256_LEN + 1], md5[4 * ((MD5_LEN + 2) / 3) + 1];
};

/* Sets the body and returns the payload hash to sign. */
static const char *set_body(struct op *op, struct s3_msg *m, struct body_texts *t)
{
        uint8_t sum[SHA256_LEN];
        if (m->data) {
                op->rq.body_read = op->body.read;
                op->rq.body_arg = op->body.arg;
                op->rq.body_len = op->body.len;
                return SIGN_UNSIGNED_PAYLOAD;
        }
        if (!m->xml)
                return SIGN_EMPTY_PAYLOAD;
        op->rq.body_read = read_xml;
        op->rq.body_arg = (void *)(uintptr_t)m->xml;
        op->rq.body_len = m->xml->len;
        if (m->md5) {
                md5(m->xml->p, m->xml->len, sum);
                base64_encode(sum, MD5_LEN, t->md5);
                s3_header(m, "Content-MD5", t->md5);
        }
        sha256(m->xml->p, m->xml->len, sum);
        hex_encode(sum, SHA256_LEN, t->sha);
        return t->sha;
}

/* --- signature --- */

static const char *const method_names[] = {
        [HTTP_GET] = "GET",   [HTTP_HEAD] = "HEAD",   [HTTP_PUT] = "PUT",
        [HTTP_POST] = "POST", [HTTP_PATCH] = "PATCH", [HTTP_DELETE] = "DELETE",
};

/* Of a directory bucket all is signed by a session but copies: "You must use IAM credentials to
 * authenticate and authorize your access", API reference, CopyObject and UploadPartCopy. */
bool s3_is_copy(const struct s3_msg *m)
{
        for (size_t i = 0; i < m->nheader; i++)
                if (!strcmp(m->header[i].name, S3_COPY_SOURCE))
                        return true;
        return false;
}

/* Adds what every request carries, and the signature, to op->rq.headers. */
static int sign_and_add(struct store_kind *k, struct op *op, struct s3_msg *m, const char *path,
                        const char *region, const char *payload)
{
        CLEANUP(cred_release) struct cred cred = CRED_INIT;
        CLEANUP(buf_release) struct buf auth = BUF_INIT;
        char date[SIGN_DATE_LEN], why[256] = "";

        bool session = op->by_session = k->session && !s3_is_copy(m);
        int err = cred_chain_get(session ? k->session : k->creds, &cred, why, sizeof why);
        if (err)
                return op_no_credentials(op, err, why);
        op->serial = cred.serial;
        s3_header(m, "x-amz-content-sha256", payload);
        s3_option_headers(k, op, m);
        if (cred.token && *cred.token)
                s3_header(m, session ? "x-amz-s3session-token" : "x-amz-security-token",
                          cred.token);
        if (m->nheader > sizeof m->header / sizeof *m->header ||
            m->nquery > sizeof m->query / sizeof *m->query)
                return -EINVAL;
        struct sign_request req = {
                .method = method_names[m->method],
                .path = path,
                .query = m->query,
                .nquery = m->nquery,
                .headers = m->header,
                .nheaders = m->nheader,
                .payload_hash = payload,
        };
        for (size_t i = 0; i < m->nheader; i++)
                http_header(&op->rq, m->header[i].name, m->header[i].value);
        if (cred.kind == CRED_ANONYMOUS)
                return op->rq.headers.failed ? -ENOMEM : 0;
        struct sign_key key = {.access = cred.access, /* the token is among the headers */
                               .secret = cred.secret,
                               .region = region,
                               .service = k->session ? "s3express" : "s3",
                               .cache = &k->sign_cache};
        time_t now = cred_chain_now(k->creds);
        err = sign_v4(&req, &key, now, date, &auth);
        if (err)
                return err;
        http_header(&op->rq, "x-amz-date", date);
        return http_header(&op->rq, "Authorization", auth.p);
}

int s3_send(struct store_kind *k, struct op *op, struct s3_msg *m)
{
        CLEANUP(buf_release) struct buf path = BUF_INIT, host = BUF_INIT;
        struct body_texts texts;
        size_t at;

        mutex_lock(&k->mtx);
        memcpy(op->region, k->locked.region, sizeof op->region);
        mutex_unlock(&k->mtx);
        op->rq.method = m->method;
        s3_add_host(k, op->region, &op->rq.url, &at);
        if (host_header(op->rq.url.p, at, &host) || add_path(k, m->key, &path) || m->names.failed)
                return -ENOMEM;
        s3_header(m, "Host", host.p);
        const char *payload = set_body(op, m, &texts);
        int err = sign_and_add(k, op, m, path.p, op->region, payload);
        if (err)
                return err;
        buf_adds(&op->rq.url, path.p);
        if (m->nquery)
                buf_addc(&op->rq.url, '?');
        return uri_encode_query(&op->rq.url, m->query, m->nquery);
}

/* --- headers of several calls --- */

/* A composed text that lives as long as the message; the buffer was grown before. */
static const char *keep(struct s3_msg *m, const char *a, const char *b)
{
        size_t at = m->names.len;
        buf_adds(&m->names, a);
        buf_add(&m->names, b, strlen(b) + 1);
        return m->names.p + at;
}

int s3_meta_headers(const struct store_kind *k, struct s3_msg *m, const struct op *op)
{
        const struct store_meta *meta = op->meta;
        static const char prefix[] = "x-amz-meta-";
        const size_t most = m->nheader + OP_META_HEADERS_MAX;

        if (!meta)
                return 0;
        if (buf_grow(&m->names, STORE_META_MAX + OP_META_HEADERS_MAX * sizeof prefix))
                return -ENOMEM;
        for (size_t at = 0; at < meta->len;) {
                const char *name = meta->buf + at, *value = name + strlen(name) + 1;
                at += strlen(name) + strlen(value) + 2;
                if (!strcmp(name, ":" S3_CLASS) && !s3_hands_class_on(k, op, value))
                        continue;
                if (m->nheader == most)
                        return -EINVAL;
                s3_header(m, *name == ':' ? name + 1 : keep(m, prefix, name), value);
        }
        return 0;
}

int s3_put_headers(const struct store_kind *k, struct s3_msg *m, const struct op *op,
                   const char *if_match)
{
        if (op->if_absent)
                s3_header(m, "If-None-Match", "*");
        if (if_match)
                s3_header(m, "If-Match", if_match);
        return s3_meta_headers(k, m, op);
}

/* To Ceph's gateway (16.2) x-amz-copy-source-if-match has this name, of a whole object. */
static bool sends_foreign(const struct store_kind *k, const char *version)
{
        bool strict = __atomic_load_n(&k->strict, __ATOMIC_RELAXED) &&
                      !__atomic_load_n(&k->radosgw, __ATOMIC_RELAXED);
        return version && k->endpoint && !strict;
}

/* S3Proxy (3.0) replies 501 to a header that it does not know. */
bool s3_without_foreign(struct store_kind *k, struct op *op, int err)
{
        if (err != -EOPNOTSUPP || !op->foreign || __atomic_load_n(&k->radosgw, __ATOMIC_RELAXED))
                return false;
        __atomic_store_n(&k->strict, true, __ATOMIC_RELAXED);
        return true;
}

int s3_copy_source(struct store_kind *k, struct s3_msg *m, struct op *op, const char *version,
                   struct buf *text)
{
        /* "For objects accessed through access points, specify the Amazon Resource Name (ARN) of
         * the object [...]
         * arn:aws:s3:<Region>:<account-id>:accesspoint/<access-point-name>/object/<key>
         * [...] The value must be URL encoded" (API reference, CopyObject). */
        if (!k->point)
                buf_addc(text, '/');
        uri_encode(text, k->bucket, k->point);
        buf_adds(text, k->point ? "/object/" : "/");
        if (uri_encode(text, op->src, true))
                return -ENOMEM;
        s3_header(m, S3_COPY_SOURCE, text->p);
        if (version)
                s3_header(m, "x-amz-copy-source-if-match", version);
        op->foreign = sends_foreign(k, version);
        if (op->foreign)
                s3_header(m, "x-amz-copy-if-match", version);
        return 0;
}
