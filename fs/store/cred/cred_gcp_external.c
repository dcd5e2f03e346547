/* SPDX-License-Identifier: Apache-2.0 */
/* cred_gcp_external.c: an identity from elsewhere (workload identity federation): a subject token
 * from a file, a URL, a program or AWS is exchanged for one of Google's, which may then take the
 * place of a service account; and what gcloud leaves of such a user's login. */
#include "store/cred/cred_gcp.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/digest.h"

#include "base/banned.h"

#define STS_TOKEN_URL "https://sts.googleapis.com/v1/oauthtoken"
enum { PROGRAM_MS = 30000, PROGRAM_MIN_MS = 5000, PROGRAM_MAX_MS = 120000 };

/* The token in a text that is it, or in a field of a JSON object. */
static int take_text(struct cred_ask *a, const struct gcp_file *f, struct buf *text,
                     struct buf *token)
{
        CLEANUP(secret_json_freep) struct json *j = NULL;
        const struct json *format = json_get(json_get(f->j, "credential_source"), "format");
        const char *field = json_string(json_get(format, "subject_token_field_name"), NULL);
        const char *type = json_string(json_get(format, "type"), "text");
        char why[64];

        if (!strcmp(type, "text")) {
                while (text->len && strchr(" \r\n\t", text->p[text->len - 1]))
                        text->p[--text->len] = 0;
                if (!text->len)
                        return cred_no(a, -EBADMSG,
                                       "the subject token of %s is empty: see to what writes it",
                                       f->path);
                return buf_add(token, text->p, text->len);
        }
        if (strcmp(type, "json") != 0 || !field)
                return cred_no(a, -EINVAL,
                               "%s: credential_source.format is neither text nor json with a "
                               "subject_token_field_name: have the file made anew",
                               f->path);
        const char *value = NULL;
        if (!json_parse("", text->p, text->len, &j, why, sizeof why))
                value = json_string(json_get(j, field), NULL);
        if (!value || !*value)
                return cred_no(a, -EBADMSG,
                               "the subject token of %s is no JSON with a field %.60s: see to what "
                               "gives it",
                               f->path, field);
        return buf_adds(token, value);
}

/* Those that the file wants in a request. */
static int add_headers(struct cred_ask *a, const struct gcp_file *f, struct cred_call *c)
{
        static const char no_name[] = "()<>@,;:\\\"/[]?={} \t\r\n";
        const struct json *headers = json_get(json_get(f->j, "credential_source"), "headers");
        bool good = !headers || json_is_object(headers);

        for (size_t i = 0; good && i < json_count(headers); i++) {
                const struct json *h = json_at(headers, i);
                const char *name = json_name(h), *value = json_string(h, NULL);
                good = *name && !name[strcspn(name, no_name)] && value &&
                       !value[strcspn(value, "\r\n")];
                if (good)
                        cred_call_header(c, name, value);
        }
        return good ? 0
                    : cred_no(a, -EINVAL,
                              "%s: the headers of its credential_source are no names with a text "
                              "of "
                              "one line each: correct them",
                              f->path);
}

static int from_url(struct cred_ask *a, const struct gcp_file *f, const char *url,
                    struct buf *token)
{
        CLEANUP(cred_call_release) struct cred_call c = CRED_CALL("subject token server", "GET");

        buf_adds(&c.url, url);
        int err = add_headers(a, f, &c);
        if (!err)
                err = cred_call(a, &c);
        if (!err)
                err = cred_call_ok(a, &c);
        return err ? err : take_text(a, f, &c.reply, token);
}

/* What a program prints: {"version":1,"success":true,"token_type":...,"id_token":...}. */
static int take_printed(struct cred_ask *a, const struct gcp_file *f, const struct buf *text,
                        struct buf *token)
{
        CLEANUP(secret_json_freep) struct json *j = NULL;
        char why[64];

