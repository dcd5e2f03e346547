/* SPDX-License-Identifier: Apache-2.0 */
/* cred.c: see cred.h. A provider is one row of a table; more of the vendor's chain are more rows.
 */
#include "store/cred.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "store/profile.h"

#include "base/banned.h"

enum { GOOD_FOR_S = 60 };

struct cred_chain {
        char *profile;
        bool profile_given; /* by the caller: then the environment's keys do not count */
        char *region, *endpoint, *ca_bundle;

        pthread_mutex_t mtx;
        struct {
                struct cred cred; /* access is NULL while none is known */
        } locked;
};

void cred_release(struct cred *c)
{
        secret_freep(&c->access);
        secret_freep(&c->secret);
        secret_freep(&c->token);
        *c = (struct cred)CRED_INIT;
}

static const char *env(const char *name)
{
        const char *v = getenv(name);
        return v && *v ? v : NULL;
}

/* Fills *out, which was empty, from three strings; either of the first two alone is an error. */
static int cred_fill(struct cred *out, const char *access, const char *secret, const char *token)
{
        out->access = strdup(access);
        out->secret = strdup(secret);
        out->token = token ? strdup(token) : NULL;
        if (out->access && out->secret && (out->token || !token))
                return 0;
        cred_release(out);
        return -ENOMEM;
}

/* A provider fills *out and returns 0, says -ENOENT (ask the next one), or another negative errno
 * with its line in `why`. May block. */
typedef int provide_fn(const struct cred_chain *c, struct cred *out, char *why, size_t nwhy);

static int from_environment(const struct cred_chain *c, struct cred *out, char *why, size_t nwhy)
{
        const char *access = env("AWS_ACCESS_KEY_ID"), *secret = env("AWS_SECRET_ACCESS_KEY");

        if (c->profile_given || (!access && !secret))
                return -ENOENT;
        if (!access || !secret) {
                snprintf(why, nwhy, "%s is set but %s is not: set both or neither",
                         access ? "AWS_ACCESS_KEY_ID" : "AWS_SECRET_ACCESS_KEY",
                         access ? "AWS_SECRET_ACCESS_KEY" : "AWS_ACCESS_KEY_ID");
                return -EINVAL;
        }
        return cred_fill(out, access, secret, env("AWS_SESSION_TOKEN"));
}

/* Reads the files anew, so that keys changed there are seen after cred_chain_forget(). */
static int from_profile(const struct cred_chain *c, struct cred *out, char *why, size_t nwhy)
{
        CLEANUP(profile_release) struct profile p = {0};

        int err = profile_load(c->profile, &p, why, nwhy);
        if (err)
                return err;
        if (p.access && p.secret)
                return cred_fill(out, p.access, p.secret, p.token);
        if (p.access || p.secret) {
                snprintf(why, nwhy, "profile '%s' has %s but no %s: add it in %s", c->profile,
                         p.access ? "aws_access_key_id" : "aws_secret_access_key",
                         p.access ? "aws_secret_access_key" : "aws_access_key_id",
                         p.credentials_file);
                return -EINVAL;
        }
        if (p.elsewhere) {
                snprintf(why, nwhy,
                         "profile '%s' takes its credentials from %s, which this release does not "
                         "do: put aws_access_key_id and aws_secret_access_key into %s",
                         c->profile, p.elsewhere, p.credentials_file);
                return -EOPNOTSUPP;
        }
        return -ENOENT;
}

static provide_fn *const providers[] = {from_environment, from_profile};

