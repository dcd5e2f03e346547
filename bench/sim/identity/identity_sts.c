/* SPDX-License-Identifier: Apache-2.0 */
/* identity_sts.c: the Security Token Service: roles assumed, and who signed a request. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/sign/sign_v4.h"
#include "bench/sim/identity/identity_i.h"
#include "base/banned.h"

#define STS_XMLNS " xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\""

int sts_verify(struct ask *a, const struct sign_request *rq, const char *authorization,
               const char *session, const char **why)
{
        CLEANUP(sign_claim_release) struct sign_claim claim = {.text = NULL};
        char issued[IDENTITY_TEXT_MAX];
        const struct json *keys = json_get(identity_tree(a->id), "keys");

        *why = "MissingAuthenticationToken";
        if (!authorization || sign_claim_parse(authorization, &claim))
                return -EACCES;
        const char *secret = json_string(json_get(keys, claim.access), NULL);
        if (!secret && a->s->access_key && !strcmp(claim.access, a->s->access_key))
                secret = a->s->secret_key;
        if (!secret) {
                int err = identity_secret(a->id, claim.access, session, issued);
                *why = err == -ETIME ? "ExpiredToken" : "InvalidClientTokenId";
                if (err)
                        return -EACCES;
                secret = issued;
        }
        *why = "SignatureDoesNotMatch";
        return strcmp(claim.service, "sts") || sign_v4_verify(rq, &claim, secret) ? -EACCES : 0;
}

/* "In most cases, a request must reach AWS within five minutes of the time stamp in the request.
 * Otherwise, AWS denies the request" (user guide of IAM, "AWS Signature Version 4 for API
 * requests"). */
bool sts_time_error(struct ask *a, const char *date, char said[STS_TIME_ERROR])
{
        enum { SKEW_MAX_S = 5 * 60 };
        time_t then, now = time(NULL) + a->s->clock_skew_s;

        if (!date || sign_v4_parse_date(date, &then) ||
            (then >= now - SKEW_MAX_S && then <= now + SKEW_MAX_S))
                return false;
        snprintf(said, STS_TIME_ERROR, "Signature %s: %.16s is %s than this server's time",
                 then < now ? "expired" : "not yet current", date,
                 then < now ? "earlier" : "later");
        return true;
}

/* Whether the request itself is not signed as it should be. */
static bool is_unsigned(struct ask *a)
{
        struct request *x = a->x;
        struct uri_pair headers[HTTP_HEADERS_MAX];
        uint8_t sum[SHA256_LEN];
        char hash[2 * SHA256_LEN + 1], said[STS_TIME_ERROR];
        const char *why;
        struct sign_request rq = request_signed(x, headers);

        if (sts_time_error(a, http_header(&x->rq, "x-amz-date"), said)) {
                ask_refuse(a, STYLE_XML, 403, "SignatureDoesNotMatch", said);
                return true;
        }
        rq.payload_hash = hash;
        sha256(x->text.p, x->text.len, sum);
        hex_encode(sum, sizeof sum, hash);
        if (!sts_verify(a, &rq, http_header(&x->rq, "authorization"),
                        http_header(&x->rq, "x-amz-security-token"), &why))
                return false;
        ask_refuse(a, STYLE_XML, 403, why, "The signature was not verified.");
        return true;
}

static void reply_role(struct ask *a, const char *action)
{
        struct buf *b = &a->x->body;
        const char *duration = ask_param(a, "DurationSeconds");
        struct issued is;
        char expires[32];

        ask_issue(a, duration ? strtol(duration, NULL, 10) : 0, &is);
        issue_time(is.expires + a->s->clock_skew_s, expires);
        buf_addf(b,
                 "<%sResponse" STS_XMLNS "><%sResult><Credentials><AccessKeyId>%s</AccessKeyId>"
                 "<SecretAccessKey>%s</SecretAccessKey><SessionToken>%s</SessionToken>"
                 "<Expiration>%s</Expiration></Credentials></%sResult></%sResponse>",
                 action, action, is.access, is.secret, is.session, expires, action, action);
        ask_reply(a, "text/xml");
}

static void deny(struct ask *a, const char *action)
{
        char why[128];

        snprintf(why, sizeof why, "Not authorized to perform sts:%s", action);
        ask_refuse(a, STYLE_XML, 403, "AccessDenied", why);
}

static void assume_role(struct ask *a)
{
        if (is_unsigned(a))
                return;
        if (ask_lacks(a, "role_arn", ask_param(a, "RoleArn")) || !ask_param(a, "RoleSessionName") ||
            ask_lacks(a, "external_id", ask_param(a, "ExternalId")) ||
            ask_lacks(a, "session_name", ask_param(a, "RoleSessionName")))
                deny(a, "AssumeRole");
        else
                reply_role(a, "AssumeRole");
}

static void assume_with_web_identity(struct ask *a)
{
        if (ask_lacks(a, "token", ask_param(a, "WebIdentityToken")))
                ask_refuse(a, STYLE_XML, 400, "InvalidIdentityToken",
                           "The web identity token is not valid.");
        else if (ask_lacks(a, "role_arn", ask_param(a, "RoleArn")))
                deny(a, "AssumeRoleWithWebIdentity");
        else
                reply_role(a, "AssumeRoleWithWebIdentity");
}

static void who_signed(struct ask *a)
{
        if (is_unsigned(a))
                return;
        buf_adds(&a->x->body, "<GetCallerIdentityResponse" STS_XMLNS "><GetCallerIdentityResult>"
                              "<Arn>arn:aws:sts::123456789012:assumed-role/sim-role/sim</Arn>"
                              "<UserId>AROASIM:sim</UserId><Account>123456789012</Account>"
                              "</GetCallerIdentityResult></GetCallerIdentityResponse>");
        ask_reply(a, "text/xml");
}

void ask_sts(struct ask *a)
{
        static const struct {
                const char *action, *name;
                ask_fn *fn;
        } actions[] = {
                {"AssumeRole", "sts.AssumeRole", assume_role},
                {"AssumeRoleWithWebIdentity", "sts.AssumeRoleWithWebIdentity",
                 assume_with_web_identity},
                {"GetCallerIdentity", "sts.GetCallerIdentity", who_signed},
        };
        const char *action = ask_param(a, "Action");

        for (size_t i = 0; action && i < sizeof actions / sizeof *actions; i++) {
                if (strcmp(action, actions[i].action))
                        continue;
                ask_named(a, actions[i].name, STYLE_XML);
                if (!a->x->status)
                        actions[i].fn(a);
                return;
        }
        ask_refuse(a, STYLE_XML, 400, "InvalidAction", "The Action is not known.");
}
