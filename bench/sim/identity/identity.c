/* SPDX-License-Identifier: Apache-2.0 */
/* identity.c: which server a request is for, and what the file says of it. See identity.h. */
#include "bench/sim/identity/identity.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text/xml.h"
#include "bench/sim/identity/identity_i.h"
#include "base/banned.h"

/* The first row that fits; `header` is one that must be there, `query` a parameter. */
static const struct endpoint {
        const char *name, *method, *path, *header, *query;
        enum ask_style style;
        ask_fn *fn;
} endpoints[] = {
        {"imds.token", "PUT", "/latest/api/token", NULL, NULL, STYLE_TEXT, ask_imds_token},
        {"imds.roles", "GET", "/latest/meta-data/iam/security-credentials", NULL, NULL, STYLE_TEXT,
         ask_imds_roles},
        {"imds.roles", "GET", "/latest/meta-data/iam/security-credentials/", NULL, NULL, STYLE_TEXT,
         ask_imds_roles},
        {"imds.credentials", "GET", "/latest/meta-data/iam/security-credentials/*", NULL, NULL,
         STYLE_TEXT, ask_imds_credentials},
        {"imds.region", "GET", "/latest/meta-data/placement/*", NULL, NULL, STYLE_TEXT,
         ask_imds_region},
        {"imds.document", "GET", "/latest/dynamic/instance-identity/document", NULL, NULL,
         STYLE_TEXT, ask_imds_document},
        {"ecs.credentials", "GET", "/ecs/credentials", NULL, NULL, STYLE_JSON, ask_ecs},
        {"sso.credentials", "GET", "/federation/credentials", NULL, NULL, STYLE_JSON,
         ask_sso_credentials},
        {"sso.token", "POST", "/token", NULL, NULL, STYLE_OAUTH, ask_sso_token},
        {"sts", "POST", "/", NULL, NULL, STYLE_XML, ask_sts},
        {"sts", "GET", "/", NULL, "Action", STYLE_XML, ask_sts},
        {"gce.ping", "GET", "/", "metadata-flavor", NULL, STYLE_TEXT, ask_gce_ping},
        {"gce.token", "GET", "/computeMetadata/v1/*/token", NULL, NULL, STYLE_TEXT, ask_gce},
        {"gce.email", "GET", "/computeMetadata/v1/*/email", NULL, NULL, STYLE_TEXT, ask_gce},
        {"gce.project", "GET", "/computeMetadata/v1/project/*", NULL, NULL, STYLE_TEXT, ask_gce},
        {"gce.universe", "GET", "/computeMetadata/v1/universe/*", NULL, NULL, STYLE_TEXT, ask_gce},
        {"oauth2.token", "POST", "/oauth2/token", NULL, NULL, STYLE_OAUTH, ask_oauth2},
        {"gsts.token", "POST", "/google-sts/v1/token", NULL, NULL, STYLE_OAUTH, ask_google_sts},
        {"gsts.oauthtoken", "POST", "/google-sts/v1/oauthtoken", NULL, NULL, STYLE_OAUTH,
         ask_google_login},
        {"iam.generateAccessToken", "POST", "/v1/projects/-/serviceAccounts/*", NULL, NULL,
         STYLE_JSON, ask_generate},
        {"subject", "GET", "/subject", NULL, NULL, STYLE_TEXT, ask_subject},
};

enum { NENDPOINTS = sizeof endpoints / sizeof *endpoints };

/* What has a limit to how often it acts is counted, by the field of the file. */
enum { COUNTS_MAX = 64 };

struct identity {
        struct json *tree;
        struct issues *issues;
        atomic_uint counts[COUNTS_MAX];
        atomic_uint renewals;
};

static int bad_file(const char *file, const char *what, char *why, size_t nwhy)
{
        snprintf(why, nwhy, "%s: %s: see IDENTITY in storesim(1)", file, what);
        return -EINVAL;
}

