/* SPDX-License-Identifier: Apache-2.0 */
/* identity_google.c: the machine's metadata server, the token endpoint, the exchange of tokens from
 * elsewhere, impersonation, and the address that a token from elsewhere is read at. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/sign/sign_v4.h"
#include "bench/sim/identity/identity_i.h"
#include "bench/sim/identity/jwt.h"
#include "base/banned.h"

#define GRANT_JWT      "urn:ietf:params:oauth:grant-type:jwt-bearer"
#define GRANT_EXCHANGE "urn:ietf:params:oauth:grant-type:token-exchange"
#define TYPE_AWS       "urn:ietf:params:aws:token-type:aws4_request"

static void reply_token(struct ask *a, long most, const char *issued_type)
{
        struct json *j = json_new_object();
        struct issued is;

        ask_issue(a, most, &is);
        json_add_string(j, "access_token", is.token);
        json_add_number(j, "expires_in", (double)is.expires_in);
        json_add_string(j, "token_type", "Bearer");
        if (issued_type)
                json_add_string(j, "issued_token_type", issued_type);
        ask_reply_json(a, j);
}

void ask_gce_ping(struct ask *a)
{
        request_header(a->x, "Metadata-Flavor", "Google");
        ask_reply_text(a, "computeMetadata/\n");
}

/* The header must be there both ways, so that no other server is taken for this one. */
void ask_gce(struct ask *a)
{
        const char *flavor = http_header(&a->x->rq, "metadata-flavor");
        const char *what = a->x->op + strlen("gce.");

        if (!flavor || strcmp(flavor, "Google") || http_header(&a->x->rq, "x-forwarded-for")) {
                ask_refuse(a, STYLE_TEXT, 403, "Forbidden", "Missing Metadata-Flavor:Google");
                return;
        }
        if (json_bool(json_get(a->cfg, "flavor"), true))
                request_header(a->x, "Metadata-Flavor", "Google");
        if (!strcmp(what, "token"))
                reply_token(a, 0, NULL);
        else if (!strcmp(what, "email"))
                ask_reply_text(a, ask_text(a, "email", "sim@sim-project.iam.gserviceaccount.com"));
        else if (!strcmp(what, "project"))
                ask_reply_text(a, ask_text(a, "project", "sim-project"));
        else
                ask_reply_text(a, ask_text(a, "universe", "googleapis.com"));
}

static void invalid_grant(struct ask *a, const char *why)
{
        ask_refuse(a, STYLE_OAUTH, 400, "invalid_grant", why);
}

/* The claims of a token whose signature is right. */
static const char *check_claims(struct ask *a, const struct json *claims)
{
        double now = (double)(time(NULL) + a->s->clock_skew_s);
        double iat = json_number(json_get(claims, "iat"), 0);
        double exp = json_number(json_get(claims, "exp"), 0);

        if (ask_lacks(a, "email", json_string(json_get(claims, "iss"), NULL)))
                return "Invalid issuer";
        if (!json_is_string(json_get(claims, "aud")))
                return "Invalid audience";
        if (iat > now + 60 || exp <= now || exp > iat + 3600)
                return "Invalid JWT: Token must be a short-lived token (60 minutes) and in a "
                       "reasonable timeframe. Check your iat and exp values in the JWT claim.";
        if (!json_is_string(json_get(claims, "scope")))
                return "Missing scope";
        return NULL;
}

static void grant_jwt(struct ask *a)
{
        CLEANUP(json_freep) struct json *claims = NULL;
        const char *key = ask_text(a, "public_key", NULL);
        int err = jwt_verify(ask_param(a, "assertion"), key, &claims);

        if (err) {
                invalid_grant(a, err == -EACCES ? "Invalid JWT Signature." : "Invalid JWT.");
                return;
        }
        const char *why = check_claims(a, claims);
        if (why)
                invalid_grant(a, why);
        else
                reply_token(a, 0, NULL);
}

static void grant_refresh(struct ask *a)
{
        if (ask_lacks(a, "client_id", ask_param(a, "client_id")) ||
            ask_lacks(a, "client_secret", ask_param(a, "client_secret")))
                ask_refuse(a, STYLE_OAUTH, 401, "invalid_client",
                           "The OAuth client was not found.");
        else if (ask_lacks(a, "refresh_token", ask_param(a, "refresh_token")))
                invalid_grant(a, "Token has been expired or revoked.");
        else
                reply_token(a, 0, NULL);
}

void ask_oauth2(struct ask *a)
{
        const char *grant = ask_param(a, "grant_type");

        if (grant && !strcmp(grant, GRANT_JWT))
                grant_jwt(a);
        else if (grant && !strcmp(grant, "refresh_token"))
                grant_refresh(a);
        else
                ask_refuse(a, STYLE_OAUTH, 400, "unsupported_grant_type", "Invalid grant_type");
}

/* The headers of a described request; how many, or -EINVAL. */
static int read_headers(const struct json *list, struct uri_pair *headers)
{
        size_t n = json_count(list);

        if (!n || n > HTTP_HEADERS_MAX)
                return -EINVAL;
        for (size_t i = 0; i < n; i++) {
                const struct json *h = json_at(list, i);
                headers[i].name = json_string(json_get(h, "key"), NULL);
                headers[i].value = json_string(json_get(h, "value"), NULL);
                if (!headers[i].name || !headers[i].value)
                        return -EINVAL;
        }
        return (int)n;
}

