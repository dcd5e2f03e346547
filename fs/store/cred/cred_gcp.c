/* SPDX-License-Identifier: Apache-2.0 */
/* cred_gcp.c: the order in which Google Cloud's credentials are looked for (application default
 * credentials), and the last of the sources, the metadata server. */
#include "store/cred/cred_gcp.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

#include "base/banned.h"

static int take_token(struct cred_ask *a, const struct cred_call *c, struct cred *out)
{
        CLEANUP(secret_json_freep) struct json *j = NULL;

        int err = cred_call_parse(a, c, &j);
        if (err)
                return err;
        const char *token = cred_json_string(a, j, "access_token", c->what);
        if (!token)
                return -EBADMSG;
        double life = json_number(json_get(j, "expires_in"), 3600);
        if (!(life > 0 && life < 1e8))
                return cred_no(a, -EACCES, "%s gives a token that has expired: see to its clock",
                               c->what);
        return cred_bearer(out, token, cred_now(a) + (time_t)life);
}

int gcp_exchange(struct cred_ask *a, struct cred_call *c, struct cred *out)
{
        int err = cred_call(a, c);
        return err ? err : take_token(a, c, out);
}

/* Asks the metadata server; `c` has its answer then, whatever its status. */
static int ask_machine(struct cred_ask *a, struct cred_call *c, const char *what)
{
        const char *host = cred_env("GCE_METADATA_HOST");

        if (cred_is_true(cred_env("NO_GCE_CHECK")))
                return cred_no(a, -ENOENT, "NO_GCE_CHECK is set");
        if (!host)
                host = cred_env("GCE_METADATA_ROOT");
        if (!host)
                host = "metadata.google.internal";
        c->metadata = true;
        c->timeout_ms = 1000;
        buf_addf(&c->url, "http://%s/computeMetadata/v1/%s", host, what);
        cred_call_header(c, "Metadata-Flavor", "Google");
        int err = cred_call(a, c);
        if (err)
                return err;
        const char *flavor = cred_call_reply_header(c, "metadata-flavor");
        if (!flavor || strcmp(flavor, "Google") != 0)
                return cred_no(a, -EHOSTDOWN, "what answers at %s is no metadata server", host);
        return 0;
}

int cred_gcp_metadata(struct cred_ask *a, struct cred *out)
{
        CLEANUP(cred_call_release) struct cred_call c = CRED_CALL("metadata server", "GET");

        int err = ask_machine(a, &c, "instance/service-accounts/default/token?scopes=" GCP_SCOPE);
        if (err)
                return err;
        if (c.status == 404)
                return cred_no(a, -ENOENT, "this machine has no service account");
        return take_token(a, &c, out);
}

void cred_gcp_machine_universe(struct cred_gcp_facts *facts)
{
        static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789.-";
        CLEANUP(cred_call_release) struct cred_call c = CRED_CALL("metadata server", "GET");
        struct cred_ask a = {.file = NULL};

        c.tries = 1;
        if (ask_machine(&a, &c, "universe/universe-domain") || c.status != 200)
                return; /* older servers do not know it */
        size_t n = strspn(c.reply.p, letters);
        if (n && n < sizeof facts->universe && !c.reply.p[n + strspn(c.reply.p + n, "\r\n")]) {
                memcpy(facts->universe, c.reply.p, n);
                facts->universe[n] = 0;
        }
}

static int read_settings(struct cred_ask *a, const struct cred_want *want,
                         struct cred_settings *set)
{
        (void)set;
        return want->file && *want->file ? cred_set(&a->file, want->file) : 0;
}

static const struct cred_source sources[] = {
        {"credentials=", cred_gcp_given},
        {CRED_GCP_KEY_VARIABLE, cred_gcp_keys},
        {"GOOGLE_APPLICATION_CREDENTIALS", cred_gcp_variable},
        {"gcloud", cred_gcp_well_known},
        {"metadata server", cred_gcp_metadata},
};

const struct cred_vendor cred_gcp = {
        .read_settings = read_settings,
        .sources = sources,
        .nsources = sizeof sources / sizeof *sources,
        .remedy = "run gcloud auth application-default login, set GOOGLE_APPLICATION_CREDENTIALS, "
                  "give this machine a service account, or set anonymous where none are asked for",
};
