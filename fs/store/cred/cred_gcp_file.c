/* SPDX-License-Identifier: Apache-2.0 */
/* cred_gcp_file.c: credential files of Google Cloud: where they are, and which kind one is of. */
#include "store/cred/cred_gcp.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

#include "base/banned.h"

const char *gcp_field(struct cred_ask *a, const struct gcp_file *f, const char *name)
{
        const char *s = json_string(json_get(f->j, name), NULL);
        if (s && *s)
                return s;
        cred_no(a, -EINVAL, "%s has no \"%s\": have the file made anew", f->path, name);
        return NULL;
}

const char *gcp_field_or(struct cred_ask *a, const struct gcp_file *f, const char *name,
                         const char *other)
{
        const char *text;
        return cred_json_option(a, f->j, name, f->path, &text) ? NULL : text ? text : other;
}

int gcp_token(struct cred_ask *a, const struct gcp_file *f, struct cred *out)
{
        static const struct {
                const char *type;
                gcp_token_fn *token;
        } types[] = {
                {"service_account", gcp_service_account},
                {"authorized_user", gcp_authorized_user},
                {"external_account", gcp_external_account},
                {"external_account_authorized_user", gcp_external_user},
                {"impersonated_service_account", gcp_impersonated},
        };
        const char *type = gcp_field(a, f, "type");

        if (!type)
                return -EINVAL;
        for (size_t i = 0; i < sizeof types / sizeof *types; i++)
                if (!strcmp(types[i].type, type))
                        return types[i].token(a, f, out);
        return cred_no(a, -EOPNOTSUPP,
                       "%s is of the kind \"%.60s\": give one of the kind service_account, "
                       "authorized_user, external_account, external_account_authorized_user or "
                       "impersonated_service_account",
                       f->path, type);
}

static int from_file(struct cred_ask *a, const char *path, const char *named_by, struct cred *out)
{
        CLEANUP(secret_buf_release) struct buf text = BUF_INIT;
        CLEANUP(secret_json_freep) struct json *j = NULL;
        char why[64];

        int err = cred_read_file(a, path, &text);
        if (err && named_by) {
                cred_remedy(a, err, "%s names it: correct that, or make the file readable",
                            named_by);
                return err == -ENOENT ? -EINVAL : err;
        }
        if (err)
                return err == -ENOENT ? err : cred_remedy(a, err, "make it readable, or remove it");
        if (json_parse(path, text.p, text.len, &j, why, sizeof why) || !json_is_object(j))
                return cred_no(a, -EINVAL,
                               "%s is no JSON of a credential, or only a part of it: have the file "
                               "made anew",
                               path);
        const struct gcp_file f = {.path = path, .j = j, .scope = GCP_SCOPE};
        /* That of an external account says only where its secret is. */
        if (strcmp(json_string(json_get(j, "type"), ""), "external_account") != 0)
                snprintf(a->secret_file, sizeof a->secret_file, "%s", path);
        err = gcp_is_hmac(j) ? gcp_hmac(a, &f, out) : gcp_token(a, &f, out);
        return err == -ENOENT ? -EINVAL : err == -EHOSTDOWN ? -ETIMEDOUT : err;
}

int cred_gcp_given(struct cred_ask *a, struct cred *out)
{
        if (!a->file)
                return cred_no(a, -ENOENT, "not given");
        return from_file(a, a->file, "credentials=", out);
}

int cred_gcp_variable(struct cred_ask *a, struct cred *out)
{
        const char *path = cred_env("GOOGLE_APPLICATION_CREDENTIALS");
        if (!path)
                return cred_no(a, -ENOENT, "not set");
        return from_file(a, path, "GOOGLE_APPLICATION_CREDENTIALS", out);
}

char *gcp_well_known(void)
{
        const char *config = cred_env("CLOUDSDK_CONFIG");
        char *path = NULL;

        if (!config)
                return home_path(".config/gcloud/application_default_credentials.json");
        return asprintf(&path, "%s/application_default_credentials.json", config) < 0 ? NULL : path;
}

int cred_gcp_well_known(struct cred_ask *a, struct cred *out)
{
        CLEANUP(freep) char *path = gcp_well_known();

        return path ? from_file(a, path, NULL, out)
                    : cred_no(a, -ENOMEM, "no memory: end another program");
}
