/* SPDX-License-Identifier: Apache-2.0 */
/* cred_gcp_impersonate.c: one identity takes the place of a service account. */
#include "store/cred/cred_gcp.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"

#include "base/banned.h"

enum { LIFE_S = 3600 };

static int add_body(const struct gcp_file *f, const struct json *delegates, unsigned lifetime_s,
                    struct buf *body)
{
        CLEANUP(json_freep) struct json *j = json_new_object();
        CLEANUP(buf_release) struct buf life = BUF_INIT;
        struct json *scope = json_add_array(j, "scope");
        struct json *list = json_add_array(j, "delegates");

        buf_addf(&life, "%us", lifetime_s ? lifetime_s : LIFE_S);
        int err = life.failed ? -ENOMEM : json_add_string(scope, NULL, f->scope);
        for (size_t i = 0; !err && i < json_count(delegates); i++)
                err = json_add_string(list, NULL, json_string(json_at(delegates, i), ""));
        if (!err)
                err = json_add_string(j, "lifetime", life.p);
        CLEANUP(freep) char *text = err ? NULL : json_print(j);
        return text ? buf_adds(body, text) : -ENOMEM;
}

int gcp_impersonate(struct cred_ask *a, const struct gcp_file *f, const char *url,
                    const struct json *delegates, unsigned lifetime_s, const struct cred *with,
                    struct cred *out)
{
        CLEANUP(cred_call_release) struct cred_call c = CRED_CALL("impersonation server", "POST");
        CLEANUP(secret_buf_release) struct buf auth = BUF_INIT;
        CLEANUP(secret_json_freep) struct json *j = NULL;

        buf_adds(&c.url, url);
        if (buf_addf(&auth, "Bearer %s", with->token) ||
            add_body(f, delegates, lifetime_s, &c.body))
                return cred_no(a, -ENOMEM, "no memory: end another program");
        cred_call_header(&c, "Authorization", auth.p);
        cred_call_header(&c, "Content-Type", "application/json");
        int err = cred_call_json(a, &c, &j);
        if (err)
                return err == -EACCES ? cred_remedy(a, err,
                                                    "give this identity the role Service Account "
                                                    "Token Creator on the account that %s names",
                                                    f->path)
                                      : err;
        const char *token = cred_json_string(a, j, "accessToken", c.what);
        const char *end = token ? cred_json_string(a, j, "expireTime", c.what) : NULL;
        time_t expiry = cred_time(end);
        if (!end)
                return -EBADMSG;
        if (!expiry)
                return cred_no(a, -EBADMSG, "%s answers an expireTime that is no time: correct %s",
                               c.what, f->path);
        return cred_bearer(out, token, cred_call_time(a, &c, expiry));
}

int gcp_impersonated(struct cred_ask *a, const struct gcp_file *f, struct cred *out)
{
        CLEANUP(cred_release) struct cred with = CRED_INIT;
        const struct json *source = json_get(f->j, "source_credentials");
        const char *url = gcp_field(a, f, "service_account_impersonation_url");

        if (!url)
                return -EINVAL;
        const char *type = json_string(json_get(source, "type"), NULL);
        if (!type || !strcmp(type, "impersonated_service_account"))
                return cred_no(
                        a, -EINVAL,
                        "the source_credentials of %s are no credential of a user or service "
                        "account: have the file made anew",
                        f->path);
        const struct gcp_file inner = {
                .path = f->path,
                .j = source,
                .scope = GCP_SCOPE_ALL,
        };
        int err = gcp_token(a, &inner, &with);
        return err ? err : gcp_impersonate(a, f, url, json_get(f->j, "delegates"), 0, &with, out);
}
