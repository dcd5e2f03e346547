/* SPDX-License-Identifier: Apache-2.0 */
/* cred.c: see cred.h. The thread that keeps a chain's credentials fresh. */
#include "store/cred_int.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"

#include "base/banned.h"

enum {
        LEAD_S = 300,    /* this long before their end others are fetched, or at half time */
        ASK_AGAIN_S = 5, /* after an error, when somebody wants them */
        BACKOFF_MAX_S = 60,
        GRACE_S = 120,     /* so long after their end requests wait for a server that is away */
        SLEEP_MAX_S = 3600 /* the clock may be set */
};

struct cred_chain {
        const struct cred_vendor *vendor;
        struct cred_settings set;
        struct cred_ask ask; /* the thread's, once it runs */
        pthread_t thread;
        bool started;
        int stop; /* atomic */

        pthread_mutex_t mtx;
        pthread_cond_t cond;
        struct {
                struct cred cred;
                bool stale;    /* the store refused them */
                bool wanted;   /* the thread is to fetch */
                bool fetching; /* it does */
                bool said;     /* the failure is in the log */
                int err;       /* of the last fetch */
                unsigned failures;
                time_t tried, due; /* due 0: not by itself */
                char why[CRED_WHY_MAX];
        } locked;
};

static bool usable_locked(const struct cred_chain *c, time_t now)
{
        const struct cred *have = &c->locked.cred;
        return have->kind != CRED_NONE && !c->locked.stale && (!have->expiry || have->expiry > now);
}

/* Failures that may go away by themselves. */
static bool may_pass(int err)
{
        return err == -ETIMEDOUT || err == -EHOSTDOWN || err == -EBADMSG;
}

/* --- the thread ---------------------------------------------------------------------------------
 */

/* Asks one source after the other; *from is the one that had them. */
static int search(struct cred_chain *c, struct cred *out, const char **from)
{
        struct cred_ask *a = &c->ask;
        CLEANUP(buf_release) struct buf tried = BUF_INIT;

        if (a->anonymous) {
                *from = "nobody";
                *out = (struct cred){.kind = CRED_ANONYMOUS};
                return 0;
        }
        for (size_t i = 0; i < c->vendor->nsources; i++) {
                const struct cred_source *source = &c->vendor->sources[i];
                a->why[0] = 0;
                int err = source->fetch(a, out);
                if (!err && out->expiry && out->expiry <= time(NULL)) {
                        err = cred_no(a, -EACCES,
                                      "%s gives credentials that have expired: have them renewed, "
                                      "or correct this machine's clock",
                                      source->name);
                        cred_release(out);
                }
                *from = source->name;
                if (err != -ENOENT && err != -EHOSTDOWN)
                        return err;
                buf_addf(&tried, "%s%s: %s", tried.len ? "; " : "", source->name, a->why);
        }
        return cred_no(a, -ENOENT, "no credentials (%s): %s", tried.failed ? "" : tried.p,
                       c->vendor->remedy);
}

static void succeed_locked(struct cred_chain *c, struct cred *fresh, const char *from)
{
        time_t now = time(NULL), life = fresh->expiry - now;
        time_t lead = life / 2 < LEAD_S ? life / 2 : LEAD_S;
        unsigned serial = c->locked.cred.serial + 1;

        if (c->locked.said)
                log_info("credentials: from %s again", from);
        else if (fresh->expiry)
                log_debug("credentials: from %s, for %ld s", from, (long)life);
        else
                log_debug("credentials: from %s", from);
        cred_release(&c->locked.cred);
        c->locked.cred = *fresh;
        c->locked.cred.serial = serial;
        *fresh = (struct cred)CRED_INIT;
        c->locked.stale = c->locked.said = false;
        c->locked.failures = 0;
        c->locked.err = 0;
        c->locked.due = 0;
        if (c->locked.cred.expiry)
                c->locked.due = now + (life - lead > 1 ? life - lead : 1);
}

