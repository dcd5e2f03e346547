/* SPDX-License-Identifier: Apache-2.0 */
/* cred_aws_profile.c: what a profile of the shared files says: keys, a program, a login, or a role
 * to be assumed with the credentials of another profile, and so on. The files are read anew each
 * time, so that keys changed there are seen. */
#include "store/cred/cred_aws.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#include "base/banned.h"

enum { CHAIN_MAX = 8, PROGRAM_MS = 60000 };

/* The profiles between the one that was asked for and this one. */
struct link {
        const char *name;
        const struct link *from;
        unsigned depth;
};

static int from_program(struct cred_ask *a, const char *name, const char *command, struct cred *out)
{
        CLEANUP(freep) char **argv = cred_split(command);
        CLEANUP(secret_buf_release) struct buf text = BUF_INIT;
        CLEANUP(secret_json_freep) struct json *j = NULL;
        char what[128], why[64];

        snprintf(what, sizeof what, "credential_process of profile '%.80s'", name);
        if (!argv)
                return cred_no(a, -EINVAL, "%s: a quote is not closed: correct it", what);
        int err = cred_exec(a, what, argv, NULL, PROGRAM_MS, &text);
        if (err)
                return err;
        if (json_parse(what, text.p, text.len, &j, why, sizeof why))
                return cred_no(a, -EBADMSG, "%s prints something that is no JSON: correct %s", what,
                               argv[0]);
        if (json_number(json_get(j, "Version"), 0) != 1)
                return cred_no(a, -EBADMSG, "%s prints no \"Version\": 1: correct %s", what,
                               argv[0]);
        return cred_aws_take(a, j, what, "AccessKeyId", "SessionToken", out);
}

static int from_keys(struct cred_ask *a, const char *name, const struct profile *p,
                     struct cred *out)
{
        const char *access = profile_get(p, "aws_access_key_id");
        const char *secret = profile_get(p, "aws_secret_access_key");

        if (!access && !secret)
                return -ENOENT;
        if (!access || !secret)
                return cred_no(a, -EINVAL, "profile '%s' has %s but no %s: add it in %s", name,
                               access ? "aws_access_key_id" : "aws_secret_access_key",
                               access ? "aws_secret_access_key" : "aws_access_key_id",
                               p->credentials_file);
        snprintf(a->secret_file, sizeof a->secret_file, "%s", p->secret_file);
        return cred_keys(out, access, secret, profile_get(p, "aws_session_token"), 0);
}

static int from_profile(struct cred_ask *a, const struct link *at, struct cred *out);

/* credential_source: a source outside of the files. */
static int from_named_source(struct cred_ask *a, const char *name, const char *source,
                             struct cred *out)
{
        static const struct {
                const char *name;
                cred_source_fn *fetch;
        } named[] = {{"Environment", cred_aws_env},
                     {"EcsContainer", cred_aws_container},
                     {"Ec2InstanceMetadata", cred_aws_imds}};

        for (size_t i = 0; i < sizeof named / sizeof *named; i++)
                if (!strcmp(named[i].name, source)) {
                        bool given = a->profile_given;
                        a->profile_given = false; /* the profile itself points there */
                        int err = named[i].fetch(a, out);
                        a->profile_given = given;
                        return err == -ENOENT ? -EINVAL : err == -EHOSTDOWN ? -ETIMEDOUT : err;
                }
        return cred_no(a, -EINVAL,
                       "profile '%s': credential_source '%s' is none: give Environment, "
                       "EcsContainer or Ec2InstanceMetadata",
                       name, source);
}

/* The credentials that a role is assumed with. */
static int source_of(struct cred_ask *a, const struct link *at, const struct profile *p,
                     struct cred *out)
{
        const char *source = profile_get(p, "source_profile");
        const char *named = profile_get(p, "credential_source");

