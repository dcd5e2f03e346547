/* SPDX-License-Identifier: Apache-2.0 */
/* cred.h: where credentials and the settings beside them come from.
 *
 * A chain asks its providers in the vendor's order and keeps the answer until it nears its expiry;
 * the providers stand in one const table in cred.c. Today: the environment (AWS_ACCESS_KEY_ID,
 * AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN), then the shared credentials and config files
 * (AWS_SHARED_CREDENTIALS_FILE, AWS_CONFIG_FILE, else ~/.aws/credentials and ~/.aws/config). A
 * profile that the caller names goes before the environment's keys, as with the vendor's tools.
 * Secrets are never logged, and wiped when freed. Thread-safe. */
#ifndef CKPTFS_STORE_CRED_H
#define CKPTFS_STORE_CRED_H

#include <stddef.h>
#include <time.h>

struct cred {
        char *access, *secret;
        char *token;   /* NULL when there is none */
        time_t expiry; /* 0: never */
};
#define CRED_INIT                                                                                  \
        {                                                                                          \
                NULL, NULL, NULL, 0                                                                \
        }
void cred_release(struct cred *c);

struct cred_chain;

/* Reads the files and settles the profile (`profile`, else AWS_PROFILE, else "default"); does not
 * ask for credentials. 0, or a negative errno with one line in `why`: cause, then remedy (-ENOENT:
 * a profile that was named exists in no file; -EINVAL: a broken line). Blocks on local files. */
int cred_chain_open(const char *profile, struct cred_chain **out, char *why, size_t nwhy);
void cred_chain_close(struct cred_chain *c); /* NULL is fine */
void cred_chain_closep(struct cred_chain **c);

/* A copy of credentials that are good for a minute at least; the caller's, for cred_release(). 0,
 * -ENOENT (nobody has any), -EINVAL (half a pair, a broken file), -EOPNOTSUPP (a source that is not
 * built) or -ENOMEM with one line in `why`. May block while it fetches.
 */
int cred_chain_get(struct cred_chain *c, struct cred *out, char *why, size_t nwhy);

/* Forgets what is cached, after the store refused it as expired. */
void cred_chain_forget(struct cred_chain *c);

/* Settings, owned by the chain. `arg` wins when it is not NULL or "".
 *   region     AWS_REGION, AWS_DEFAULT_REGION, the profile's region, "us-east-1"
 *   endpoint   AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, the profile's endpoint_url, NULL
 *   ca_bundle  AWS_CA_BUNDLE, the profile's ca_bundle, NULL */
const char *cred_chain_region(const struct cred_chain *c, const char *arg);
const char *cred_chain_endpoint(const struct cred_chain *c, const char *arg);
const char *cred_chain_ca_bundle(const struct cred_chain *c, const char *arg);

#endif