static const char *header_of(const struct uri_pair *headers, int n, const char *name)
{
        for (int i = 0; i < n; i++)
                if (!strcasecmp(headers[i].name, name))
                        return headers[i].value;
        return NULL;
}

/* A request to GetCallerIdentity, described in JSON (percent-encoded once more, which the form has
 * undone half of), must be signed by a key that STS knows, for this audience. NULL: it is. */
static const char *check_aws_subject(struct ask *a, const char *subject, char said[STS_TIME_ERROR])
{
        CLEANUP(freep) char *text = strdup(subject);
        CLEANUP(freep) char *url = NULL;
        CLEANUP(json_freep) struct json *j = NULL;
        struct uri_pair headers[HTTP_HEADERS_MAX], query[EXCHANGE_QUERY_MAX];
        const char *why = "InvalidRequest", *audience = ask_param(a, "audience");
        char buf[128];

        if (!text || uri_decode(text, false) < 0 ||
            json_parse("subject_token", text, strlen(text), &j, buf, sizeof buf))
                return "The subject token is no described request.";
        url = strdup(json_string(json_get(j, "url"), ""));
        int n = read_headers(json_get(j, "headers"), headers);
        char *question = url ? strchr(url, '?') : NULL;
        if (n < 0 || !question)
                return "The subject token lacks address or headers.";
        *question = 0;
        if (sts_time_error(a, header_of(headers, n, "x-amz-date"), said))
                return said;
        const char *target = header_of(headers, n, "x-goog-cloud-target-resource");
        if (!target || !audience || strcmp(target, audience))
                return "The subject token is for another audience.";
        int nquery = uri_split_query(question + 1, query, EXCHANGE_QUERY_MAX);
        struct sign_request rq = {.method = json_string(json_get(j, "method"), ""),
                                  .path = "/",
                                  .query = query,
                                  .nquery = nquery > 0 ? (size_t)nquery : 0,
                                  .headers = headers,
                                  .nheaders = (size_t)n,
                                  .payload_hash = SIGN_EMPTY_PAYLOAD};
        return sts_verify(a, &rq, header_of(headers, n, "authorization"),
                          header_of(headers, n, "x-amz-security-token"), &why)
                       ? why
                       : NULL;
}

void ask_google_sts(struct ask *a)
{
        const char *grant = ask_param(a, "grant_type"), *subject = ask_param(a, "subject_token");
        const char *type = ask_param(a, "subject_token_type"), *why = NULL;
        char said[STS_TIME_ERROR];

        if (!grant || strcmp(grant, GRANT_EXCHANGE))
                ask_refuse(a, STYLE_OAUTH, 400, "unsupported_grant_type", "Invalid grant_type");
        else if (!subject || !type)
                ask_refuse(a, STYLE_OAUTH, 400, "invalid_request", "subject_token is missing");
        else if (ask_lacks(a, "audience", ask_param(a, "audience")))
                ask_refuse(a, STYLE_OAUTH, 400, "invalid_target", "The audience is not known.");
        if (a->x->status)
                return;
        if (!strcmp(type, TYPE_AWS))
                why = check_aws_subject(a, subject, said);
        else if (ask_lacks(a, "subject_token", subject))
                why = "The subject token is not valid.";
        if (why)
                invalid_grant(a, why);
        else
                reply_token(a, 0, "urn:ietf:params:oauth:token-type:access_token");
}

/* A user of a workforce pool, whose client is named by the header. */
void ask_google_login(struct ask *a)
{
        const char *grant = ask_param(a, "grant_type");

        if (!grant || strcmp(grant, "refresh_token"))
                ask_refuse(a, STYLE_OAUTH, 400, "unsupported_grant_type", "Invalid grant_type");
        else if (ask_lacks(a, "authorization", http_header(&a->x->rq, "authorization")))
                ask_refuse(a, STYLE_OAUTH, 401, "invalid_client", "The client is not known.");
        else if (ask_lacks(a, "refresh_token", ask_param(a, "refresh_token")))
                invalid_grant(a, "The refresh token has expired.");
        else
                reply_token(a, 0, NULL);
}

void ask_generate(struct ask *a)
{
        const char *auth = http_header(&a->x->rq, "authorization");
        const char *account = strrchr(a->x->rq.path, '/') + 1, *end = strrchr(account, ':');
        const char *email = ask_text(a, "email", NULL);
        char expires[32];
        struct issued is;

        if (!end || strcmp(end, ":generateAccessToken") ||
            (email && (strlen(email) != (size_t)(end - account) ||
                       strncmp(email, account, strlen(email))))) {
                ask_refuse(a, STYLE_JSON, 404, "404", "There is no such account.");
                return;
        }
        if (identity_bearer(a->id, auth)) {
                ask_refuse(a, STYLE_JSON, 401, "401", "The token is not one of ours.");
                return;
        }
        ask_issue(a, 0, &is);
        issue_time(is.expires + a->s->clock_skew_s, expires);
        struct json *j = json_new_object();
        json_add_string(j, "accessToken", is.token);
        json_add_string(j, "expireTime", expires);
        ask_reply_json(a, j);
}

/* Text, or JSON as the file has it. */
void ask_subject(struct ask *a)
{
        const char *name = ask_text(a, "header", NULL);

        if (name && ask_lacks(a, "value", http_header(&a->x->rq, name)))
                ask_refuse(a, STYLE_TEXT, 401, "Unauthorized", "A header is missing.");
        else
                ask_reply_text(a, ask_text(a, "token", "sim-subject-token"));
}
