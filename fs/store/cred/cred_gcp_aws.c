/* SPDX-License-Identifier: Apache-2.0 */
/* cred_gcp_aws.c: an AWS identity as a subject token for Google: a request to GetCallerIdentity,
 * signed but not sent, which Google sends to see who signed it. */
#include "store/cred/cred_gcp.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/sign/sign_v4.h"
#include "store/cred/cred_aws.h"

#include "base/banned.h"

enum { QUERY_MAX = 8 };

static int aws_keys(struct cred_ask *a, struct cred *out)
{
        int err = cred_aws_env(a, out);
        if (err == -ENOENT)
                err = cred_aws_container(a, out);
        if (err == -ENOENT)
                err = cred_aws_imds(a, out);
        return err;
}

/* The region of the environment or of the machine; malloc'ed. */
static char *aws_region(struct cred_ask *a)
{
        const char *env = cred_env("AWS_REGION");
        if (!env)
                env = cred_env("AWS_DEFAULT_REGION");
        return env ? strdup(env) : cred_imds_region(a);
}

/* The address that the file gives, with its "{region}" filled in. */
static char *address(const struct gcp_file *f, const char *region)
{
        CLEANUP(buf_release) struct buf url = BUF_INIT;
        const char *given = json_string(
                json_get(json_get(f->j, "credential_source"), "regional_cred_verification_url"),
                "https://sts.{region}.amazonaws.com?Action=GetCallerIdentity&Version=2011-06-15");
        const char *at = strstr(given, "{region}");

        buf_add(&url, given, at ? (size_t)(at - given) : strlen(given));
        if (at)
                buf_addf(&url, "%s%s", region, at + strlen("{region}"));
        return buf_take(&url);
}

static int add_header(struct json *list, const char *key, const char *value)
{
        struct json *h = json_add_object(list, NULL);
        return json_add_string(h, "key", key) || json_add_string(h, "value", value) ? -ENOMEM : 0;
}

/* The request as JSON, encoded for a URL. */
static int describe(const char *url, const struct uri_pair *headers, size_t n, const char *date,
                    const char *auth, struct buf *token)
{
        CLEANUP(secret_json_freep) struct json *j = json_new_object();
        int err = json_add_string(j, "url", url) || json_add_string(j, "method", "POST") ? -ENOMEM
                                                                                         : 0;
        struct json *list = json_add_array(j, "headers");
        for (size_t i = 0; !err && i < n; i++)
                err = add_header(list, headers[i].name, headers[i].value);
        if (err || add_header(list, "x-amz-date", date) || add_header(list, "Authorization", auth))
                return -ENOMEM;
        CLEANUP(secret_freep) char *text = json_print(j);
        return text ? uri_encode(token, text, false) : -ENOMEM;
}

static int sign(const struct cred *keys, time_t now, const char *region, const char *audience,
                char *url, struct buf *token)
{
        CLEANUP(freep) char *copy = strdup(url);
        CLEANUP(buf_release) struct buf auth = BUF_INIT;
        struct uri_pair query[QUERY_MAX];
        char date[SIGN_DATE_LEN];
        char *host = copy ? strstr(copy, "://") : NULL, *rest = NULL;

        if (!host)
                return copy ? -EINVAL : -ENOMEM;
        host += 3;
        rest = strchr(host, '?');
        int nquery = 0;
        if (rest) {
                *rest++ = 0;
                nquery = uri_split_query(rest, query, QUERY_MAX);
        }
        host[strcspn(host, "/")] = 0;
        if (nquery < 0)
                return -EINVAL;
        const struct uri_pair headers[] = {
                {"host", host},
                {"x-goog-cloud-target-resource", audience},
                {"x-amz-security-token", keys->token ? keys->token : ""},
        };
        const struct sign_request req = {
                .method = "POST",
                .path = "/",
                .query = query,
                .nquery = (size_t)nquery,
                .headers = headers,
                .nheaders = keys->token ? 3 : 2,
                .payload_hash = SIGN_EMPTY_PAYLOAD,
        };
        const struct sign_key key = {.access = keys->access,
                                     .secret = keys->secret,
                                     .region = region,
                                     .service = "sts",
                                     .token = keys->token};
        int err = sign_v4(&req, &key, now, date, &auth);
        return err ? err : describe(url, headers, req.nheaders, date, auth.p, token);
}

int gcp_aws_subject(struct cred_ask *a, const struct gcp_file *f, struct buf *token)
{
        CLEANUP(cred_release) struct cred keys = CRED_INIT;
        CLEANUP(freep) char *profile = strdup("default");
        const char *audience = gcp_field(a, f, "audience");
        struct cred_ask aws = {.profile = profile,
                               .ca_bundle = a->ca_bundle,
                               .skew_s = a->skew_s,
                               .stop = a->stop};

        if (!audience || !profile)
                return audience ? -ENOMEM : -EINVAL;
        CLEANUP(freep) char *region = aws_region(&aws);
        if (!region)
                return cred_no(a, -EINVAL,
                               "%s wants an AWS identity, but no region is known: set "
                               "AWS_REGION",
                               f->path);
        int err = aws_keys(&aws, &keys);
        if (err)
                return cred_no(a, err == -ENOENT ? -EINVAL : err,
                               "%s wants an AWS identity: %.700s: set AWS_ACCESS_KEY_ID and "
                               "AWS_SECRET_ACCESS_KEY, or give this machine a role",
                               f->path, aws.why);
        CLEANUP(freep) char *url = address(f, region);
        err = url ? sign(&keys, cred_now(a), region, audience, url, token) : -ENOMEM;
        if (err)
                return cred_no(a, err,
                               "%s: regional_cred_verification_url cannot be signed: have "
                               "the file made anew",
                               f->path);
        return 0;
}
