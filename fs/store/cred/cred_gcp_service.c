/* SPDX-License-Identifier: Apache-2.0 */
/* cred_gcp_service.c: files that hold a secret of their own: the key of a service account, which
 * signs a claim that is exchanged for a token; and what gcloud leaves of a user's login. */
#include "store/cred/cred_gcp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/sign/sign_rs256.h"

#include "base/banned.h"

enum { LIFE_S = 3600 /* the longest the vendor allows */ };
#define TOKEN_URI "https://oauth2.googleapis.com/token"

static int add_base64url(struct buf *to, const void *p, size_t n)
{
        CLEANUP(freep) char *text = malloc(4 * ((n + 2) / 3) + 1);
        if (!text)
                return -ENOMEM;
        base64_encode(p, n, text);
        for (char *s = text; *s; s++)
                *s = *s == '+' ? '-' : *s == '/' ? '_' : *s;
        return buf_add(to, text, strcspn(text, "="));
}

static int add_json(struct buf *to, const struct json *j)
{
        CLEANUP(freep) char *text = json_print(j);
        return text ? add_base64url(to, text, strlen(text)) : -ENOMEM;
}

/* "header.claims.signature"; audience NULL: a claim that is a token itself. */
static int make_claim(struct cred_ask *a, const struct gcp_file *f, const char *audience,
                      struct buf *jwt)
{
        CLEANUP(json_freep) struct json *header = json_new_object();
        CLEANUP(json_freep) struct json *claims = json_new_object();
        CLEANUP(buf_release) struct buf signature = BUF_INIT;
        const char *email = gcp_field(a, f, "client_email");
        const char *pem = email ? gcp_field(a, f, "private_key") : NULL;
        const char *id = json_string(json_get(f->j, "private_key_id"), NULL);
        time_t now = cred_now(a);

        if (!pem)
                return -EINVAL;
        int failed =
                json_add_string(header, "alg", "RS256") || json_add_string(header, "typ", "JWT") ||
                (id && json_add_string(header, "kid", id)) ||
                json_add_string(claims, "iss", email) ||
                json_add_string(claims, "scope", f->scope) ||
                json_add_string(claims, audience ? "aud" : "sub", audience ? audience : email) ||
                json_add_number(claims, "iat", (double)now) ||
                json_add_number(claims, "exp", (double)now + LIFE_S) || add_json(jwt, header) ||
                buf_addc(jwt, '.') || add_json(jwt, claims);
        if (failed)
                return cred_no(a, -ENOMEM, "no memory: end another program");
        int err = sign_rs256(pem, jwt->p, jwt->len, &signature);
        if (err == -EINVAL)
                return cred_no(a, err,
                               "the private_key of %s is no RSA key in PEM: have the key made anew",
                               f->path);
        if (err || buf_addc(jwt, '.') || add_base64url(jwt, signature.p, signature.len))
                return cred_no(a, -ENOMEM, "no memory: end another program");
        return 0;
}

/* Other universes than the vendor's own have no token server: they take the claim. */
static int claim_as_token(struct cred_ask *a, const struct gcp_file *f, struct cred *out)
{
        CLEANUP(secret_buf_release) struct buf jwt = BUF_INIT;

        int err = make_claim(a, f, NULL, &jwt);
        return err ? err : cred_bearer(out, jwt.p, cred_now(a) + LIFE_S);
}

/* *again: it was refused for its time, which is known now. */
static int exchange_claim(struct cred_ask *a, const struct gcp_file *f, const char *uri,
                          struct cred *out, bool *again)
{
        CLEANUP(cred_call_release) struct cred_call c = CRED_CALL("token server", "POST");
        CLEANUP(secret_buf_release) struct buf jwt = BUF_INIT;

        int err = make_claim(a, f, uri, &jwt);
        if (err)
                return err;
        buf_adds(&c.url, uri);
        cred_call_header(&c, "Content-Type", "application/x-www-form-urlencoded");
        cred_call_field(&c, "grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer");
        cred_call_field(&c, "assertion", jwt.p);
        err = gcp_exchange(a, &c, out);
        *again = err == -EACCES && cred_follow_clock(a, &c);
        return err;
}

int gcp_service_account(struct cred_ask *a, const struct gcp_file *f, struct cred *out)
{
        bool again = false;
        const char *uri = gcp_field_or(a, f, "token_uri", TOKEN_URI);
        const char *universe = uri ? gcp_field_or(a, f, "universe_domain", GCP_UNIVERSE) : NULL;

        if (!universe)
                return -EINVAL;
        if (strcmp(universe, GCP_UNIVERSE) != 0)
                return claim_as_token(a, f, out);
        int err = exchange_claim(a, f, uri, out, &again);
        if (again)
                err = exchange_claim(a, f, uri, out, &again);
        return err == -EACCES ? cred_remedy(a, err,
                                            "the key of %s may have been deleted, or this clock be "
                                            "wrong: make another key, or set the clock",
                                            f->path)
                              : err;
}

int gcp_login_ended(struct cred_ask *a, const struct gcp_file *f, int err)
{
        return err == -EACCES ? cred_remedy(a, err,
                                            "the login of %s has ended: run gcloud auth "
                                            "application-default login",
                                            f->path)
                              : err;
}

int gcp_authorized_user(struct cred_ask *a, const struct gcp_file *f, struct cred *out)
{
        CLEANUP(cred_call_release) struct cred_call c = CRED_CALL("token server", "POST");
        static const char *const fields[] = {"client_id", "client_secret", "refresh_token"};
        const char *uri = gcp_field_or(a, f, "token_uri", TOKEN_URI);

        if (!uri)
                return -EINVAL;
        buf_adds(&c.url, uri);
        cred_call_header(&c, "Content-Type", "application/x-www-form-urlencoded");
        cred_call_field(&c, "grant_type", "refresh_token");
        for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
                const char *value = gcp_field(a, f, fields[i]);
                if (!value)
                        return -EINVAL;
                cred_call_field(&c, fields[i], value);
        }
        return gcp_login_ended(a, f, gcp_exchange(a, &c, out));
}