        if (json_parse("", text->p, text->len, &j, why, sizeof why) || !json_is_object(j))
                return cred_no(a, -EBADMSG,
                               "the program of %s prints something that is no JSON: correct it",
                               f->path);
        if (!json_bool(json_get(j, "success"), false))
                return cred_no(a, -EACCES, "the program of %s says: %.60s %.200s: run it by hand",
                               f->path, json_string(json_get(j, "code"), "no"),
                               json_string(json_get(j, "message"), "success"));
        double end = json_number(json_get(j, "expiration_time"), 0);
        if (end > 0 && end <= (double)time(NULL))
                return cred_no(a, -EACCES, "the program of %s gives a token that has expired",
                               f->path);
        const char *type = json_string(json_get(j, "token_type"), "");
        const char *field = strstr(type, "saml2") ? "saml_response" : "id_token";
        const char *value = cred_json_string(a, j, field, "the program's answer");
        return value ? buf_adds(token, value) : -EBADMSG;
}

static int from_program(struct cred_ask *a, const struct gcp_file *f, const struct json *program,
                        struct buf *token)
{
        CLEANUP(secret_buf_release) struct buf text = BUF_INIT, audience = BUF_INIT;
        CLEANUP(buf_release) struct buf type = BUF_INIT;
        const char *command = json_string(json_get(program, "command"), "");
        const char *cache = json_string(json_get(program, "output_file"), NULL);
        const char *allowed = cred_env("GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES");
        double ms = json_number(json_get(program, "timeout_millis"), PROGRAM_MS);

        if (!allowed || strcmp(allowed, "1") != 0)
                return cred_no(a, -EACCES,
                               "%s wants a program run: set "
                               "GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES=1 if you trust it",
                               f->path);
        if (cache && !cred_read_file(a, cache, &text) && !take_printed(a, f, &text, token))
                return 0;
        secret_buf_release(&text);
        buf_reset(token);
        CLEANUP(freep) char **argv = cred_split(command);
        if (!argv)
                return cred_no(a, -EINVAL,
                               "%s: credential_source.executable.command is none: correct it",
                               f->path);
        ms = ms < PROGRAM_MIN_MS ? PROGRAM_MIN_MS : ms > PROGRAM_MAX_MS ? PROGRAM_MAX_MS : ms;
        buf_addf(&audience, "GOOGLE_EXTERNAL_ACCOUNT_AUDIENCE=%s",
                 json_string(json_get(f->j, "audience"), ""));
        buf_addf(&type, "GOOGLE_EXTERNAL_ACCOUNT_TOKEN_TYPE=%s",
                 json_string(json_get(f->j, "subject_token_type"), ""));
        char interactive[] = "GOOGLE_EXTERNAL_ACCOUNT_INTERACTIVE=0";
        char *env[] = {audience.p, type.p, interactive, NULL};
        int err = cred_exec(a, "credential_source.executable", argv, env, (unsigned)ms, &text);
        return err ? err : take_printed(a, f, &text, token);
}

static int subject_token(struct cred_ask *a, const struct gcp_file *f, struct buf *token)
{
        CLEANUP(secret_buf_release) struct buf text = BUF_INIT;
        const struct json *source = json_get(f->j, "credential_source");
        const char *environment = json_string(json_get(source, "environment_id"), NULL);
        const char *file = json_string(json_get(source, "file"), NULL);
        const char *url = json_string(json_get(source, "url"), NULL);

        if (environment && !strncmp(environment, "aws", 3))
                return gcp_aws_subject(a, f, token);
        if (json_get(source, "executable"))
                return from_program(a, f, json_get(source, "executable"), token);
        if (url)
                return from_url(a, f, url, token);
        if (!file)
                return cred_no(a, -EOPNOTSUPP,
                               "the credential_source of %s is no file, url, executable or aws1: "
                               "have the file made anew",
                               f->path);
        int err = cred_read_file(a, file, &text);
        if (err)
                return cred_remedy(a, err, "%s names it: see to what writes it", f->path);
        return take_text(a, f, &text, token);
}

/* The name and password of the client. */
static int add_client(struct cred_call *c, const char *id, const char *secret)
{
        CLEANUP(secret_buf_release) struct buf pair = BUF_INIT, value = BUF_INIT;

        if (buf_addf(&pair, "%s:%s", id, secret) || buf_adds(&value, "Basic ") ||
            buf_grow(&value, 4 * ((pair.len + 2) / 3) + 1))
                return -ENOMEM;
        base64_encode(pair.p, pair.len, value.p + value.len);
        cred_call_header(c, "Authorization", value.p);
        return 0;
}