/* Only who had credentials goes on by itself; before that each user who asks is told. */
static void fail_locked(struct cred_chain *c, int err)
{
        time_t now = time(NULL), expiry = c->locked.cred.expiry;
        bool had = c->locked.cred.kind != CRED_NONE, usable = usable_locked(c, now);

        c->locked.err = err;
        snprintf(c->locked.why, sizeof c->locked.why, "%s", c->ask.why);
        c->locked.due = 0;
        if (!had || err == -ECANCELED)
                return;
        if (!c->locked.said && usable)
                log_warn("credentials: not renewed, those at hand hold for %ld s: %s",
                         (long)(expiry - now), c->locked.why);
        else if (!c->locked.said)
                log_error("credentials: they have expired, and there are no others: %s",
                          c->locked.why);
        c->locked.said = true;
        unsigned wait = c->locked.failures < 6 ? 1U << c->locked.failures : BACKOFF_MAX_S;
        if (wait < BACKOFF_MAX_S)
                c->locked.failures++;
        c->locked.due = now + wait;
}

static void fetch_locked(struct cred_chain *c)
{
        CLEANUP(cred_release) struct cred fresh = CRED_INIT;
        const char *from = "";

        c->locked.wanted = false;
        c->locked.fetching = true;
        pthread_mutex_unlock(&c->mtx);
        int err = search(c, &fresh, &from);
        pthread_mutex_lock(&c->mtx);
        c->locked.fetching = false;
        c->locked.tried = time(NULL);
        if (err)
                fail_locked(c, err);
        else
                succeed_locked(c, &fresh, from);
        pthread_cond_broadcast(&c->cond);
}

static void *keep_fresh(void *arg)
{
        struct cred_chain *c = arg;

        pthread_mutex_lock(&c->mtx);
        while (!__atomic_load_n(&c->stop, __ATOMIC_SEQ_CST)) {
                time_t now = time(NULL), due = c->locked.due;
                if (c->locked.wanted || (due && due <= now)) {
                        fetch_locked(c);
                        continue;
                }
                struct timespec until = {.tv_sec = now + SLEEP_MAX_S};
                if (due && due < until.tv_sec)
                        until.tv_sec = due;
                pthread_cond_timedwait(&c->cond, &c->mtx, &until);
        }
        pthread_mutex_unlock(&c->mtx);
        return NULL;
}

/* --- for users -----------------------------------------------------------------------------------
 */

int cred_chain_open(const struct cred_want *want, struct cred_chain **out, char *why, size_t nwhy)
{
        CLEANUP(cred_chain_closep) struct cred_chain *c = calloc(1, sizeof *c);

        snprintf(why, nwhy, "no memory: end another program");
        if (!c)
                return -ENOMEM;
        pthread_mutex_init(&c->mtx, NULL);
        pthread_cond_init(&c->cond, NULL);
        c->vendor = want->vendor;
        c->ask.stop = &c->stop;
        c->ask.anonymous = want->anonymous;
        int err = c->vendor->settle(&c->ask, want, &c->set);
        if (!err)
                err = cred_set(&c->ask.ca_bundle, cred_chain_ca_bundle(c, want->ca_bundle));
        if (!err)
                err = cred_set(&c->ask.region, c->set.region);
        if (err) {
                if (*c->ask.why)
                        snprintf(why, nwhy, "%s", c->ask.why);
                return err;
        }
        c->locked.wanted = true;
        if (pthread_create(&c->thread, NULL, keep_fresh, c))
                return -ENOMEM;
        c->started = true;
        *out = TAKE_PTR(c);
        *why = 0;
        return 0;
}

void cred_chain_close(struct cred_chain *c)
{
        if (!c)
                return;
        int err = errno;
        if (c->started) {
                __atomic_store_n(&c->stop, 1, __ATOMIC_SEQ_CST);
                pthread_mutex_lock(&c->mtx);
                pthread_cond_broadcast(&c->cond);
                pthread_mutex_unlock(&c->mtx);
                pthread_join(c->thread, NULL);
        }
        cred_release(&c->locked.cred);
        char **strings[] = {&c->ask.profile, &c->ask.file,     &c->ask.ca_bundle, &c->ask.region,
                            &c->set.region,  &c->set.endpoint, &c->set.ca_bundle};
        for (size_t i = 0; i < sizeof strings / sizeof *strings; i++)
                secret_freep(strings[i]);
        pthread_cond_destroy(&c->cond);
        pthread_mutex_destroy(&c->mtx);
        free(c);
        errno = err;
}

