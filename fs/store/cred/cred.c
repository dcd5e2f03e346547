/* SPDX-License-Identifier: Apache-2.0 */
/* cred.c: see cred.h. The thread that keeps a chain's credentials fresh. */
#include "store/cred/cred_int.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mutex.h"
#include "base/log.h"
#include "store.h"

#include "base/banned.h"

enum {
        LEAD_S = 300,    /* this long before their end others are fetched, or at half time */
        ASK_AGAIN_S = 5, /* after an error, when somebody wants them */
        BACKOFF_MAX_S = 60,
        GRACE_S = 120,     /* so long after their end requests wait for a source that is away */
        OUTLAST_S = 300,   /* between two looks for others than those that have expired */
        SLEEP_MAX_S = 3600 /* the clock may be set */
};

struct cred_chain {
        const struct cred_vendor *vendor;
        struct cred_settings set;
        struct cred_ask ask;              /* the thread's, once it runs */
        const struct cred_source *served; /* the thread's: whose credentials these are */
        pthread_t thread;
        bool started;
        int stop;    /* atomic */
        long skew_s; /* of ask.skew_s, unless that is the base's */

        struct mutex mtx;
        pthread_cond_t cond;
        struct {
                struct cred cred;
                const char *source; /* name of who gave them; NULL: nobody, or none are needed */
                bool stale;         /* the store refused them */
                time_t ended;       /* when it did; valid with `stale` */
                bool same;          /* they were fetched anew after that, and are the same */
                bool wanted;        /* the thread is to fetch */
                bool fetching;      /* it does */
                bool said;          /* the failure is in the log */
                int err;            /* of the last fetch */
                unsigned failures;
                time_t fetched;    /* the credentials at hand */
                time_t tried, due; /* due 0: not by itself */
                char why[CRED_WHY_MAX];
                char file[CRED_FILE_MAX]; /* of the secret; "" none */
        } locked GUARDED_BY(&mtx);
};

static bool usable_locked(const struct cred_chain *c, time_t now) REQUIRES(&c->mtx)
{
        const struct cred *have = &c->locked.cred;
        return have->kind != CRED_NONE && !c->locked.stale &&
               (!have->expiry || have->expiry > now || have->outlasts);
}

/* Failures that may go away by themselves, of a source that has served: its server comes back, its
 * file is written to the end. A refusal does not. */
static bool may_pass(int err)
{
        return err != -EACCES && err != -EOPNOTSUPP && err != -EPROTO && err != -ECANCELED;
}

static bool is_over(const struct cred *cred, time_t now)
{
        return cred->expiry && cred->expiry <= now;
}

time_t cred_now(const struct cred_ask *a)
{
        return time(NULL) + (a->skew_s ? __atomic_load_n(a->skew_s, __ATOMIC_RELAXED) : 0);
}

time_t cred_chain_now(const struct cred_chain *c)
{
        return cred_now(&c->ask);
}

long *cred_chain_skew(struct cred_chain *c)
{
        return c->ask.skew_s;
}

/* --- the thread --- */

static int ask_source(struct cred_chain *c, const struct cred_source *source, struct cred *out)
{
        struct cred_ask *a = &c->ask;

        a->why[0] = a->secret_file[0] = 0;
        int err = source->fetch(a, out);
        if (err == -ENOMEM)
                cred_no(a, err, "no memory: end another program");
        if (err || !is_over(out, cred_now(a)) || out->outlasts)
                return err;
        cred_release(out);
        return cred_no(a, -EACCES,
                       "credentials from %s have expired: renew them, or correct this "
                       "machine's clock",
                       source->name);
}

/* Asks one source after the other, until one is set up. Only that one is asked from then on: what
 * another has is another identity. */
static int search(struct cred_chain *c, struct cred *out)
{
        CLEANUP(buf_release) struct buf tried = BUF_INIT;

        if (c->served)
                return ask_source(c, c->served, out);
        for (size_t i = 0; i < c->vendor->nsources; i++) {
                const struct cred_source *source = &c->vendor->sources[i];
                int err = ask_source(c, source, out);
                if (!err)
                        c->served = source;
                if (err != -ENOENT && err != -EHOSTDOWN)
                        return err;
                buf_addf(&tried, "%s%s: %s", tried.len ? "; " : "", source->name, c->ask.why);
        }
        return cred_no(&c->ask, -ENOENT, "no credentials (%s): %s", tried.failed ? "" : tried.p,
                       c->vendor->remedy);
}