/* The client, where the file has one; else the project to bill. */
static int authorize(struct cred_call *c, const struct gcp_file *f)
{
        CLEANUP(json_freep) struct json *options = NULL;
        CLEANUP(freep) char *text = NULL;
        const char *id = json_string(json_get(f->j, "client_id"), NULL);
        const char *secret = json_string(json_get(f->j, "client_secret"), NULL);
        const char *project = json_string(json_get(f->j, "workforce_pool_user_project"), NULL);

        if (id && secret)
                return add_client(c, id, secret);
        if (!project)
                return 0;
        options = json_new_object();
        if (json_add_string(options, "userProject", project) || !(text = json_print(options)))
                return -ENOMEM;
        cred_call_field(c, "options", text);
        return 0;
}

/* *again: what signs the subject token was refused for its time, which is known now. */
static int exchange(struct cred_ask *a, const struct gcp_file *f, const char *scope,
                    struct cred *out, bool *again)
{
        CLEANUP(cred_call_release) struct cred_call c = CRED_CALL("token exchange", "POST");
        CLEANUP(secret_buf_release) struct buf token = BUF_INIT;
        const char *audience = gcp_field(a, f, "audience");
        const char *type = audience ? gcp_field(a, f, "subject_token_type") : NULL;
        const char *url = type ? gcp_field(a, f, "token_url") : NULL;

        if (!url)
                return -EINVAL;
        int err = subject_token(a, f, &token);
        if (err)
                return err == -ENOENT ? -EINVAL : err;
        buf_adds(&c.url, url);
        cred_call_header(&c, "Content-Type", "application/x-www-form-urlencoded");
        cred_call_field(&c, "grant_type", "urn:ietf:params:oauth:grant-type:token-exchange");
        cred_call_field(&c, "audience", audience);
        cred_call_field(&c, "scope", scope);
        cred_call_field(&c, "requested_token_type",
                        "urn:ietf:params:oauth:token-type:access_token");
        cred_call_field(&c, "subject_token_type", type);
        cred_call_field(&c, "subject_token", token.p);
        if (authorize(&c, f) || token.failed)
                return cred_no(a, -ENOMEM, "no memory: end another program");
        err = gcp_exchange(a, &c, out);
        *again = err == -EACCES && cred_follow_clock(a, &c);
        return err == -EACCES
                       ? cred_remedy(a, err, "let the pool of %s take this identity", f->path)
                       : err;
}

int gcp_external_account(struct cred_ask *a, const struct gcp_file *f, struct cred *out)
{
        CLEANUP(cred_release) struct cred with = CRED_INIT;
        const struct json *more = json_get(f->j, "service_account_impersonation");
        const char *url, *scope;
        bool again = false;

        if (cred_json_option(a, f->j, "service_account_impersonation_url", f->path, &url))
                return -EINVAL;
        scope = url ? GCP_SCOPE_ALL : f->scope;
        int err = exchange(a, f, scope, url ? &with : out, &again);
        if (again)
                err = exchange(a, f, scope, url ? &with : out, &again);
        if (err)
                return err;
        double life = json_number(json_get(more, "token_lifetime_seconds"), 0);
        return url ? gcp_impersonate(a, f, url, NULL,
                                     life >= 600 && life <= 43200 ? (unsigned)life : 0, &with, out)
                   : 0;
}

int gcp_external_user(struct cred_ask *a, const struct gcp_file *f, struct cred *out)
{
        CLEANUP(cred_call_release) struct cred_call c = CRED_CALL("token server", "POST");
        const char *id = gcp_field(a, f, "client_id");
        const char *secret = id ? gcp_field(a, f, "client_secret") : NULL;
        const char *token = secret ? gcp_field(a, f, "refresh_token") : NULL;
        const char *url = token ? gcp_field_or(a, f, "token_url", STS_TOKEN_URL) : NULL;

        if (!url)
                return -EINVAL;
        buf_adds(&c.url, url);
        cred_call_header(&c, "Content-Type", "application/x-www-form-urlencoded");
        cred_call_field(&c, "grant_type", "refresh_token");
        cred_call_field(&c, "refresh_token", token);
        if (add_client(&c, id, secret))
                return cred_no(a, -ENOMEM, "no memory: end another program");
        return gcp_login_ended(a, f, gcp_exchange(a, &c, out));
}
