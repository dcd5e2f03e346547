/* SPDX-License-Identifier: Apache-2.0 */
/* identity_i.h: what the files of identity share. */
#ifndef CKPTFS_SIM_IDENTITY_I_H
#define CKPTFS_SIM_IDENTITY_I_H

#include <stdint.h>
#include <time.h>

#include "base/text/json.h"
#include "bench/sim/http/request.h"
#include "bench/sim/identity/identity.h"

/* A request to one of the servers. */
struct ask {
        struct identity *id;
        struct service *s;
        struct request *x;
        const struct json *cfg;                   /* what the file says of this endpoint, or NULL */
        bool expired;                             /* issue what is over already */
        struct uri_pair form[EXCHANGE_QUERY_MAX]; /* of the body */
        size_t nform;
};

typedef void ask_fn(struct ask *a);

/* How an endpoint says that it refuses. */
enum ask_style { STYLE_TEXT, STYLE_XML, STYLE_JSON, STYLE_OAUTH };

/* --- identity.c --- */

/* Says which endpoint it is, and does what the file wants in place of the right answer. */
void ask_named(struct ask *a, const char *name, enum ask_style style);
/* A text of the endpoint's part of the file; `other` where it is absent. */
const char *ask_text(const struct ask *a, const char *name, const char *other);
/* Whether the file demands something of the endpoint and `given` is not that. */
bool ask_lacks(const struct ask *a, const char *name, const char *given);
/* A parameter of the form or the query; NULL for none. */
const char *ask_param(const struct ask *a, const char *name);
void ask_refuse(struct ask *a, enum ask_style style, int status, const char *code,
                const char *message);
/* The reply in x->body. */
void ask_reply(struct ask *a, const char *type);
void ask_reply_text(struct ask *a, const char *text);
/* Takes over `j`. */
void ask_reply_json(struct ask *a, struct json *j);

/* --- identity_issue.c --- */

struct issued {
        char access[IDENTITY_TEXT_MAX], secret[IDENTITY_TEXT_MAX], session[IDENTITY_TEXT_MAX],
                token[IDENTITY_TEXT_MAX];
        time_t expires;
        long expires_in; /* seconds */
};
struct issues;
int issues_new(const struct json *tree, struct issues **out);
void issues_free(struct issues *is);
/* Issues what lasts so many seconds; terms are those of a session, or NULL. */
void issues_issue(struct issues *is, long seconds, const struct session_terms *terms,
                  struct issued *out);
/* Whether a session token was issued: 0 with its terms, -ENOENT or -ETIME. */
int issues_session(struct issues *is, const char *token, struct session_terms *terms);
/* The same as identity_secret(). */
int issues_secret(struct issues *is, const char *access, const char *session,
                  char secret[IDENTITY_TEXT_MAX]);
/* Issues what an endpoint issues, for at most `most` seconds (0: as the file says). */
void ask_issue(struct ask *a, long most, struct issued *out);
/* "2026-11-22T01:02:03Z" */
void issue_time(time_t when, char out[32]);
struct issues *identity_issues(struct identity *id);
const struct json *identity_tree(const struct identity *id);
/* Counts the renewal of that number: false when it was, or is not due yet. */
bool identity_renews(struct identity *id, unsigned number);

/* --- the servers --- */

ask_fn ask_imds_token, ask_imds_roles, ask_imds_credentials, ask_imds_region, ask_imds_document,
        ask_ecs, ask_sso_credentials, ask_sso_token;
ask_fn ask_sts;
ask_fn ask_gce, ask_gce_ping, ask_oauth2, ask_google_sts, ask_google_login, ask_generate,
        ask_subject;

/* Whether a request is signed by a key that STS knows: one of the file, the store's own, or one
 * that was issued. `why` says what is wrong. 0 or -EACCES. */
struct sign_request;
int sts_verify(struct ask *a, const struct sign_request *rq, const char *authorization,
               const char *session, const char **why);

/* Whether x-amz-date is not of this server's time; `said` says so. */
enum { STS_TIME_ERROR = 96 };
bool sts_time_error(struct ask *a, const char *date, char said[STS_TIME_ERROR]);

#endif