static int settle_profile(struct cred_chain *c, const char *name, char *why, size_t nwhy)
{
        CLEANUP(profile_release) struct profile p = {0};
        const char *set = env("AWS_PROFILE");
        const char *ignore = env("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS");

        c->profile_given = name && *name;
        c->profile = strdup(c->profile_given ? name : set ? set : "default");
        if (!c->profile)
                return -ENOMEM;
        int err = profile_load(c->profile, &p, why, nwhy);
        if (err)
                return err;
        if (!p.found && (c->profile_given || set)) {
                snprintf(why, nwhy,
                         "profile '%s' is not in %s or %s: name one that is there, or add it",
                         c->profile, p.config_file, p.credentials_file);
                return -ENOENT;
        }
        c->region = TAKE_PTR(p.region);
        c->ca_bundle = TAKE_PTR(p.ca_bundle);
        if (!ignore || strcmp(ignore, "true") != 0)
                c->endpoint = TAKE_PTR(p.endpoint);
        return 0;
}

/* Puts the value of the first variable that is set in the place of *setting. */
static int override(char **setting, const char *first, const char *second)
{
        const char *v = env(first);
        if (!v && second)
                v = env(second);
        if (!v)
                return 0;
        free(*setting);
        *setting = strdup(v);
        return *setting ? 0 : -ENOMEM;
}

int cred_chain_open(const char *profile, struct cred_chain **out, char *why, size_t nwhy)
{
        CLEANUP(cred_chain_closep) struct cred_chain *c = calloc(1, sizeof *c);

        snprintf(why, nwhy, "no memory: end another program");
        if (!c)
                return -ENOMEM;
        pthread_mutex_init(&c->mtx, NULL);
        int err = settle_profile(c, profile, why, nwhy);
        if (!err)
                err = override(&c->region, "AWS_REGION", "AWS_DEFAULT_REGION");
        if (!err)
                err = override(&c->endpoint, "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL");
        if (!err)
                err = override(&c->ca_bundle, "AWS_CA_BUNDLE", NULL);
        if (err)
                return err;
        *out = TAKE_PTR(c);
        *why = 0;
        return 0;
}

void cred_chain_close(struct cred_chain *c)
{
        if (!c)
                return;
        int err = errno;
        cred_release(&c->locked.cred);
        free(c->profile);
        free(c->region);
        free(c->endpoint);
        free(c->ca_bundle);
        pthread_mutex_destroy(&c->mtx);
        free(c);
        errno = err;
}

void cred_chain_closep(struct cred_chain **c)
{
        cred_chain_close(*c);
}

static int fetch_locked(struct cred_chain *c, char *why, size_t nwhy)
{
        cred_release(&c->locked.cred);
        for (size_t i = 0; i < sizeof providers / sizeof *providers; i++) {
                int err = providers[i](c, &c->locked.cred, why, nwhy);
                if (err != -ENOENT)
                        return err;
        }
        snprintf(why, nwhy,
                 "no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or put them "
                 "into the profile '%s'",
                 c->profile);
        return -ENOENT;
}

int cred_chain_get(struct cred_chain *c, struct cred *out, char *why, size_t nwhy)
{
        int err = 0;

        *out = (struct cred)CRED_INIT;
        pthread_mutex_lock(&c->mtx);
        const struct cred *have = &c->locked.cred;
        if (!have->access || (have->expiry && have->expiry - time(NULL) < GOOD_FOR_S))
                err = fetch_locked(c, why, nwhy);
        if (!err)
                err = cred_fill(out, have->access, have->secret, have->token);
        if (!err)
                out->expiry = have->expiry;
        pthread_mutex_unlock(&c->mtx);
        if (err == -ENOMEM)
                snprintf(why, nwhy, "no memory for credentials: end another program");
        return err;
}

void cred_chain_forget(struct cred_chain *c)
{
        pthread_mutex_lock(&c->mtx);
        cred_release(&c->locked.cred);
        pthread_mutex_unlock(&c->mtx);
}

const char *cred_chain_region(const struct cred_chain *c, const char *arg)
{
        if (arg && *arg)
                return arg;
        return c->region ? c->region : "us-east-1";
}

const char *cred_chain_endpoint(const struct cred_chain *c, const char *arg)
{
        return arg && *arg ? arg : c->endpoint;
}

const char *cred_chain_ca_bundle(const struct cred_chain *c, const char *arg)
{
        return arg && *arg ? arg : c->ca_bundle;
}
