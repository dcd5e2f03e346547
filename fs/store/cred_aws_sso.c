/* SPDX-License-Identifier: Apache-2.0 */
/* cred_aws_sso.c: a role by single sign-on. The login itself is the vendor's tool's; what it caches
 * is used until it ends. */
#include "store/cred_aws.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/uri.h"

#include "base/banned.h"

struct login {
        const char *profile;
        const char *account, *role, *region;
        const char *cached_as; /* session's name, or the start URL */
};

static int settings_of(struct cred_ask *a, const struct profile *p, struct profile *session,
                       struct login *l)
{
        const char *name = profile_get(p, "sso_session");

        *l = (struct login){.profile = a->profile,
                            .account = profile_get(p, "sso_account_id"),
                            .role = profile_get(p, "sso_role_name")};
        if (name) {
                int err = profile_load("sso-session", name, session, a->why, sizeof a->why);
                if (err)
                        return err;
                if (!session->found)
                        return cred_no(a, -EINVAL,
                                       "profile '%s' names sso_session '%s', which is not in %s: "
                                       "add [sso-session %s]",
                                       a->profile, name, p->config_file, name);
                l->region = profile_get(session, "sso_region");
                l->cached_as = name;
        } else {
                l->region = profile_get(p, "sso_region");
                l->cached_as = profile_get(p, "sso_start_url");
        }
        const char *lacks = !l->account  ? "sso_account_id"
                            : !l->role   ? "sso_role_name"
                            : !l->region ? "sso_region"
                                         : NULL;
        if (lacks)
                return cred_no(a, -EINVAL, "profile '%s' has SSO settings but no %s: add it in %s",
                               a->profile, lacks, p->config_file);
        return 0;
}

/* The token of the login, from the cache of the vendor's tool. */
static int cached_token(struct cred_ask *a, const struct login *l, struct json **cache)
{
        CLEANUP(secret_buf_release) struct buf text = BUF_INIT;
        CLEANUP(buf_release) struct buf below = BUF_INIT;
        char hex[2 * SHA1_LEN + 1], why[64];
        uint8_t sum[SHA1_LEN];

        sha1(l->cached_as, strlen(l->cached_as), sum);
        hex_encode(sum, sizeof sum, hex);
        buf_addf(&below, ".aws/sso/cache/%s.json", hex);
        CLEANUP(freep) char *file = home_path(below.p);
        if (!file || below.failed)
                return cred_no(a, -ENOMEM, "no memory: end another program");
        int err = cred_read_file(a, file, &text);
        if (err == -ENOENT)
                return cred_no(
                        a, -EACCES,
                        "profile '%s': no login is cached in %s: run aws sso login --profile "
                        "%s",
                        l->profile, file, l->profile);
        if (err)
                return err;
        if (json_parse(file, text.p, text.len, cache, why, sizeof why) ||
            !json_string(json_get(*cache, "accessToken"), NULL))
                return cred_no(a, -EBADMSG,
                               "profile '%s': %s holds no login: run aws sso login --profile %s",
                               l->profile, file, l->profile);
        if (cred_time(json_string(json_get(*cache, "expiresAt"), "")) <= time(NULL))
                return cred_no(a, -EACCES,
                               "profile '%s': the login has expired: run aws sso login --profile "
                               "%s",
                               l->profile, l->profile);
        return 0;
}

static int take(struct cred_ask *a, const struct json *reply, struct cred *out)
{
        const struct json *j = json_get(reply, "roleCredentials");
        const char *access = cred_json_string(a, j, "accessKeyId", "SSO's answer");
        const char *secret =
                access ? cred_json_string(a, j, "secretAccessKey", "SSO's answer") : NULL;
        double ms = json_number(json_get(j, "expiration"), 0);

        if (!secret)
                return -EBADMSG;
        return cred_keys(out, access, secret, json_string(json_get(j, "sessionToken"), NULL),
                         (time_t)(ms / 1000));
}

int cred_aws_sso(struct cred_ask *a, const struct profile *p, struct cred *out)
{
        CLEANUP(profile_release) struct profile session = {0};
        CLEANUP(secret_json_freep) struct json *cache = NULL, *reply = NULL;
        CLEANUP(cred_call_release) struct cred_call c = CRED_CALL("SSO", "GET");
        CLEANUP(secret_freep) char *endpoint = NULL;
        struct login l;

        int err = settings_of(a, p, &session, &l);
        if (!err)
                err = cached_token(a, &l, &cache);
        if (!err)
                err = cred_aws_endpoint(a, p, "SSO", &endpoint);
        if (err)
                return err == -ENOENT ? -EINVAL : err;
        const struct uri_pair query[] = {{"role_name", l.role}, {"account_id", l.account}};
        if (endpoint)
                buf_adds(&c.url, endpoint);
        else
                buf_addf(&c.url, "https://portal.sso.%s.amazonaws.com", l.region);
        buf_adds(&c.url, "/federation/credentials?");
        uri_encode_query(&c.url, query, 2);
        cred_call_header(&c, "x-amz-sso_bearer_token",
                         json_string(json_get(cache, "accessToken"), ""));
        err = cred_call_json(a, &c, &reply);
        if (err == -EACCES)
                return cred_remedy(a, err,
                                   "profile '%s' has no login any more, or not that role: "
                                   "run aws sso login --profile %s",
                                   l.profile, l.profile);
        return err ? err : take(a, reply, out);
}
