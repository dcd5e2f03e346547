/* SPDX-License-Identifier: Apache-2.0 */
/* script_cred.c: credentials that are always there, in the place of a chain with its thread
 * (-Wl,--wrap): thousands of stores are opened a second. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "store/cred/cred.h"
#include "store.h"
#include "base/banned.h"

int __wrap_cred_chain_open(const struct cred_want *want, struct cred_chain **out, char *why,
                           size_t nwhy);
void __wrap_cred_chain_close(struct cred_chain *c);
int __wrap_cred_chain_get(struct cred_chain *c, struct cred *out, char *why, size_t nwhy);
time_t __wrap_cred_chain_now(const struct cred_chain *c);
long *__wrap_cred_chain_skew(struct cred_chain *c);
bool __wrap_cred_chain_forget(struct cred_chain *c, unsigned serial);
void __wrap_cred_chain_renew(struct cred_chain *c);
void __wrap_cred_chain_why(struct cred_chain *c, char *why, size_t nwhy);
void __wrap_cred_chain_about(struct cred_chain *c, struct store_credentials *out);
void __wrap_cred_chain_file(struct cred_chain *c, char *out, size_t n);
const char *__wrap_cred_chain_region(const struct cred_chain *c, const char *arg);
const char *__wrap_cred_chain_endpoint(const struct cred_chain *c, const char *arg);
const char *__wrap_cred_chain_ca_bundle(const struct cred_chain *c, const char *arg);
bool __wrap_cred_chain_fips(const struct cred_chain *c);
bool __wrap_cred_chain_dualstack(const struct cred_chain *c);
bool __wrap_cred_chain_sums_when_required(const struct cred_chain *c);

/* Chains are told apart by this alone. */
static char with_keys, without;
static long skew_s; /* of the store that was opened last */

int __wrap_cred_chain_open(const struct cred_want *want, struct cred_chain **out, char *why,
                           size_t nwhy)
{
        (void)why, (void)nwhy;
        __atomic_store_n(&skew_s, 0, __ATOMIC_RELAXED);
        *out = (struct cred_chain *)(want->anonymous ? &without : &with_keys);
        return 0;
}

void __wrap_cred_chain_close(struct cred_chain *c)
{
        (void)c;
}

int __wrap_cred_chain_get(struct cred_chain *c, struct cred *out, char *why, size_t nwhy)
{
        (void)why, (void)nwhy;
        *out = (struct cred){.kind = CRED_ANONYMOUS, .serial = 1};
        if ((char *)c == &without)
                return 0;
        out->kind = CRED_KEYS;
        out->access = strdup("AKIDEXAMPLE");
        out->secret = strdup("secret");
        return out->access && out->secret ? 0 : -ENOMEM;
}

time_t __wrap_cred_chain_now(const struct cred_chain *c)
{
        (void)c;
        return time(NULL) + __atomic_load_n(&skew_s, __ATOMIC_RELAXED);
}

long *__wrap_cred_chain_skew(struct cred_chain *c)
{
        (void)c;
        return &skew_s;
}

bool __wrap_cred_chain_forget(struct cred_chain *c, unsigned serial)
{
        (void)c, (void)serial;
        return false;
}

void __wrap_cred_chain_renew(struct cred_chain *c)
{
        (void)c;
}

void __wrap_cred_chain_why(struct cred_chain *c, char *why, size_t nwhy)
{
        (void)c;
        snprintf(why, nwhy, "refused");
}

void __wrap_cred_chain_about(struct cred_chain *c, struct store_credentials *out)
{
        (void)c;
        *out = (struct store_credentials){.source = "script", .kind = "keys", .usable = true};
}

void __wrap_cred_chain_file(struct cred_chain *c, char *out, size_t n)
{
        (void)c;
        snprintf(out, n, "%s", "");
}

const char *__wrap_cred_chain_region(const struct cred_chain *c, const char *arg)
{
        (void)c;
        return arg;
}

const char *__wrap_cred_chain_endpoint(const struct cred_chain *c, const char *arg)
{
        (void)c;
        return arg;
}

const char *__wrap_cred_chain_ca_bundle(const struct cred_chain *c, const char *arg)
{
        (void)c;
        return arg;
}

bool __wrap_cred_chain_fips(const struct cred_chain *c)
{
        (void)c;
        return false;
}

bool __wrap_cred_chain_dualstack(const struct cred_chain *c)
{
        (void)c;
        return false;
}

bool __wrap_cred_chain_sums_when_required(const struct cred_chain *c)
{
        (void)c;
        return false;
}