int identity_open(const char *file, struct identity **out, char *why, size_t nwhy)
{
        struct identity *id = calloc(1, sizeof *id);

        if (!id)
                return -ENOMEM;
        int err = json_read(file, &id->tree, why, nwhy);
        if (!err && (!json_is_object(id->tree) || json_count(id->tree) > COUNTS_MAX))
                err = bad_file(file, "it holds no object of 64 endpoints at most", why, nwhy);
        for (size_t i = 0; !err && i < json_count(id->tree); i++)
                if (!json_is_object(json_at(id->tree, i)))
                        err = bad_file(file, "a field of it is no object", why, nwhy);
        if (!err)
                err = issues_new(id->tree, &id->issues);
        if (err) {
                identity_close(id);
                return err;
        }
        *out = id;
        return 0;
}

void identity_close(struct identity *id)
{
        if (!id)
                return;
        issues_free(id->issues);
        json_free(id->tree);
        free(id);
}

struct issues *identity_issues(struct identity *id)
{
        return id->issues;
}

const struct json *identity_tree(const struct identity *id)
{
        return id->tree;
}

bool identity_renews(struct identity *id, unsigned number)
{
        return atomic_compare_exchange_strong(&id->renewals, &number, number + 1);
}

const char *ask_text(const struct ask *a, const char *name, const char *other)
{
        return json_string(json_get(a->cfg, name), other);
}

bool ask_lacks(const struct ask *a, const char *name, const char *given)
{
        const char *want = ask_text(a, name, NULL);

        return want && (!given || strcmp(want, given));
}

const char *ask_param(const struct ask *a, const char *name)
{
        for (size_t i = 0; i < a->nform; i++)
                if (!strcmp(a->form[i].name, name))
                        return a->form[i].value;
        return request_query(a->x, name);
}

void ask_reply(struct ask *a, const char *type)
{
        request_header(a->x, "Content-Type", type);
        a->x->status = 200;
}

void ask_reply_text(struct ask *a, const char *text)
{
        buf_adds(&a->x->body, text);
        ask_reply(a, "text/plain");
}

void ask_reply_json(struct ask *a, struct json *j)
{
        CLEANUP(freep) char *text = json_print(j);

        json_free(j);
        if (!text) {
                a->x->status = 500;
                return;
        }
        buf_adds(&a->x->body, text);
        ask_reply(a, "application/json");
}

static void refuse_xml(struct request *x, const char *code, const char *message)
{
        struct buf *b = &x->body;

        buf_adds(b, "<ErrorResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><Error>"
                    "<Type>Sender</Type><Code>");
        xml_escape(b, code);
        buf_adds(b, "</Code><Message>");
        xml_escape(b, message);
        buf_addf(b, "</Message></Error><RequestId>%s</RequestId></ErrorResponse>", x->id);
}

void ask_refuse(struct ask *a, enum ask_style style, int status, const char *code,
                const char *message)
{
        struct request *x = a->x;

        buf_reset(&x->body);
        switch (style) {
        case STYLE_TEXT:
                buf_addf(&x->body, "%s: %s\n", code, message);
                break;
        case STYLE_XML:
                refuse_xml(x, code, message);
                break;
        case STYLE_JSON:
                buf_addf(&x->body, "{\"code\":\"%s\",\"message\":\"%s\"}", code, message);
                break;
        case STYLE_OAUTH:
                buf_addf(&x->body, "{\"error\":\"%s\",\"error_description\":\"%s\"}", code,
                         message);
                break;
        }
        ask_reply(a, style == STYLE_XML    ? "text/xml"
                     : style == STYLE_TEXT ? "text/plain"
                                           : "application/json");
        x->status = status;
}

/* The part of the file for an endpoint: by its name, or the first glob that fits. */
static const struct json *find_part(struct identity *id, const char *name, size_t *at)
{
        for (int exact = 1; exact >= 0; exact--) {
                for (size_t i = 0; i < json_count(id->tree); i++) {
                        const struct json *j = json_at(id->tree, i);
                        const char *glob = json_name(j);
                        *at = i;
                        if (exact ? !strcmp(glob, name) : !fnmatch(glob, name, 0))
                                return j;
                }
        }
        return NULL;
}

