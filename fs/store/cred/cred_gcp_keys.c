/* SPDX-License-Identifier: Apache-2.0 */
/* cred_gcp_keys.c: HMAC keys, which sign requests of Google's XML API and no others. */
#include "store/cred/cred_gcp.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"

#include "base/banned.h"

int cred_gcp_keys(struct cred_ask *a, struct cred *out)
{
        const char *access = cred_env(CRED_GCP_KEY_VARIABLE),
                   *secret = cred_env(CRED_GCP_SECRET_VARIABLE);

        if (!access && !secret)
                return cred_no(a, -ENOENT, "not set");
        if (!access || !secret)
                return cred_no(a, -EINVAL, "%s is set but %s is not: set both or neither",
                               access ? CRED_GCP_KEY_VARIABLE : CRED_GCP_SECRET_VARIABLE,
                               access ? CRED_GCP_SECRET_VARIABLE : CRED_GCP_KEY_VARIABLE);
        return cred_keys(out, access, secret, NULL, 0);
}

bool gcp_is_hmac(const struct json *j)
{
        return !strcmp(json_string(json_get(j, "kind"), ""), "storage#hmacKey");
}

int gcp_hmac(struct cred_ask *a, const struct gcp_file *f, struct cred *out)
{
        const char *secret = gcp_field(a, f, "secret");
        const char *access = json_string(json_get(json_get(f->j, "metadata"), "accessId"), NULL);

        if (!secret)
                return -EINVAL;
        if (!access || !*access)
                return cred_no(a, -EINVAL, "%s has no \"accessId\": have the file made anew",
                               f->path);
        return cred_keys(out, access, secret, NULL, 0);
}

static void take_universe(struct cred_gcp_facts *out, const char *universe)
{
        size_t n = universe ? strlen(universe) : 0;
        if (n && n < sizeof out->universe)
                memcpy(out->universe, universe, n + 1);
}

/* What a file tells; one that cannot be read is told of by the chain, which looks again. Returns
 * whether there is one. */
static bool look_into(const char *path, struct cred_gcp_facts *out)
{
        CLEANUP(secret_buf_release) struct buf text = BUF_INIT;
        CLEANUP(secret_json_freep) struct json *j = NULL;
        struct cred_ask a = {.file = NULL};
        char why[64];

        int err = cred_read_file(&a, path, &text);
        if (err || json_parse(path, text.p, text.len, &j, why, sizeof why))
                return err != -ENOENT;
        out->keys = gcp_is_hmac(j);
        take_universe(out, json_string(json_get(j, "universe_domain"), ""));
        return true;
}

void cred_gcp_facts(const char *file, struct cred_gcp_facts *out)
{
        const char *named = cred_env("GOOGLE_APPLICATION_CREDENTIALS");
        const char *universe = cred_env("GOOGLE_CLOUD_UNIVERSE_DOMAIN");
        CLEANUP(freep) char *left = gcp_well_known();

        *out = (struct cred_gcp_facts){.universe = GCP_UNIVERSE};
        if (file && *file)
                look_into(file, out);
        else if (cred_env(CRED_GCP_KEY_VARIABLE) || cred_env(CRED_GCP_SECRET_VARIABLE))
                out->keys = true;
        else if (named)
                look_into(named, out);
        else
                out->machine = !(left && look_into(left, out)) && !universe;
        take_universe(out, universe);
}
