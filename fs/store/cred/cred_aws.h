/* SPDX-License-Identifier: Apache-2.0 */
/* cred_aws.h: what the sources of AWS credentials share. */
#ifndef CKPTFS_STORE_CRED_AWS_H
#define CKPTFS_STORE_CRED_AWS_H

#include "base/text/uri.h"
#include "store/cred/cred_int.h"

cred_source_fn cred_aws_env;       /* AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY */
cred_source_fn cred_aws_profile;   /* whatever the profile says */
cred_source_fn cred_aws_web;       /* AWS_WEB_IDENTITY_TOKEN_FILE */
cred_source_fn cred_aws_container; /* AWS_CONTAINER_CREDENTIALS_*_URI */
cred_source_fn cred_aws_imds;      /* the machine's metadata server */

/* Where a service is: AWS_ENDPOINT_URL_SERVICE, AWS_ENDPOINT_URL, the profile's services section
 * and its endpoint_url. `service` is as in the variable, "STS". *out is malloc'ed or NULL. 0 or
 * -ENOMEM, -EINVAL with the reason. */
int cred_aws_endpoint(struct cred_ask *a, const struct profile *p, const char *service, char **out);

/* cred_aws_sts.c: a role assumed. Strings may be NULL but the ARN. */
struct cred_role {
        const char *arn, *session, *external_id, *duration;
        const char *token_file; /* of a web identity, in place of `with` */
        const struct cred *with;
        const char *region;
        char *endpoint; /* of STS */
};
int cred_aws_role(struct cred_ask *a, const struct cred_role *role, struct cred *out);

/* The credentials in the XML of STS and CreateSession. */
int cred_aws_take_xml(struct cred_ask *a, const struct cred_call *c, struct cred *out);
/* Who signs a call, and for what: `path` and `query` are those of its URL. */
struct cred_aws_sign {
        const struct cred *with;
        const char *region, *service, *path;
        const struct uri_pair *query;
        size_t nquery;
};
/* cred_call() of what is signed, headers and body with it: by the servers' clock, which is asked
 * for once if the server refuses. */
int cred_aws_call(struct cred_ask *a, struct cred_call *c, const struct cred_aws_sign *by);

/* cred_aws_login.c: the token of a login that the vendor's tool has cached, malloc'ed; one that
 * ends is renewed where it can be. */
struct cred_login {
        const char *profile;
        const char *account, *role, *region;
        const char *cached_as; /* session's name, or the start URL */
        bool renewed;          /* of a session: may be */
};
int cred_aws_login(struct cred_ask *a, const struct profile *p, const struct cred_login *l,
                   char **token);

/* cred_aws_sso.c: the profile's role by a login that the vendor's tool has cached. */
int cred_aws_sso(struct cred_ask *a, const struct profile *p, struct cred *out);

/* What a program, the container's server and the metadata server answer: JSON with these names.
 * `where` is for messages. 0, -EBADMSG or -ENOMEM. */
int cred_aws_take(struct cred_ask *a, const struct json *j, const char *where, const char *access,
                  const char *token, struct cred *out);

#endif