        if (!source == !named)
                return cred_no(a, -EINVAL,
                               "profile '%s' has role_arn and %s source_profile and "
                               "credential_source: give one of them",
                               at->name, source ? "both" : "neither");
        if (named)
                return from_named_source(a, at->name, named, out);
        if (!strcmp(source, at->name)) { /* its own keys */
                int err = from_keys(a, at->name, p, out);
                return err != -ENOENT ? err
                                      : cred_no(a, -EINVAL,
                                                "profile '%s' is its own source_profile but has no "
                                                "keys: add them",
                                                at->name);
        }
        for (const struct link *l = at; l; l = l->from)
                if (!strcmp(l->name, source) || at->depth >= CHAIN_MAX)
                        return cred_no(a, -EINVAL,
                                       "profile '%s': source_profile leads back to '%s' or on and "
                                       "on: end the chain with keys",
                                       at->name, source);
        const struct link next = {.name = source, .from = at, .depth = at->depth + 1};
        int err = from_profile(a, &next, out);
        return err == -ENOENT ? cred_no(a, -EINVAL,
                                        "profile '%s', the source_profile of '%s', has no "
                                        "credentials or is not in %s: add them",
                                        source, at->name, p->config_file)
                              : err;
}

static int from_role(struct cred_ask *a, const struct link *at, const struct profile *p,
                     struct cred *out)
{
        CLEANUP(cred_release) struct cred with = CRED_INIT;
        CLEANUP(secret_freep) char *endpoint = NULL;
        struct cred_role role = {
                .arn = profile_get(p, "role_arn"),
                .session = profile_get(p, "role_session_name"),
                .external_id = profile_get(p, "external_id"),
                .duration = profile_get(p, "duration_seconds"),
                .token_file = profile_get(p, "web_identity_token_file"),
                .region = a->region ? a->region : profile_get(p, "region"),
        };

        if (profile_get(p, "mfa_serial"))
                return cred_no(a, -EOPNOTSUPP,
                               "profile '%s' has mfa_serial, and a mount cannot ask for a code: "
                               "use a role without it, or keys of a session got by hand",
                               at->name);
        if (role.duration && role.duration[strspn(role.duration, "0123456789")])
                return cred_no(a, -EINVAL, "profile '%s': duration_seconds is no number: give 3600",
                               at->name);
        int err = cred_aws_endpoint(a, p, "STS", &endpoint);
        if (!err && !role.token_file)
                err = source_of(a, at, p, &with);
        if (err)
                return err;
        role.with = &with;
        role.endpoint = endpoint;
        return cred_aws_role(a, &role, out);
}

static int from_profile(struct cred_ask *a, const struct link *at, struct cred *out)
{
        CLEANUP(profile_release) struct profile p = {0};

        int err = profile_load("profile", at->name, &p, a->why, sizeof a->why);
        if (err)
                return err == -ENOENT ? -EINVAL : err;
        if (profile_get(&p, "role_arn"))
                return from_role(a, at, &p, out);
        err = from_keys(a, at->name, &p, out);
        if (err != -ENOENT)
                return err;
        if (profile_get(&p, "sso_session") || profile_get(&p, "sso_start_url"))
                return cred_aws_sso(a, &p, out);
        if (profile_get(&p, "credential_process"))
                return from_program(a, at->name, profile_get(&p, "credential_process"), out);
        if (profile_get(&p, "mfa_serial"))
                return cred_no(a, -EOPNOTSUPP,
                               "profile '%s' has mfa_serial, and a mount cannot ask for a code",
                               at->name);
        if (profile_get(&p, "login_session"))
                return cred_no(a, -EOPNOTSUPP,
                               "profile '%s' has the login_session of aws login, whose keys last "
                               "minutes and are not renewed here: give a profile with "
                               "credential_process = aws configure export-credentials --format "
                               "process --profile %s",
                               at->name, at->name);
        return cred_no(a, -ENOENT, "'%s' has no credentials in %s or %s", at->name,
                       p.credentials_file, p.config_file);
}

int cred_aws_profile(struct cred_ask *a, struct cred *out)
{
        const struct link first = {.name = a->profile};
        return from_profile(a, &first, out);
}
