/* SPDX-License-Identifier: Apache-2.0 */
/* cred_aws_imds.c: the metadata servers of a machine: of an instance (IMDSv2), and of a container
 * or pod (the address is in the environment). Each try lasts a second unless told otherwise. */
#include "store/cred/cred_aws.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "store/http/http.h"

#include "base/banned.h"

#define TOKEN_PATH "/latest/api/token"
#define ROLES_PATH "/latest/meta-data/iam/security-credentials/"

/* --- of an instance --- */

static unsigned number_of(const char *variable, unsigned least, unsigned most, unsigned other)
{
        const char *text = cred_env(variable);
        char *end = NULL;
        double v = text ? strtod(text, &end) : 0;
        return text && !*end && v >= least && v <= most ? (unsigned)v : other;
}

static void prepare(const struct cred_ask *a, struct cred_call *c, const char *base,
                    const char *path)
{
        const char *seconds = cred_env("AWS_METADATA_SERVICE_TIMEOUT");
        size_t n = strlen(base);
        double s = seconds ? strtod(seconds, NULL) : 0;

        while (n && base[n - 1] == '/')
                n--;
        buf_reset(&c->url);
        buf_add(&c->url, base, n);
        buf_adds(&c->url, path);
        c->metadata = true;
        c->timeout_ms = s >= 0.01 && s <= 60 ? (unsigned)(s * 1000) : 1000;
        c->tries = number_of("AWS_METADATA_SERVICE_NUM_ATTEMPTS", 1, 10, 1);
        if (a->machine_ms) {
                c->timeout_ms = c->timeout_ms < a->machine_ms ? c->timeout_ms : a->machine_ms;
                c->tries = 1;
        }
}

/* Asked for only: the first version of the service answers whoever gets a request through. */
static bool may_do_without_token(const struct profile *p)
{
        const char *env = cred_env("AWS_EC2_METADATA_V1_DISABLED");
        const char *set = env ? env : profile_get(p, "ec2_metadata_v1_disabled");
        return set && !strcasecmp(set, "false");
}

/* The header that all further requests bear; empty without a token. */
static int get_token(struct cred_ask *a, const struct profile *p, const char *base,
                     struct buf *token)
{
        CLEANUP(cred_call_release) struct cred_call c = CRED_CALL("instance metadata", "PUT");

        prepare(a, &c, base, TOKEN_PATH);
        cred_call_header(&c, "X-aws-ec2-metadata-token-ttl-seconds", "21600");
        int err = cred_call(a, &c);
        if (!err)
                err = cred_call_ok(a, &c);
        if (!err && c.reply.len && !c.reply.p[strcspn(c.reply.p, " \r\n<")])
                return buf_adds(token, c.reply.p);
        if (!err)
                return cred_no(a, -EBADMSG,
                               "instance metadata at %s gives no token: correct "
                               "AWS_EC2_METADATA_SERVICE_ENDPOINT",
                               base);
        if (err == -EACCES && (c.status == 404 || c.status == 405 || c.status == 403) &&
            may_do_without_token(p))
                return 0;
        if (err == -EACCES)
                return cred_no(a, -EHOSTDOWN,
                               "instance metadata at %s refuses a token (%d), and its version 1 is "
                               "used only with AWS_EC2_METADATA_V1_DISABLED=false",
                               base, c.status);
        if (err == -EHOSTDOWN && may_do_without_token(p))
                return 0;
        if (err == -EHOSTDOWN)
                return cred_no(a, err,
                               "%s gives no token within %u ms (in a container its hop limit must "
                               "be 2)",
                               base, c.timeout_ms);
        return err;
}

static const char *base_of(const struct profile *p)
{
        const char *base = cred_env("AWS_EC2_METADATA_SERVICE_ENDPOINT");
        const char *mode = cred_env("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE");

        if (!base)
                base = profile_get(p, "ec2_metadata_service_endpoint");
        if (!mode)
                mode = profile_get(p, "ec2_metadata_service_endpoint_mode");
        if (base)
                return base;
        return mode && !strcasecmp(mode, "ipv6") ? "http://[fd00:ec2::254]"
                                                 : "http://169.254.169.254";
}

static int get(struct cred_ask *a, struct cred_call *c, const char *base, const char *path,
               const struct buf *token)
{
        prepare(a, c, base, path);
        if (token->len)
                cred_call_header(c, "X-aws-ec2-metadata-token", token->p);
        int err = cred_call(a, c);
        if (!err)
                err = cred_call_ok(a, c);
        return err == -EHOSTDOWN && token->len ? -ETIMEDOUT : err; /* it is there: it gave that */
}

static int get_keys(struct cred_ask *a, const char *base, const struct buf *token, struct cred *out)
{
        CLEANUP(cred_call_release) struct cred_call names = CRED_CALL("instance metadata", "GET");
        CLEANUP(cred_call_release) struct cred_call c = CRED_CALL("instance metadata", "GET");
        CLEANUP(secret_json_freep) struct json *j = NULL;
        CLEANUP(buf_release) struct buf path = BUF_INIT;
        char why[64];

        int err = get(a, &names, base, ROLES_PATH, token);
        if (err == -EACCES && names.status == 404)
                return cred_no(a, -ENOENT, "this instance has no role");
        if (err)
                return err;
        names.reply.p[strcspn(names.reply.p, "\r\n")] = 0;
        if (!*names.reply.p || strlen(names.reply.p) > 128 || strpbrk(names.reply.p, " <>?#/"))
                return cred_no(a, -EBADMSG,
                               "instance metadata at %s names no role: correct "
                               "AWS_EC2_METADATA_SERVICE_ENDPOINT",
                               base);
        if (buf_addf(&path, ROLES_PATH "%s", names.reply.p))
                return -ENOMEM;
        err = get(a, &c, base, path.p, token);
        if (err)
                return err;
        if (json_parse("", c.reply.p, c.reply.len, &j, why, sizeof why))
                return cred_no(a, -EBADMSG,
                               "instance metadata at %s answers with something that is no JSON: "
                               "correct AWS_EC2_METADATA_SERVICE_ENDPOINT",
                               base);
        return cred_aws_take(a, j, "instance metadata", "AccessKeyId", "Token", out);
}

