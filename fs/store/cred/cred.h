/* SPDX-License-Identifier: Apache-2.0 */
/* cred.h: where credentials and the settings beside them come from.
 *
 * A chain asks the sources of a vendor in the vendor's order, on a thread of its own, keeps the
 * answer, and asks again well ahead of its end. A refresh that fails leaves the old credentials in
 * force while they are valid, and is logged once. The first source that something is set up for
 * ends the search, and the one that served is the only one asked from then on: another one's
 * credentials are another identity. The sources stand in a const table a vendor (cred_aws.c,
 * cred_gcp.c). Secrets are never logged or part of a message, and wiped when freed. Thread-safe. */
#ifndef CKPTFS_STORE_CRED_H
#define CKPTFS_STORE_CRED_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

enum cred_kind {
        CRED_NONE,
        CRED_KEYS,     /* access and secret sign; token goes with them, or is NULL */
        CRED_BEARER,   /* token is an OAuth access token */
        CRED_ANONYMOUS /* requests carry nothing */
};

struct cred {
        enum cred_kind kind;
        char *access, *secret, *token;
        time_t expiry;   /* 0: never */
        bool outlasts;   /* used past their end while there are no others, as the vendor has it */
        unsigned serial; /* which of the chain's answers it is, for cred_chain_forget() */
};
#define CRED_INIT                                                                                  \
        {                                                                                          \
                .kind = CRED_NONE                                                                  \
        }
void cred_release(struct cred *c); /* wipes */

struct cred_chain;
struct cred_vendor;
extern const struct cred_vendor cred_aws, cred_gcp;

/* What is asked for. Strings are copied; NULL or "" is the vendor's default. */
struct cred_want {
        const struct cred_vendor *vendor;
        const char *profile;   /* cred_aws: goes before the environment's keys, as with its tools */
        const char *file;      /* cred_gcp: a credential file, before all other places; sessions: a
                                * URL */
        const char *ca_bundle; /* for the identity servers, as for the store */
        bool anonymous;        /* no credentials are looked for */
        struct cred_chain *base; /* sessions: what they are asked for with; outlives the chain */
        const char *region;      /* sessions: to sign for */
        const char *sse, *sse_kms_key; /* sessions: how what is written is encrypted; NULL */
};

/* Reads the settings and begins to fetch credentials in the background. 0, or a negative errno with
 * one line in `why`: cause, then remedy (-ENOENT: a profile that was named exists in no file;
 * -EINVAL: a broken line). Blocks on local files. */
int cred_chain_open(const struct cred_want *want, struct cred_chain **out, char *why, size_t nwhy);
/* Stops a fetch that is under way. NULL is fine. Blocks for a second at most. */
void cred_chain_close(struct cred_chain *c);
void cred_chain_closep(struct cred_chain **c);

/* A copy of credentials that have not expired (good for a minute at least where they were issued
 * for longer than two); the caller's, for cred_release(). Never blocks. 0; -EAGAIN while the first
 * fetch is under way, which the source bounds; -EINPROGRESS while others are fetched than those
 * that ended or were forgotten, and for two minutes more while their source is away; otherwise what
 * the last fetch came to, with one line in `why`: -ENOENT (nobody has any), -EINVAL (half a pair, a
 * broken file), -EOPNOTSUPP (a setting that is not served), -EACCES (refused), -ETIMEDOUT (a server
 * did not answer), -EBADMSG (it answered nonsense), -ENOMEM. After an error the chain is asked
 * again when some seconds have passed. */
int cred_chain_get(struct cred_chain *c, struct cred *out, char *why, size_t nwhy);
/* The same, but waits for a fetch that is under way. Not on an I/O thread. */
int cred_chain_wait(struct cred_chain *c, struct cred *out, char *why, size_t nwhy);

/* The servers' clock, by which they sign and end: ours, and atomically what that lacks, as the
 * server that refused a request said last. A session has those of its base. */
time_t cred_chain_now(const struct cred_chain *c);
long *cred_chain_skew(struct cred_chain *c);

/* The store refused the credentials of that serial: others are fetched, unless the source gave the
 * same again some seconds ago. Returns whether there are others, or may be soon. */
bool cred_chain_forget(struct cred_chain *c, unsigned serial);

/* The source is asked anew; until it has answered, those at hand stay in force. Does not block. */
void cred_chain_renew(struct cred_chain *c);

/* The whole line of the last error, which may be longer than a caller of get has room for. */
void cred_chain_why(struct cred_chain *c, char *why, size_t nwhy);

/* What there is to tell of the credentials at hand. Never blocks. */
struct store_credentials;
void cred_chain_about(struct cred_chain *c, struct store_credentials *out);
/* The file that they, or what they were fetched with, were read from; "" none. Never blocks. */
void cred_chain_file(struct cred_chain *c, char *out, size_t n);

/* Settings, owned by the chain. `arg` wins when it is not NULL or "". Of cred_aws:
 *   region     AWS_REGION, AWS_DEFAULT_REGION, the profile's region, else NULL
 *   endpoint   AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, the profile's services section or its
 *              endpoint_url, else NULL
 *   ca_bundle  AWS_CA_BUNDLE, the profile's ca_bundle, else NULL
 * cred_gcp has none of its own. */
const char *cred_chain_region(const struct cred_chain *c, const char *arg);
const char *cred_chain_endpoint(const struct cred_chain *c, const char *arg);
const char *cred_chain_ca_bundle(const struct cred_chain *c, const char *arg);
/* AWS_USE_FIPS_ENDPOINT, AWS_USE_DUALSTACK_ENDPOINT, or the profile's. */
bool cred_chain_fips(const struct cred_chain *c);
bool cred_chain_dualstack(const struct cred_chain *c);
/* AWS_REQUEST_CHECKSUM_CALCULATION, or the profile's, says "when_required". */
bool cred_chain_sums_when_required(const struct cred_chain *c);

/* What requests must be made for, and where they go to: what cred_gcp would find with that file
 * (NULL: none is named) are HMAC keys; the domain of its universe, googleapis.com unless
 * GOOGLE_CLOUD_UNIVERSE_DOMAIN or the file says another; and whether only the metadata server of
 * this machine is left to ask for either. Blocks on local files. */
struct cred_gcp_facts {
        bool keys, machine;
        char universe[128];
};
void cred_gcp_facts(const char *file, struct cred_gcp_facts *out);
/* Sets the universe to the one that the metadata server tells, if it does. Blocks for a second at
 * most. */
void cred_gcp_machine_universe(struct cred_gcp_facts *facts);
#define CRED_GCP_KEY_VARIABLE    "CLOUDSDK_STORAGE_GS_XML_ACCESS_KEY_ID"
#define CRED_GCP_SECRET_VARIABLE "CLOUDSDK_STORAGE_GS_XML_SECRET_ACCESS_KEY"

/* The region of this machine as its metadata server tells it, for where no setting names one;
 * malloc'ed, or NULL. Blocks for some seconds at most. */
char *cred_aws_machine_region(const struct cred_chain *c);

#endif
