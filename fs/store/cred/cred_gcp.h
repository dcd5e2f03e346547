/* SPDX-License-Identifier: Apache-2.0 */
/* cred_gcp.h: what the sources of Google Cloud's credentials share. */
#ifndef CKPTFS_STORE_CRED_GCP_H
#define CKPTFS_STORE_CRED_GCP_H

#include "store/cred/cred_int.h"

#define GCP_SCOPE     "https://www.googleapis.com/auth/devstorage.full_control"
#define GCP_UNIVERSE  "googleapis.com"
#define GCP_SCOPE_ALL "https://www.googleapis.com/auth/cloud-platform" /* to impersonate with */

cred_source_fn cred_gcp_metadata; /* the machine's service account */

/* cred_gcp_file.c: a credential file, whatever its kind: named by the caller, by
 * GOOGLE_APPLICATION_CREDENTIALS, or where gcloud leaves it. */
/* The path of what gcloud leaves; malloc'ed, NULL: no memory. */
char *gcp_well_known(void);
cred_source_fn cred_gcp_given, cred_gcp_variable, cred_gcp_well_known;

/* cred_gcp_keys.c: HMAC keys for the XML API: of the environment, by gcloud's names, or as
 * `gcloud storage hmac create` prints them. */
cred_source_fn cred_gcp_keys;
bool gcp_is_hmac(const struct json *j);

/* A credential file, or one inside of another. */
struct gcp_file {
        const char *path;
        const struct json *j;
        const char *scope;
};
/* What a field has, or NULL with the reason; `other` where there is no such field. */
const char *gcp_field(struct cred_ask *a, const struct gcp_file *f, const char *name);
const char *gcp_field_or(struct cred_ask *a, const struct gcp_file *f, const char *name,
                         const char *other);

/* One kind of file each: fills *out with a bearer token. */
typedef int gcp_token_fn(struct cred_ask *a, const struct gcp_file *f, struct cred *out);
gcp_token_fn gcp_hmac, gcp_service_account, gcp_authorized_user, gcp_external_account,
        gcp_external_user, gcp_impersonated;
/* Adds what to do when a user's login was refused; returns err. */
int gcp_login_ended(struct cred_ask *a, const struct gcp_file *f, int err);
/* By the file's "type". */
gcp_token_fn gcp_token;

/* Sends a request for a token, reads {access_token, expires_in}. */
int gcp_exchange(struct cred_ask *a, struct cred_call *c, struct cred *out);
/* Turns a token into one of the service account that `url` (generateAccessToken) names. `delegates`
 * may be NULL; lifetime_s 0 is an hour. */
int gcp_impersonate(struct cred_ask *a, const struct gcp_file *f, const char *url,
                    const struct json *delegates, unsigned lifetime_s, const struct cred *with,
                    struct cred *out);
/* cred_gcp_aws.c: the subject token of an AWS identity: a signed request to GetCallerIdentity. */
int gcp_aws_subject(struct cred_ask *a, const struct gcp_file *f, struct buf *token);

#endif