static int with_token(struct cred_ask *a, struct profile *p, const char **base, struct buf *token)
{
        if (cred_is_true(cred_env("AWS_EC2_METADATA_DISABLED")))
                return cred_no(a, -ENOENT, "AWS_EC2_METADATA_DISABLED is set");
        int err = profile_load("profile", a->profile, p, a->why, sizeof a->why);
        if (err)
                return err == -ENOENT ? -EINVAL : err;
        *base = base_of(p);
        return get_token(a, p, *base, token);
}

int cred_aws_imds(struct cred_ask *a, struct cred *out)
{
        CLEANUP(profile_release) struct profile p = {0};
        CLEANUP(secret_buf_release) struct buf token = BUF_INIT;
        const char *base = NULL;

        int err = with_token(a, &p, &base, &token);
        if (!err)
                err = get_keys(a, base, &token, out);
        out->outlasts = !err; /* "static stability": the vendor takes them when it renews none */
        return err;
}

char *cred_imds_region(struct cred_ask *a)
{
        CLEANUP(profile_release) struct profile p = {0};
        CLEANUP(secret_buf_release) struct buf token = BUF_INIT;
        CLEANUP(cred_call_release) struct cred_call c = CRED_CALL("instance metadata", "GET");
        const char *base = NULL;

        if (with_token(a, &p, &base, &token) ||
            get(a, &c, base, "/latest/meta-data/placement/region", &token))
                return NULL;
        size_t n = strspn(c.reply.p, "abcdefghijklmnopqrstuvwxyz0123456789-");
        return n && !c.reply.p[n] ? strdup(c.reply.p) : NULL;
}

int cred_imds_document(struct cred_ask *a, struct json **out)
{
        enum { TRY_MS = 2400 /* two of them within 5 s */ };
        CLEANUP(profile_release) struct profile p = {0};
        CLEANUP(secret_buf_release) struct buf token = BUF_INIT;
        CLEANUP(cred_call_release) struct cred_call c = CRED_CALL("instance metadata", "GET");
        const char *base = NULL;

        a->machine_ms = TRY_MS;
        int err = with_token(a, &p, &base, &token);
        if (!err)
                err = get(a, &c, base, "/latest/dynamic/instance-identity/document", &token);
        return err ? err : cred_call_parse(a, &c, out);
}

/* --- of a container --- */

/* Plain HTTP is for this machine and the addresses of the vendor: the header is a secret. */
static bool may_ask(const char *url)
{
        static const char *const hosts[] = {"169.254.170.2", "169.254.170.23", "fd00:ec2::23"};
        char host[64];

        if (!strncasecmp(url, "https://", 8))
                return true;
        if (strncasecmp(url, "http://", 7) != 0 || http_url_host(url, host, sizeof host))
                return false;
        for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++)
                if (!strcmp(host, hosts[i]))
                        return true;
        return http_on_this_machine(url);
}

static int authorize(struct cred_ask *a, struct cred_call *c)
{
        CLEANUP(secret_buf_release) struct buf token = BUF_INIT;
        const char *file = cred_env("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
        const char *text = cred_env("AWS_CONTAINER_AUTHORIZATION_TOKEN");

        if (file) { /* each time anew: the file is renewed */
                int err = cred_read_file(a, file, &token);
                if (err)
                        return err == -ENOENT ? -EINVAL : err;
                while (token.len && strchr(" \r\n", token.p[token.len - 1]))
                        token.p[--token.len] = 0;
                text = token.p;
        }
        if (text && text[strcspn(text, "\r\n")])
                return cred_no(a, -EINVAL,
                               "the container's authorization token has more than one line: "
                               "correct %s",
                               file ? file : "AWS_CONTAINER_AUTHORIZATION_TOKEN");
        if (text)
                cred_call_header(c, "Authorization", text);
        return 0;
}

int cred_aws_container(struct cred_ask *a, struct cred *out)
{
        CLEANUP(cred_call_release) struct cred_call c = CRED_CALL("container credentials", "GET");
        CLEANUP(secret_json_freep) struct json *j = NULL;
        const char *relative = cred_env("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
        const char *full = cred_env("AWS_CONTAINER_CREDENTIALS_FULL_URI");

        if (!relative && !full)
                return cred_no(a, -ENOENT, "AWS_CONTAINER_CREDENTIALS_FULL_URI is not set");
        if (!relative && !may_ask(full))
                return cred_no(a, -EINVAL,
                               "AWS_CONTAINER_CREDENTIALS_FULL_URI leads to a host that plain HTTP "
                               "must not ask: give https, 169.254.170.2, 169.254.170.23, "
                               "[fd00:ec2::23] or this machine");
        if (relative && *relative != '/')
                return cred_no(a, -EINVAL,
                               "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI has no / at its start: "
                               "correct it");
        prepare(a, &c, relative ? "http://169.254.170.2" : "", relative ? relative : full);
        c.tries = 3;
        int err = authorize(a, &c);
        if (!err)
                err = cred_call_json(a, &c, &j);
        if (err) /* its address is set, so it has to be there */
                return err == -EHOSTDOWN ? -ETIMEDOUT : err;
        return cred_aws_take(a, j, "container credentials", "AccessKeyId", "Token", out);
}
