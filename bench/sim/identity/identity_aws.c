/* SPDX-License-Identifier: Apache-2.0 */
/* identity_aws.c: the instance's metadata server (version 2), the container's credentials, and the
 * portal of IAM Identity Center. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/sim/identity/identity_i.h"
#include "base/banned.h"

/* A session token of the metadata server holds the time when it ends. */
#define IMDS_TOKEN "imds-token-"

void ask_imds_token(struct ask *a)
{
        const char *ttl = http_header(&a->x->rq, "x-aws-ec2-metadata-token-ttl-seconds");
        long seconds = ttl ? strtol(ttl, NULL, 10) : 0;
        char text[64];

        if (http_header(&a->x->rq, "x-forwarded-for")) {
                ask_refuse(a, STYLE_TEXT, 403, "Forbidden", "It came by a proxy.");
        } else if (seconds < 1 || seconds > 21600) {
                ask_refuse(a, STYLE_TEXT, 400, "Bad Request", "The time to live is 1 to 21600 s.");
        } else {
                snprintf(text, sizeof text, IMDS_TOKEN "%lld",
                         (long long)time(NULL) + (a->expired ? -1 : seconds));
                request_header(a->x, "X-Aws-Ec2-Metadata-Token-Ttl-Seconds", ttl);
                ask_reply_text(a, text);
        }
}

/* Without a token that is good nothing is told, but where the first version is allowed. */
static bool lacks_imds_token(struct ask *a)
{
        const char *token = http_header(&a->x->rq, "x-aws-ec2-metadata-token");
        const struct json *all = json_get(identity_tree(a->id), "imds.credentials");
        size_t n = strlen(IMDS_TOKEN);

        if (!token && json_bool(json_get(all, "v1"), false))
                return false;
        if (token && !strncmp(token, IMDS_TOKEN, n) &&
            strtoll(token + n, NULL, 10) > (long long)time(NULL))
                return false;
        ask_refuse(a, STYLE_TEXT, 401, "Unauthorized", "A token of this server is needed.");
        return true;
}

static const char *role_name(struct ask *a)
{
        const struct json *all = json_get(identity_tree(a->id), "imds.credentials");

        return json_string(json_get(all, "role"), "sim-role");
}

void ask_imds_roles(struct ask *a)
{
        if (!lacks_imds_token(a))
                ask_reply_text(a, role_name(a));
}

static struct json *keys(const struct issued *is, const char *token)
{
        struct json *j = json_new_object();
        char expires[32];

        issue_time(is->expires, expires);
        json_add_string(j, "AccessKeyId", is->access);
        json_add_string(j, "SecretAccessKey", is->secret);
        json_add_string(j, token, is->session);
        json_add_string(j, "Expiration", expires);
        return j;
}

void ask_imds_credentials(struct ask *a)
{
        struct issued is;

        if (lacks_imds_token(a))
                return;
        if (strcmp(strrchr(a->x->rq.path, '/') + 1, role_name(a))) {
                ask_refuse(a, STYLE_TEXT, 404, "Not Found", "There is no such role.");
                return;
        }
        ask_issue(a, 0, &is);
        struct json *j = keys(&is, "Token");
        json_add_string(j, "Code", "Success");
        json_add_string(j, "Type", "AWS-HMAC");
        ask_reply_json(a, j);
}

void ask_imds_region(struct ask *a)
{
        if (!lacks_imds_token(a))
                ask_reply_text(a, ask_text(a, "region", a->s->region ? a->s->region : "us-east-1"));
}

/* What the machine is. */
void ask_imds_document(struct ask *a)
{
        static const char *const fields[][2] = {{"architecture", "x86_64"},
                                                {"imageId", "ami-00000000000000000"},
                                                {"instanceType", "sim.large"},
                                                {"region", "us-east-1"}};
        if (lacks_imds_token(a))
                return;
        struct json *j = json_new_object();
        for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
                json_add_string(j, fields[i][0], ask_text(a, fields[i][0], fields[i][1]));
        ask_reply_json(a, j);
}

void ask_ecs(struct ask *a)
{
        struct issued is;

        if (ask_lacks(a, "authorization", http_header(&a->x->rq, "authorization"))) {
                ask_refuse(a, STYLE_JSON, 401, "Unauthorized", "The token is not the task's.");
                return;
        }
        ask_issue(a, 0, &is);
        ask_reply_json(a, keys(&is, "Token"));
}

void ask_sso_credentials(struct ask *a)
{
        struct json *j, *role;
        struct issued is;

        if (ask_lacks(a, "token", http_header(&a->x->rq, "x-amz-sso_bearer_token"))) {
                ask_refuse(a, STYLE_JSON, 401, "UnauthorizedException",
                           "Session token not found or invalid");
                return;
        }
        if (ask_lacks(a, "account_id", ask_param(a, "account_id")) ||
            ask_lacks(a, "role_name", ask_param(a, "role_name"))) {
                ask_refuse(a, STYLE_JSON, 403, "ForbiddenException", "No access");
                return;
        }
        ask_issue(a, 0, &is);
        j = json_new_object();
        role = json_add_object(j, "roleCredentials");
        json_add_string(role, "accessKeyId", is.access);
        json_add_string(role, "secretAccessKey", is.secret);
        json_add_string(role, "sessionToken", is.session);
        json_add_number(role, "expiration", (double)is.expires * 1000);
        ask_reply_json(a, j);
}

/* Whether a refresh token is good. One that renews once has the number of the renewal behind it,
 * and `next` is that which follows, else "". */
static bool renews(struct ask *a, const char *given, char next[IDENTITY_TEXT_MAX])
{
        const char *first = ask_text(a, "refresh_token", "refresh");
        size_t n = strlen(first);

        *next = 0;
        if (!json_bool(json_get(a->cfg, "once"), false))
                return !ask_lacks(a, "refresh_token", given);
        if (!given || strncmp(given, first, n) || (given[n] && given[n] != '.'))
                return false;
        unsigned number = given[n] ? (unsigned)strtoul(given + n + 1, NULL, 10) : 0;
        if (!identity_renews(a->id, number))
                return false;
        snprintf(next, IDENTITY_TEXT_MAX, "%s.%u", first, number + 1);
        return true;
}

/* A login that is refreshed: JSON both ways. The new token is the one that the portal demands. */
void ask_sso_token(struct ask *a)
{
        const struct json *portal = json_get(identity_tree(a->id), "sso.credentials");
        struct json *in = NULL, *j;
        struct issued is;
        char why[128], next[IDENTITY_TEXT_MAX];

        if (json_parse("body", a->x->text.p, a->x->text.len, &in, why, sizeof why) ||
            !renews(a, json_string(json_get(in, "refreshToken"), NULL), next)) {
                json_free(in);
                ask_refuse(a, STYLE_OAUTH, 400, "invalid_grant", "The refresh token is not known.");
                return;
        }
        json_free(in);
        ask_issue(a, 0, &is);
        j = json_new_object();
        json_add_string(j, "accessToken", json_string(json_get(portal, "token"), is.token));
        json_add_string(j, "tokenType", "Bearer");
        json_add_number(j, "expiresIn", (double)is.expires_in);
        if (*next)
                json_add_string(j, "refreshToken", next);
        ask_reply_json(a, j);
}