static void answer_garbage(struct ask *a)
{
        buf_adds(&a->x->body, "<!DOCTYPE html>\n<html><body><h1>Sign in to the network</h1>"
                              "</body></html>\n");
        ask_reply(a, "text/html");
}

/* What the file wants in place of the right answer. */
static void apply_answer(struct ask *a, enum ask_style style)
{
        const char *answer = ask_text(a, "answer", "right");

        if (!strcmp(answer, "right"))
                return;
        if (!strcmp(answer, "expired")) {
                a->expired = true;
        } else if (!strcmp(answer, "garbage")) {
                answer_garbage(a);
        } else {
                ask_refuse(a, style, (int)json_number(json_get(a->cfg, "status"), 403), "Refused",
                           "This is refused.");
                const char *body = ask_text(a, "body", NULL);
                if (body) {
                        buf_reset(&a->x->body);
                        buf_adds(&a->x->body, body);
                }
        }
}

void ask_named(struct ask *a, const char *name, enum ask_style style)
{
        size_t part = 0;

        a->x->op = name;
        a->cfg = find_part(a->id, name, &part);
        if (!a->cfg)
                return;
        double times = json_number(json_get(a->cfg, "times"), 0);
        if (times > 0 && atomic_fetch_add(&a->id->counts[part], 1) >= times)
                return;
        const char *delay = ask_text(a, "delay", NULL);
        if (delay && fault_parse_duration(delay, &a->x->delay_ns))
                a->x->delay_ns = 0;
        apply_answer(a, style);
}

static void begin(struct service *s, struct request *x)
{
        struct uri_pair query[EXCHANGE_QUERY_MAX];
        CLEANUP(freep) char *text = strdup(x->rq.query);
        int n = text ? uri_split_query(text, query, EXCHANGE_QUERY_MAX) : 0;
        bool has_action = false;

        for (int i = 0; i < n; i++)
                has_action |= !strcmp(query[i].name, "Action");
        for (size_t i = 0; i < NENDPOINTS; i++) {
                const struct endpoint *e = &endpoints[i];
                if (strcmp(e->method, x->rq.method) || fnmatch(e->path, x->rq.path, 0) ||
                    (e->header && !http_header(&x->rq, e->header)) || (e->query && !has_action))
                        continue;
                x->endpoint = e;
                x->op = e->name;
                x->bucket = x->key = x->upload = x->other_bucket = x->other_key = "";
                x->to = BODY_TEXT;
                if (x->rq.body_len > EXCHANGE_TEXT_MAX)
                        x->status = 413;
                return;
        }
        x->store = s->store;
        s->store->begin(s, x);
}

static int split(char **text, const char *from, struct uri_pair *pairs)
{
        *text = strdup(from);
        int n = *text ? uri_split_query(*text, pairs, EXCHANGE_QUERY_MAX) : 0;
        return n > 0 ? n : 0;
}

static void finish(struct service *s, struct request *x)
{
        const struct endpoint *e = x->endpoint;
        CLEANUP(freep) char *form = NULL;
        struct ask a = {.id = s->identity, .s = s, .x = x};

        if (!e) {
                s->store->finish(s, x);
                return;
        }
        x->nquery = (size_t)split(&x->query_text, x->rq.query, x->query);
        a.nform = (size_t)split(&form, x->text.p, a.form);
        if (e->fn != ask_sts) /* whose name is in the request */
                ask_named(&a, e->name, e->style);
        if (!x->status)
                e->fn(&a);
}

static void refuse(struct request *x, int status, const char *code, const char *message)
{
        if (x->endpoint || !x->store) {
                x->status = status;
                buf_adds(&x->body, message ? message : code ? code : http_reason(status));
                return;
        }
        x->store->refuse(x, status, code, message);
}

static void error_in_200(struct request *x, const char *code, const char *message)
{
        refuse(x, 200, code, message);
}

const struct protocol protocol_identity = {
        .name = "identity",
        .begin = begin,
        .finish = finish,
        .refuse = refuse,
        .error_in_200 = error_in_200,
};
