/* SPDX-License-Identifier: Apache-2.0 */
/* cred_int.h: what the sources of credentials share. A source runs on the chain's thread and may
 * block; everything it waits for is bounded, and ends early when the chain is closed. */
#ifndef CKPTFS_STORE_CRED_INT_H
#define CKPTFS_STORE_CRED_INT_H

#include "base/buf.h"
#include "base/text/json.h"
#include "store/cred/cred.h"
#include "store/cred/profile.h"

enum { CRED_WHY_MAX = 1024, CRED_FILE_MAX = 512 };

/* A question for credentials, and the reason of an answer that is none. */
struct cred_ask {
        char *profile;      /* the one in force */
        bool profile_given; /* by the caller */
        char *file;
        char *ca_bundle;
        char *region;         /* what is set; NULL */
        bool fips, dualstack; /* of the vendor's servers, those for either */
        bool anonymous;
        unsigned machine_ms;     /* most that a try of a metadata server takes, once; 0: as set */
        struct cred_chain *base; /* of sessions: */
        char *sse, *sse_kms_key;
        long *skew_s;                    /* of the chain, see cred_chain_skew(); NULL: none */
        const int *stop;                 /* atomic: the chain is closed */
        pid_t left;                      /* a program that could not be ended, or 0 */
        char secret_file[CRED_FILE_MAX]; /* where the source found one; "" nowhere */
        char why[CRED_WHY_MAX];
};

/* Sets the reason; returns err. */
int cred_no(struct cred_ask *a, int err, const char *fmt, ...)
        __attribute__((format(printf, 3, 4)));

/* Adds what to do about it to the reason; returns err. */
int cred_remedy(struct cred_ask *a, int err, const char *fmt, ...)
        __attribute__((format(printf, 3, 4)));

/* A source fills *out, which is empty, and returns 0. -ENOENT: nothing is set up for it, and
 * -EHOSTDOWN: nobody answers where every machine of the vendor has a metadata server, so this may
 * be none; the next source is asked. Any other errno ends the search: what was set up and fails is
 * no reason to be somebody else. In each case a->why says the reason, without a remedy for -ENOENT.
 */
typedef int cred_source_fn(struct cred_ask *a, struct cred *out);
struct cred_source {
        const char *name; /* for messages */
        cred_source_fn *fetch;
};

struct cred_settings {
        char *region, *endpoint, *ca_bundle;
        bool fips, dualstack, sums_when_required;
};

struct cred_vendor {
        /* Reads with what is asked (a->profile, a->file) and the settings of the vendor's tools. */
        int (*read_settings)(struct cred_ask *a, const struct cred_want *want,
                             struct cred_settings *set);
        const struct cred_source *sources;
        size_t nsources;
        const char *remedy; /* where no source has any */
};

/* The variable, NULL when it is not set or empty; and whether it says "true" or "1". */
const char *cred_env(const char *name);
bool cred_is_true(const char *text);
/* Replaces *to by a copy of `value`, wiping what was there. 0 or -ENOMEM. */
int cred_set(char **to, const char *value);
/* Fills *out; token may be NULL. 0 or -ENOMEM. */
int cred_keys(struct cred *out, const char *access, const char *secret, const char *token,
              time_t expiry);
int cred_bearer(struct cred *out, const char *token, time_t expiry);

/* "2011-07-11T19:55:29Z", with a fraction or an offset: seconds since 1970, 0 for what is no time.
 */
time_t cred_time(const char *text);
/* Wipes and frees. */
void secret_buf_release(struct buf *b);
/* Reads a file of at most 1 MiB, which may hold secrets. 0, or a negative errno with the reason
 * (-ENOENT, too). */
int cred_read_file(struct cred_ask *a, const char *file, struct buf *out);

/* --- cred_http.c: an exchange with an identity server --- */
struct cred_call {
        const char *what; /* who is asked, for messages */
        const char *method;
        struct buf url, headers, body;
        unsigned timeout_ms;
        unsigned tries;
        bool metadata; /* a server that may not be there: silence is -EHOSTDOWN */

        int status; /* what came; 0: nothing */
        struct buf reply, reply_headers;
};
#define CRED_CALL(what_, method_)                                                                  \
        {                                                                                          \
                .what = (what_), .method = (method_), .url = BUF_INIT, .headers = BUF_INIT,        \
                .body = BUF_INIT, .timeout_ms = 10000, .tries = 3, .reply = BUF_INIT,              \
                .reply_headers = BUF_INIT                                                          \
        }
void cred_call_release(struct cred_call *c); /* wipes */
void cred_call_header(struct cred_call *c, const char *name, const char *value);
/* Adds a field to a body of application/x-www-form-urlencoded. */
void cred_call_field(struct cred_call *c, const char *name, const char *value);
/* Sends it, again where that may help. 0 when any whole reply came; -ETIMEDOUT (-EHOSTDOWN with
 * `metadata`), -ECANCELED, -EPROTO (TLS) or -ENOMEM with the reason. */
int cred_call(struct cred_ask *a, struct cred_call *c);
/* The time by the chain's clock. */
time_t cred_now(const struct cred_ask *a);
/* The same of a time by the clock of the server that replied. */
time_t cred_call_time(const struct cred_ask *a, const struct cred_call *c, time_t theirs);
/* Whether a reply refuses what was signed by a clock that is off: cred_now() is the server's time
 * from then on. */
bool cred_follow_clock(struct cred_ask *a, const struct cred_call *c);
/* The value of a header of the reply (its name in lower case), or NULL. */
const char *cred_call_reply_header(const struct cred_call *c, const char *name);
/* Wants status 200: the reason names the server, the status and the server's own code (error,
 * error_description, Code, message), never more of the body. 0, -EACCES (4xx), or -ETIMEDOUT (5xx,
 * and what says that it was asked too often). */
int cred_call_ok(struct cred_ask *a, const struct cred_call *c);
/* cred_call_ok(), then the body as JSON: -EBADMSG for what is none; and the call before it. */
int cred_call_parse(struct cred_ask *a, const struct cred_call *c, struct json **out);
int cred_call_json(struct cred_ask *a, struct cred_call *c, struct json **out);
/* A field that has to be a string; NULL with the reason. */
const char *cred_json_string(struct cred_ask *a, const struct json *j, const char *name,
                             const char *where);
/* A field that may be absent or null (*out is NULL then) but else has to be a string. 0, or
 * -EBADMSG with the reason. */
int cred_json_option(struct cred_ask *a, const struct json *j, const char *name, const char *where,
                     const char **out);
void secret_json_freep(struct json **j); /* wipes the strings */

/* The region as the metadata server of an AWS machine tells it; malloc'ed or NULL. */
char *cred_imds_region(struct cred_ask *a);
/* All that it tells of the machine, within 5 s whatever the environment says of time. 0 or a
 * negative errno with the reason. */
int cred_imds_document(struct cred_ask *a, struct json **out);

/* --- cred_exec.c: a program that prints credentials --- */
/* Runs argv (no shell) with the environment and `env` ("NAME=VALUE", NULL at the end, may be NULL)
 * and collects what it prints, at most 64 KiB. Its standard error is dropped. 0, -ETIMEDOUT,
 * -EACCES (it failed), -ENOENT (cannot be run, though asked for: -EINVAL), -ECANCELED. */
int cred_exec(struct cred_ask *a, const char *what, char *const argv[], char *const env[],
              unsigned timeout_ms, struct buf *out);
/* Splits a command as a shell would its words, without expanding anything: quotes and backslashes.
 * argv and its strings are one block for free(). NULL: a quote is open, or no memory. */
char **cred_split(const char *command);

#endif
