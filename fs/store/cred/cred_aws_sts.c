/* SPDX-License-Identifier: Apache-2.0 */
/* cred_aws_sts.c: roles assumed at the Security Token Service, by keys (AssumeRole) or by the token
 * of a web identity (AssumeRoleWithWebIdentity); and the variables that ask for the latter. */
#include "store/cred/cred_aws.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/text/aws_host.h"
#include "base/cleanup.h"
#include "base/digest.h"
#include "base/sign/sign_v4.h"
#include "base/text/xml.h"

#include "base/banned.h"

struct answer {
        struct buf access, secret, token, expires;
};

static void answer_release(struct answer *t)
{
        secret_buf_release(&t->access);
        secret_buf_release(&t->secret);
        secret_buf_release(&t->token);
        secret_buf_release(&t->expires);
}

static int take(void *arg, const char *path, const char *text)
{
        struct answer *t = arg;
        const char *leaf = strstr(path, "/Credentials/");
        if (!leaf)
                return 0;
        leaf += strlen("/Credentials/");
        struct buf *to = !strcmp(leaf, "AccessKeyId")       ? &t->access
                         : !strcmp(leaf, "SecretAccessKey") ? &t->secret
                         : !strcmp(leaf, "SessionToken")    ? &t->token
                         : !strcmp(leaf, "Expiration")      ? &t->expires
                                                            : NULL;
        return to ? buf_adds(to, text) : 0;
}

int cred_aws_take_xml(struct cred_ask *a, const struct cred_call *c, struct cred *out)
{
        CLEANUP(answer_release) struct answer t = {BUF_INIT, BUF_INIT, BUF_INIT, BUF_INIT};
        const struct xml_reader reader = {.leaf = take, .arg = &t};

        int err = xml_read(c->reply.p, c->reply.len, &reader);
        time_t expiry = cred_time(t.expires.p);
        if (err == -ENOMEM)
                return cred_no(a, err, "no memory: end another program");
        if (err || !t.access.len || !t.secret.len || !t.token.len || !expiry)
                return cred_no(a, -EBADMSG,
                               "%s answers with something that holds no credentials: correct its "
                               "address",
                               c->what);
        return cred_keys(out, t.access.p, t.secret.p, t.token.p, expiry);
}

/* The service's address, and the region that a signature for it names. */
static const char *address(const struct cred_ask *a, const struct cred_role *role, struct buf *url)
{
        const char *region = role->region;

        if (!region && a->fips && !role->endpoint)
                region = "us-east-1"; /* the name without a region has none for FIPS */
        if (role->endpoint) {
                buf_adds(url, role->endpoint);
                while (url->len && url->p[url->len - 1] == '/')
                        url->p[--url->len] = 0;
        } else if (region) {
                aws_service_url(url, "sts", region, a->fips, a->dualstack);
        } else {
                buf_adds(url, "https://sts.amazonaws.com");
        }
        return region ? region : "us-east-1";
}

/* Takes "Name: value" apart, in place; the call's headers, each with a NUL at its end. */
static size_t split_headers(char *text, size_t len, struct uri_pair *v, size_t room)
{
        size_t n = 0;

        for (char *p = text, *end = text + len; p < end && n < room; n++) {
                char *next = p + strlen(p) + 1, *colon = strstr(p, ": ");
                if (!colon)
                        return 0;
                *colon = 0;
                v[n] = (struct uri_pair){p, colon + 2};
                p = next;
        }
        return n;
}

static int sign(struct cred_call *c, time_t now, const struct cred_aws_sign *by)
{
        CLEANUP(buf_release) struct buf auth = BUF_INIT;
        char date[SIGN_DATE_LEN], hash[2 * SHA256_LEN + 1];
        uint8_t sum[SHA256_LEN];
        const char *url = strstr(c->url.p, "://");
        CLEANUP(freep) char *host = url ? strndup(url + 3, strcspn(url + 3, "/?")) : NULL;

        if (!host || c->body.failed || c->headers.failed)
                return url ? -ENOMEM : -EINVAL;

        sha256(c->body.p, c->body.len, sum);
        hex_encode(sum, sizeof sum, hash);
        cred_call_header(c, "x-amz-content-sha256", hash);
        /* The vendor refuses headers x-amz-* that are not signed. */
        struct uri_pair headers[8] = {{"Host", host}};
        CLEANUP(freep) char *text = malloc(c->headers.len);
        if (!text)
                return -ENOMEM;
        memcpy(text, c->headers.p, c->headers.len);
        struct sign_request req = {
                .method = c->method,
                .path = by->path,
                .query = by->query,
                .nquery = by->nquery,
                .headers = headers,
                .nheaders = 1 + split_headers(text, c->headers.len, headers + 1,
                                              sizeof headers / sizeof *headers - 1),
                .payload_hash = hash,
        };
        struct sign_key key = {.access = by->with->access,
                               .secret = by->with->secret,
                               .region = by->region,
                               .service = by->service,
                               .token = by->with->token};
        int err = sign_v4(&req, &key, now, date, &auth);
        cred_call_header(c, "x-amz-date", date);
        if (by->with->token)
                cred_call_header(c, "x-amz-security-token", by->with->token);
        cred_call_header(c, "Authorization", auth.p);
        return err;
}

