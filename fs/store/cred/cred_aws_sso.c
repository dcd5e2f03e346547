/* SPDX-License-Identifier: Apache-2.0 */
/* cred_aws_sso.c: a role by single sign-on, with the login that the vendor's tool has cached. */
#include "store/cred/cred_aws.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/text/aws_host.h"
#include "base/cleanup.h"
#include "base/text/uri.h"

#include "base/banned.h"

static int settings_of(struct cred_ask *a, const struct profile *p, struct profile *session,
                       struct cred_login *l)
{
        const char *name = profile_get(p, "sso_session");

        *l = (struct cred_login){.profile = a->profile,
                                 .account = profile_get(p, "sso_account_id"),
                                 .role = profile_get(p, "sso_role_name"),
                                 .renewed = name};
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

#define MS_MOST 1e15 /* later than any clock of ours */

static int take(struct cred_ask *a, const struct json *reply, struct cred *out)
{
        const struct json *j = json_get(reply, "roleCredentials");
        const char *access = cred_json_string(a, j, "accessKeyId", "SSO's answer");
        const char *secret =
                access ? cred_json_string(a, j, "secretAccessKey", "SSO's answer") : NULL;
        const char *token;
        double ms = json_number(json_get(j, "expiration"), 0);
        time_t expiry = ms > 0 && ms < MS_MOST ? (time_t)(ms / 1000) : 0;

        if (!secret || cred_json_option(a, j, "sessionToken", "SSO's answer", &token))
                return -EBADMSG;
        if (!expiry)
                return cred_no(a, -EBADMSG,
                               "SSO's answer has no expiration that is a time: update "
                               "what answers in its place");
        return cred_keys(out, access, secret, token, expiry);
}

int cred_aws_sso(struct cred_ask *a, const struct profile *p, struct cred *out)
{
        CLEANUP(profile_release) struct profile session = {0};
        CLEANUP(secret_json_freep) struct json *reply = NULL;
        CLEANUP(cred_call_release) struct cred_call c = CRED_CALL("SSO", "GET");
        CLEANUP(secret_freep) char *endpoint = NULL, *token = NULL;
        struct cred_login l;

        int err = settings_of(a, p, &session, &l);
        if (!err)
                err = cred_aws_login(a, p, &l, &token);
        if (!err)
                err = cred_aws_endpoint(a, p, "SSO", &endpoint);
        if (err)
                return err == -ENOENT ? -EINVAL : err;
        const struct uri_pair query[] = {{"role_name", l.role}, {"account_id", l.account}};
        if (endpoint)
                buf_adds(&c.url, endpoint);
        else
                aws_service_url(&c.url, "portal.sso", l.region, a->fips, a->dualstack);
        buf_adds(&c.url, "/federation/credentials?");
        uri_encode_query(&c.url, query, 2);
        cred_call_header(&c, "x-amz-sso_bearer_token", token);
        err = cred_call_json(a, &c, &reply);
        if (err == -EACCES)
                return cred_remedy(a, err,
                                   "profile '%s' has no login any more, or not that role: "
                                   "run aws sso login --profile %s",
                                   l.profile, l.profile);
        return err ? err : take(a, reply, out);
}