/* The reason is in the log once, until there are good ones again. */
static void say_locked(struct cred_chain *c, time_t now) REQUIRES(&c->mtx)
{
        const struct log_about *about =
                LOG_ABOUT(.operation = "credentials",
                          .remedy = "mend their source; 'ckptctl credentials' tells of it");
        const struct cred *have = &c->locked.cred;
        bool usable = usable_locked(c, now);

        if (c->locked.said)
                return;
        c->locked.said = true;
        if (usable && is_over(have, now))
                log_warn_of(about,
                            "credentials: they have expired, and are used on while there are no "
                            "others: %s",
                            c->locked.why);
        else if (usable)
                log_warn_of(about, "credentials: not renewed, those at hand hold for %ld s: %s",
                            (long)(have->expiry - now), c->locked.why);
        else
                log_error_of(about, "credentials: they %s, and there are no others: %s",
                             c->locked.stale ? "are refused" : "have expired", c->locked.why);
}

static bool is_same(const char *a, const char *b)
{
        return a && b ? !strcmp(a, b) : a == b;
}

static void succeed_locked(struct cred_chain *c, struct cred *fresh) REQUIRES(&c->mtx)
{
        time_t now = cred_chain_now(c), life = fresh->expiry - now;
        time_t lead = life / 2 < LEAD_S ? life / 2 : LEAD_S;
        unsigned serial = c->locked.cred.serial + 1;
        const char *from = c->served ? c->served->name : "nobody";

        if (!is_over(fresh, now) && c->locked.said)
                log_info("credentials: from %s again", from);
        else if (fresh->expiry)
                log_debug("credentials: from %s, for %ld s", from, (long)life);
        else
                log_debug("credentials: from %s", from);
        c->locked.same = c->locked.stale && is_same(fresh->access, c->locked.cred.access) &&
                         is_same(fresh->secret, c->locked.cred.secret) &&
                         is_same(fresh->token, c->locked.cred.token);
        cred_release(&c->locked.cred);
        c->locked.cred = *fresh;
        c->locked.cred.serial = serial;
        c->locked.fetched = time(NULL);
        c->locked.source = c->served ? c->served->name : NULL;
        memcpy(c->locked.file, c->ask.secret_file, sizeof c->locked.file);
        *fresh = (struct cred)CRED_INIT;
        c->locked.stale = false;
        c->locked.failures = 0;
        c->locked.err = 0;
        c->locked.due = 0;
        if (is_over(&c->locked.cred, now)) {
                snprintf(c->locked.why, sizeof c->locked.why, "%s gives none that hold", from);
                say_locked(c, now);
                c->locked.due = now + OUTLAST_S;
                return;
        }
        c->locked.said = false;
        if (c->locked.cred.expiry)
                c->locked.due = now + (life - lead > 1 ? life - lead : 1);
}

/* Only who had credentials goes on by itself; before that each user who asks is told. */
static void fail_locked(struct cred_chain *c, int err) REQUIRES(&c->mtx)
{
        time_t now = cred_chain_now(c);

        c->locked.err = err;
        snprintf(c->locked.why, sizeof c->locked.why, "%s", c->ask.why);
        c->locked.due = 0;
        if (c->locked.cred.kind == CRED_NONE || err == -ECANCELED)
                return;
        say_locked(c, now);
        unsigned wait = c->locked.failures < 6 ? 1U << c->locked.failures : BACKOFF_MAX_S;
        if (wait < BACKOFF_MAX_S)
                c->locked.failures++;
        c->locked.due = now + wait;
}

/* The source has none but those that are over, which the store has refused. */
static bool is_no_use_locked(const struct cred_chain *c, const struct cred *fresh) REQUIRES(&c->mtx)
{
        return c->locked.stale && is_over(fresh, cred_chain_now(c)) &&
               is_same(fresh->access, c->locked.cred.access);
}

