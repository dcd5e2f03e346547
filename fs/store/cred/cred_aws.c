/* SPDX-License-Identifier: Apache-2.0 */
/* cred_aws.c: the order in which AWS credentials are looked for, the settings beside them, and the
 * first of the sources, the environment. */
#include "store/cred/cred_aws.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"

#include "base/banned.h"

int cred_aws_env(struct cred_ask *a, struct cred *out)
{
        const char *access = cred_env("AWS_ACCESS_KEY_ID");
        const char *secret = cred_env("AWS_SECRET_ACCESS_KEY");

        if (a->profile_given)
                return cred_no(a, -ENOENT, "not asked, as profile '%s' is named", a->profile);
        if (!access && !secret)
                return cred_no(a, -ENOENT, "AWS_ACCESS_KEY_ID is not set");
        if (!access || !secret)
                return cred_no(a, -EINVAL, "%s is set but %s is not: set both or neither",
                               access ? "AWS_ACCESS_KEY_ID" : "AWS_SECRET_ACCESS_KEY",
                               access ? "AWS_SECRET_ACCESS_KEY" : "AWS_ACCESS_KEY_ID");
        return cred_keys(out, access, secret, cred_env("AWS_SESSION_TOKEN"), 0);
}

int cred_aws_take(struct cred_ask *a, const struct json *j, const char *where, const char *access,
                  const char *token, struct cred *out)
{
        const char *code = json_string(json_get(j, "Code"), "Success"), *expires, *session;

        if (strcmp(code, "Success") != 0)
                return cred_no(a, -EACCES, "%s: %.100s: see to the role there", where, code);
        const char *id = cred_json_string(a, j, access, where);
        const char *secret = id ? cred_json_string(a, j, "SecretAccessKey", where) : NULL;
        if (!secret)
                return -EBADMSG;
        if (cred_json_option(a, j, "Expiration", where, &expires) ||
            cred_json_option(a, j, token, where, &session))
                return -EBADMSG;
        time_t expiry = expires ? cred_time(expires) : 0;
        if (expires && !expiry)
                return cred_no(a, -EBADMSG,
                               "%s: Expiration is no time such as 2030-01-01T00:00:00Z: correct it",
                               where);
        return cred_keys(out, id, secret, session, expiry);
}

static const char *first(const char *a, const char *b)
{
        return a ? a : b;
}

int cred_aws_endpoint(struct cred_ask *a, const struct profile *p, const char *service, char **out)
{
        CLEANUP(profile_release) struct profile services = {0};
        char variable[64], nested[64];
        const char *section = profile_get(p, "services");
        size_t n = strlen(service);

        if (cred_is_true(first(cred_env("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"),
                               profile_get(p, "ignore_configured_endpoint_urls"))))
                return 0;
        snprintf(variable, sizeof variable, "AWS_ENDPOINT_URL_%s", service);
        const char *url = first(cred_env(variable), cred_env("AWS_ENDPOINT_URL"));
        if (!url && section) {
                if (profile_load("services", section, &services, a->why, sizeof a->why))
                        return -EINVAL;
                if (!services.found)
                        return cred_no(a, -EINVAL,
                                       "profile '%s' names services '%s', which is not in %s: add "
                                       "[services %s]",
                                       a->profile, section, p->config_file, section);
                snprintf(nested, sizeof nested, "%s.endpoint_url", service);
                for (size_t i = 0; i < n && i < sizeof nested; i++)
                        nested[i] = (char)tolower((unsigned char)nested[i]);
                url = profile_get(&services, nested);
        }
        if (!url)
                url = profile_get(p, "endpoint_url");
        return cred_set(out, url);
}

static int read_settings(struct cred_ask *a, const struct cred_want *want,
                         struct cred_settings *set)
{
        CLEANUP(profile_release) struct profile p = {0};
        const char *from_env = first(cred_env("AWS_PROFILE"), cred_env("AWS_DEFAULT_PROFILE"));

        a->profile_given = want->profile && *want->profile;
        if (cred_set(&a->profile, a->profile_given ? want->profile : first(from_env, "default")))
                return -ENOMEM;
        int err = profile_load("profile", a->profile, &p, a->why, sizeof a->why);
        if (err)
                return err;
        if (!p.found && (a->profile_given || from_env))
                return cred_no(a, -ENOENT,
                               "profile '%s' is not in %s or %s: name one that is there, or add it",
                               a->profile, p.config_file, p.credentials_file);
        const char *region = first(cred_env("AWS_REGION"), cred_env("AWS_DEFAULT_REGION"));
        if (cred_set(&set->region, first(region, profile_get(&p, "region"))) ||
            cred_set(&set->ca_bundle,
                     first(cred_env("AWS_CA_BUNDLE"), profile_get(&p, "ca_bundle"))))
                return -ENOMEM;
        set->fips = cred_is_true(
                first(cred_env("AWS_USE_FIPS_ENDPOINT"), profile_get(&p, "use_fips_endpoint")));
        set->dualstack = cred_is_true(first(cred_env("AWS_USE_DUALSTACK_ENDPOINT"),
                                            profile_get(&p, "use_dualstack_endpoint")));
        const char *sums = first(cred_env("AWS_REQUEST_CHECKSUM_CALCULATION"),
                                 profile_get(&p, "request_checksum_calculation"));
        set->sums_when_required = sums && !strcasecmp(sums, "when_required");
        return cred_aws_endpoint(a, &p, "S3", &set->endpoint);
}

static const struct cred_source sources[] = {
        {"environment", cred_aws_env},        {"profile", cred_aws_profile},
        {"web identity", cred_aws_web},       {"container", cred_aws_container},
        {"instance metadata", cred_aws_imds},
};

const struct cred_vendor cred_aws = {
        .read_settings = read_settings,
        .sources = sources,
        .nsources = sizeof sources / sizeof *sources,
        .remedy = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, name a profile that has keys, "
                  "give this machine a role, or set anonymous where none are asked for",
};