void cred_chain_closep(struct cred_chain **c)
{
        cred_chain_close(*c);
}

static int copy_cred(const struct cred *from, struct cred *out)
{
        *out = (struct cred){.kind = from->kind, .expiry = from->expiry, .serial = from->serial};
        if (cred_set(&out->access, from->access) || cred_set(&out->secret, from->secret) ||
            cred_set(&out->token, from->token)) {
                cred_release(out);
                return -ENOMEM;
        }
        return 0;
}

static void want_locked(struct cred_chain *c)
{
        c->locked.wanted = true;
        pthread_cond_broadcast(&c->cond);
}

static int get_locked(struct cred_chain *c, struct cred *out, char *why, size_t nwhy)
{
        time_t now = time(NULL);

        *out = (struct cred)CRED_INIT;
        *why = 0;
        if (usable_locked(c, now)) {
                int err = copy_cred(&c->locked.cred, out);
                if (err)
                        snprintf(why, nwhy, "no memory for credentials: end another program");
                return err;
        }
        if (!c->locked.wanted && !c->locked.fetching && c->locked.tried + ASK_AGAIN_S <= now)
                want_locked(c);
        if (c->locked.wanted || c->locked.fetching)
                return -EAGAIN;
        if (!c->locked.err || (c->locked.cred.kind != CRED_NONE && may_pass(c->locked.err) &&
                               c->locked.cred.expiry + GRACE_S > now))
                return -EAGAIN;
        snprintf(why, nwhy, "%s", c->locked.why);
        return c->locked.err;
}

int cred_chain_get(struct cred_chain *c, struct cred *out, char *why, size_t nwhy)
{
        pthread_mutex_lock(&c->mtx);
        int err = get_locked(c, out, why, nwhy);
        pthread_mutex_unlock(&c->mtx);
        return err;
}

int cred_chain_wait(struct cred_chain *c, struct cred *out, char *why, size_t nwhy)
{
        pthread_mutex_lock(&c->mtx);
        while (c->locked.wanted || c->locked.fetching)
                pthread_cond_wait(&c->cond, &c->mtx);
        int err = get_locked(c, out, why, nwhy);
        pthread_mutex_unlock(&c->mtx);
        return err;
}

void cred_chain_forget(struct cred_chain *c, unsigned serial)
{
        pthread_mutex_lock(&c->mtx);
        if (serial == c->locked.cred.serial && !c->locked.stale) {
                c->locked.stale = true;
                want_locked(c);
        }
        pthread_mutex_unlock(&c->mtx);
}

void cred_chain_why(struct cred_chain *c, char *why, size_t nwhy)
{
        pthread_mutex_lock(&c->mtx);
        snprintf(why, nwhy, "%s", c->locked.why);
        pthread_mutex_unlock(&c->mtx);
}

static const char *setting(const char *arg, const char *own)
{
        return arg && *arg ? arg : own;
}

const char *cred_chain_region(const struct cred_chain *c, const char *arg)
{
        return setting(arg, c->set.region);
}

const char *cred_chain_endpoint(const struct cred_chain *c, const char *arg)
{
        return setting(arg, c->set.endpoint);
}

const char *cred_chain_ca_bundle(const struct cred_chain *c, const char *arg)
{
        return setting(arg, c->set.ca_bundle);
}

bool cred_chain_fips(const struct cred_chain *c)
{
        return c->set.fips;
}

bool cred_chain_dualstack(const struct cred_chain *c)
{
        return c->set.dualstack;
}

char *cred_aws_machine_region(const struct cred_chain *c)
{
        struct cred_ask a = {.profile = c->ask.profile, .ca_bundle = c->ask.ca_bundle};
        return cred_imds_region(&a);
}