static void fetch_locked(struct cred_chain *c) REQUIRES(&c->mtx)
{
        CLEANUP(cred_release) struct cred fresh = CRED_INIT;
        int err = 0;

        c->locked.wanted = false;
        c->locked.fetching = true;
        mutex_unlock(&c->mtx);
        if (c->ask.anonymous)
                fresh.kind = CRED_ANONYMOUS;
        else
                err = search(c, &fresh);
        mutex_lock(&c->mtx);
        c->locked.fetching = false;
        c->locked.tried = cred_chain_now(c);
        if (!err && is_no_use_locked(c, &fresh))
                err = cred_no(&c->ask, -ETIMEDOUT,
                              "%s has none but those that have expired, which are refused",
                              c->served->name);
        if (err)
                fail_locked(c, err);
        else
                succeed_locked(c, &fresh);
        pthread_cond_broadcast(&c->cond);
}

static void *refresh_loop(void *arg)
{
        struct cred_chain *c = arg;

        mutex_lock(&c->mtx);
        while (!__atomic_load_n(&c->stop, __ATOMIC_SEQ_CST)) {
                time_t now = cred_chain_now(c), due = c->locked.due;
                if (c->locked.wanted || (due && due <= now)) {
                        fetch_locked(c);
                        continue;
                }
                bool soon = due && due - now < SLEEP_MAX_S;
                const struct timespec until = {.tv_sec = time(NULL) +
                                                         (soon ? due - now : SLEEP_MAX_S)};
                mutex_timedwait(&c->cond, &c->mtx, &until);
        }
        mutex_unlock(&c->mtx);
        return NULL;
}

/* --- for users --- */

int cred_chain_open(const struct cred_want *want, struct cred_chain **out, char *why, size_t nwhy)
{
        CLEANUP(cred_chain_closep) struct cred_chain *c = calloc(1, sizeof *c);

        snprintf(why, nwhy, "no memory: end another program");
        if (!c)
                return -ENOMEM;
        mutex_init(&c->mtx, LOCK_CREDENTIALS);
        pthread_cond_init(&c->cond, NULL);
        c->vendor = want->vendor;
        c->ask.stop = &c->stop;
        c->ask.skew_s = want->base ? want->base->ask.skew_s : &c->skew_s;
        c->ask.anonymous = want->anonymous;
        int err = c->vendor->read_settings(&c->ask, want, &c->set);
        if (!err)
                err = cred_set(&c->ask.ca_bundle, cred_chain_ca_bundle(c, want->ca_bundle));
        if (!err)
                err = cred_set(&c->ask.region, c->set.region);
        c->ask.fips = c->set.fips;
        c->ask.dualstack = c->set.dualstack;
        if (err) {
                if (*c->ask.why)
                        snprintf(why, nwhy, "%s", c->ask.why);
                return err;
        }
        mutex_unshared(&c->mtx);
        c->locked.wanted = true;
        if (pthread_create(&c->thread, NULL, refresh_loop, c))
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
                mutex_lock(&c->mtx);
                pthread_cond_broadcast(&c->cond);
                mutex_unlock(&c->mtx);
                pthread_join(c->thread, NULL);
        }
        cred_release(&c->locked.cred);
        char **strings[] = {&c->ask.profile, &c->ask.file,     &c->ask.ca_bundle,
                            &c->ask.region,  &c->ask.sse,      &c->ask.sse_kms_key,
                            &c->set.region,  &c->set.endpoint, &c->set.ca_bundle};
        for (size_t i = 0; i < sizeof strings / sizeof *strings; i++)
                secret_freep(strings[i]);
        pthread_cond_destroy(&c->cond);
        mutex_destroy(&c->mtx);
        free(c);
        errno = err;
}

void cred_chain_closep(struct cred_chain **c)
{
        cred_chain_close(*c);
}

static int copy_cred(const struct cred *from, struct cred *out)
{
        *out = (struct cred){.kind = from->kind,
                             .expiry = from->expiry,
                             .outlasts = from->outlasts,
                             .serial = from->serial};
        if (cred_set(&out->access, from->access) || cred_set(&out->secret, from->secret) ||
            cred_set(&out->token, from->token)) {
                cred_release(out);
                return -ENOMEM;
        }
        return 0;
}