int cred_aws_call(struct cred_ask *a, struct cred_call *c, const struct cred_aws_sign *by)
{
        size_t unsigned_len = c->headers.len;

        for (bool again = false;; again = true) {
                int err = sign(c, cred_now(a), by);
                if (err == -EINVAL)
                        return cred_no(a, err,
                                       "%s: its address is no URL of http or https: correct it",
                                       c->what);
                if (err)
                        return cred_no(a, err, "no memory: end another program");
                err = cred_call(a, c);
                if (err || again || !cred_follow_clock(a, c))
                        return err;
                c->headers.len = unsigned_len;
        }
}

int cred_aws_role(struct cred_ask *a, const struct cred_role *role, struct cred *out)
{
        CLEANUP(cred_call_release) struct cred_call c = CRED_CALL("STS", "POST");
        CLEANUP(secret_buf_release) struct buf token = BUF_INIT;
        char session[64];

        const char *region = address(a, role, &c.url);
        snprintf(session, sizeof session, "ckptfs-%ld", (long)time(NULL));
        cred_call_field(&c, "Action",
                        role->token_file ? "AssumeRoleWithWebIdentity" : "AssumeRole");
        cred_call_field(&c, "Version", "2011-06-15");
        cred_call_field(&c, "RoleArn", role->arn);
        cred_call_field(&c, "RoleSessionName", role->session ? role->session : session);
        if (role->duration)
                cred_call_field(&c, "DurationSeconds", role->duration);
        if (role->external_id)
                cred_call_field(&c, "ExternalId", role->external_id);
        int err = 0;
        if (role->token_file) { /* read each time: the file is renewed */
                err = cred_read_file(a, role->token_file, &token);
                token.p[strcspn(token.p, "\r\n")] = 0;
                cred_call_field(&c, "WebIdentityToken", token.p);
        }
        if (err)
                return err == -ENOENT ? -EINVAL : err;
        buf_addc(&c.url, '/');
        cred_call_header(&c, "Content-Type", "application/x-www-form-urlencoded; charset=utf-8");
        const struct cred_aws_sign by = {role->with, region, "sts", .path = "/"};
        err = role->token_file ? cred_call(a, &c) : cred_aws_call(a, &c, &by);
        if (!err)
                err = cred_call_ok(a, &c);
        if (!err)
                return cred_aws_take_xml(a, &c, out);
        return err == -EACCES
                       ? cred_remedy(a, err, "let these credentials assume %.200s", role->arn)
                       : err;
}

int cred_aws_web(struct cred_ask *a, struct cred *out)
{
        CLEANUP(profile_release) struct profile p = {0};
        CLEANUP(secret_freep) char *endpoint = NULL;
        struct cred_role role = {
                .arn = cred_env("AWS_ROLE_ARN"),
                .session = cred_env("AWS_ROLE_SESSION_NAME"),
                .token_file = cred_env("AWS_WEB_IDENTITY_TOKEN_FILE"),
                .region = a->region,
        };

        if (!role.token_file)
                return cred_no(a, -ENOENT, "AWS_WEB_IDENTITY_TOKEN_FILE is not set");
        if (!role.arn)
                return cred_no(a, -EINVAL,
                               "AWS_WEB_IDENTITY_TOKEN_FILE is set but AWS_ROLE_ARN is not: set "
                               "both or neither");
        int err = profile_load("profile", a->profile, &p, a->why, sizeof a->why);
        if (!err)
                err = cred_aws_endpoint(a, &p, "STS", &endpoint);
        role.endpoint = endpoint;
        return err ? err : cred_aws_role(a, &role, out);
}