static void want_locked(struct cred_chain *c) REQUIRES(&c->mtx)
{
        c->locked.wanted = true;
        pthread_cond_broadcast(&c->cond);
}

static int get_locked(struct cred_chain *c, struct cred *out, char *why, size_t nwhy)
        REQUIRES(&c->mtx)
{
        time_t now = cred_chain_now(c),
               end = c->locked.stale ? c->locked.ended : c->locked.cred.expiry;
        bool had = c->locked.cred.kind != CRED_NONE;

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
        if (c->locked.err)
                snprintf(why, nwhy, "%s", c->locked.why);
        bool busy = c->locked.wanted || c->locked.fetching || !c->locked.err;
        if (!had)
                return busy ? -EAGAIN : c->locked.err;
        return busy || (may_pass(c->locked.err) && end + GRACE_S > now) ? -EINPROGRESS
                                                                        : c->locked.err;
}

int cred_chain_get(struct cred_chain *c, struct cred *out, char *why, size_t nwhy)
{
        mutex_lock(&c->mtx);
        int err = get_locked(c, out, why, nwhy);
        mutex_unlock(&c->mtx);
        return err;
}

int cred_chain_wait(struct cred_chain *c, struct cred *out, char *why, size_t nwhy)
{
        mutex_lock(&c->mtx);
        while (c->locked.wanted || c->locked.fetching)
                mutex_wait(&c->cond, &c->mtx);
        int err = get_locked(c, out, why, nwhy);
        mutex_unlock(&c->mtx);
        return err;
}

bool cred_chain_forget(struct cred_chain *c, unsigned serial)
{
        time_t now = cred_chain_now(c);
        bool others = true;

        mutex_lock(&c->mtx);
        if (serial == c->locked.cred.serial && !c->locked.stale) {
                others = !c->locked.same || c->locked.tried + ASK_AGAIN_S <= now;
                if (others) {
                        c->locked.stale = true;
                        c->locked.ended = now;
                        want_locked(c);
                }
        }
        mutex_unlock(&c->mtx);
        return others;
}

void cred_chain_renew(struct cred_chain *c)
{
        mutex_lock(&c->mtx);
        want_locked(c);
        mutex_unlock(&c->mtx);
}

void cred_chain_why(struct cred_chain *c, char *why, size_t nwhy)
{
        mutex_lock(&c->mtx);
        snprintf(why, nwhy, "%s", c->locked.why);
        mutex_unlock(&c->mtx);
}

void cred_chain_about(struct cred_chain *c, struct store_credentials *out)
{
        static const char *const kinds[] = {
                [CRED_NONE] = "none",
                [CRED_KEYS] = "keys",
                [CRED_BEARER] = "token",
                [CRED_ANONYMOUS] = "none",
        };

        mutex_lock(&c->mtx);
        const struct cred *have = &c->locked.cred;
        *out = (struct store_credentials){
                .source = have->kind == CRED_ANONYMOUS ? "anonymous" : c->locked.source,
                .kind = have->kind == CRED_KEYS && have->token ? "session keys" : kinds[have->kind],
                .fetched_s = c->locked.fetched,
                .expiry_s = have->expiry,
                .usable = usable_locked(c, cred_chain_now(c)),
        };
        if (c->locked.err)
                snprintf(out->why, sizeof out->why, "%.*s", (int)sizeof out->why - 1,
                         c->locked.why);
        mutex_unlock(&c->mtx);
}

void cred_chain_file(struct cred_chain *c, char *out, size_t n)
{
        mutex_lock(&c->mtx);
        snprintf(out, n, "%s", c->locked.file);
        mutex_unlock(&c->mtx);
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

bool cred_chain_sums_when_required(const struct cred_chain *c)
{
        return c->set.sums_when_required;
}

char *cred_aws_machine_region(const struct cred_chain *c)
{
        struct cred_ask a = {.profile = c->ask.profile, .ca_bundle = c->ask.ca_bundle};
        return cred_imds_region(&a);
}
