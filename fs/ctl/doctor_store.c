/* SPDX-License-Identifier: Apache-2.0 */
/* doctor_store.c: the way to the store, and what it allows, tried with small objects in a place of
 * the prefix that mounts hide. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "ctl/ctl.h"
#include "ctl/doctor.h"
#include "store/core/open_params.h"

#include "base/banned.h"

enum {
        DEADLINE_MS = 10000, /* a store that is away is not waited for as a mount would */
        CLOCK_ODD_S = 60,
        CLOCK_BROKEN_S = 900, /* "RequestTimeTooSkewed": S3 takes a quarter of an hour */
        STEP_SLOW_US = 300000,
        BYTES = 4096
};

/* --- the way --- */

static void say_step(struct doctor *d, const char *name, unsigned us, const char *what)
{
        if (us > STEP_SLOW_US)
                doctor_say(d, DOCTOR_SLOW, name,
                           "%s in %u ms: use a nearer server, or see to the "
                           "network",
                           what, us / 1000);
        else
                doctor_say(d, DOCTOR_OK, name, "%s in %u.%u ms", what, us / 1000, us / 100 % 10);
}

static void say_clock(struct doctor *d, const struct store_reach *r)
{
        int64_t ahead = r->clock_s < 0 ? -r->clock_s : r->clock_s;
        char span[CTL_AGE_MAX];

        if (!r->has_clock)
                return;
        if (ahead > CLOCK_ODD_S)
                doctor_say(d, ahead > CLOCK_BROKEN_S ? DOCTOR_BROKEN : DOCTOR_SLOW, "clock",
                           "the clock here is %s %s the server's: correct it (chrony, ntpd)",
                           ctl_span(ahead, span), r->clock_s > 0 ? "behind" : "ahead of");
        else
                doctor_say(d, DOCTOR_OK, "clock", "as the server's");
}

/* Tells each step that was gone; whether that was all of them. The check explains better than the
 * transport what to do, where it comes as far. */
static bool is_reached(struct doctor *d, struct store *s)
{
        static const char *const names[] = {"dns", "tcp", "tls", "http"};
        struct store_credentials cred;
        struct store_reach r;
        char what[512], why[CTL_WHY_MAX] = "";

        if (store_reach(s, &r)) {
                doctor_say(d, DOCTOR_BROKEN, "memory", "there is none");
                return false;
        }
        for (int i = 0; i < STORE_STEPS && i < (int)r.failed; i++) {
                if (i == STORE_STEP_TLS && !r.tls)
                        continue;
                snprintf(what, sizeof what, "%s%s%s%s%s", r.server,
                         r.proxy ? " by the proxy of " : "", r.proxy ? r.proxy : "",
                         i == STORE_STEP_NAME && *r.address ? " is " : "",
                         i == STORE_STEP_NAME ? r.address : "");
                say_step(d, names[i], r.us[i], what);
        }
        if (r.failed == STORE_STEPS) {
                say_clock(d, &r);
                return true;
        }
        int err = store_check(s, why, sizeof why);
        store_credentials(s, &cred);
        if (!err)
                doctor_say(d, DOCTOR_SLOW, names[r.failed],
                           "%s: %s, and then the server answered: see to the network", r.server,
                           r.why);
        else if (cred.usable)
                doctor_say(d, DOCTOR_BROKEN, names[r.failed], "%s", why);
        else
                doctor_say(d, DOCTOR_BROKEN, names[r.failed],
                           "%s: %s: correct endpoint or region, or see to the network", r.server,
                           r.why);
        return !err;
}

static void say_credentials(struct doctor *d, const struct store_credentials *c)
{
        char span[CTL_AGE_MAX];

        if (!c->expiry_s)
                doctor_say(d, DOCTOR_OK, "credentials", "%s, from %s", c->kind,
                           c->source ? c->source : "nowhere");
        else
                doctor_say(d, DOCTOR_OK, "credentials", "%s, from %s, for %s", c->kind,
                           c->source ? c->source : "nowhere",
                           ctl_span((int64_t)c->expiry_s - time(NULL), span));
}

/* --- permissions --- */

/* What was made, to be removed. */
struct trial {
        struct doctor *d;
        struct store *s;
        char put[256], copied[256], parts[256];
        bool has_put, has_copied, has_parts;
        char bytes[BYTES];
};

/* The line of one thing that was tried; whether it went well. */
static bool say_result(const struct trial *t, const char *name, int err, const char *well)
{
        char said[LOG_TEXT_MAX];

        if (!err)
                doctor_say(t->d, DOCTOR_OK, name, "%s", well);
        else
                doctor_say(t->d, DOCTOR_BROKEN, name, "%s",
                           ctl_last_words(said) ? said : strerror(-err));
        return !err;
}

static void count(void *arg, const struct store_entry *e)
{
        (void)e;
        ++*(unsigned *)arg;
}

static int try_list(struct trial *t)
{
        const struct store_list list = {.prefix = "", .delim = "/", .max = 1};
        CLEANUP(freep) char *next = NULL;
        unsigned n = 0;

        return store_list_wait(t->s, &list, count, &n, &next);
}

static int try_get(struct trial *t)
{
        char back[BYTES];
        ssize_t n = store_get_wait(t->s, t->put, 0, back, sizeof back, NULL);

        if (n < 0)
                return (int)n;
        return n == sizeof back && !memcmp(back, t->bytes, sizeof back) ? 0 : -EBADMSG;
}

/* A store that does not know the condition replaces the object. */
static void try_exclusive(struct trial *t)
{
        const struct store_cond absent = {.if_absent = true};
        int err = store_put_wait(t->s, t->put, t->bytes, BYTES, NULL, &absent, NULL);

        if (!(store_caps(t->s) & STORE_CAP_IF_ABSENT))
                doctor_say(t->d, DOCTOR_OK, "exclusive", "not a thing of this store");
        else if (err == -EEXIST)
                doctor_say(t->d, DOCTOR_OK, "exclusive", "a file is created once, by one host");
        else if (err)
                say_result(t, "exclusive", err, "");
        else
                doctor_say(t->d, DOCTOR_BROKEN, "exclusive",
                           "the store ignores If-None-Match: of two hosts that create a file both "
                           "succeed, and one is lost: use a newer version of the server, or write "
                           "from one host");
}

static void end_upload(struct store_upload **up)
{
        if (*up)
                store_upload_free(*up);
}

/* Aborts an upload that was begun; one that stays is named. */
static int abort_made(const struct trial *t, struct store_upload *up)
{
        int err = store_upload_abort_wait(up);

        if (err)
                fprintf(stderr,
                        "ckptctl: the upload %s of %s stays at the store, which may bill it: "
                        "abort it with 'ckptctl uploads abort --key %s'\n",
                        store_upload_id(up), t->parts, t->parts);
        return err;
}

/* The words of the log are those of what failed first, not of the abort. */
static int try_multipart(struct trial *t, char said[LOG_TEXT_MAX])
{
        CLEANUP(end_upload) struct store_upload *up = NULL;
        struct store_body body = store_body_mem(t->bytes, BYTES);
        int err = store_upload_create_wait(t->s, t->parts, NULL, &up);

        if (!err)
                err = store_upload_part_wait(up, 1, &body);
        if (!err)
                err = store_upload_complete_wait(up, NULL, NULL);
        if (err && !ctl_last_words(said))
                snprintf(said, LOG_TEXT_MAX, "%s", strerror(-err));
        if (up && err)
                (void)abort_made(t, up);
        return err;
}

static int try_abort(struct trial *t)
{
        CLEANUP(end_upload) struct store_upload *up = NULL;
        int err = store_upload_create_wait(t->s, t->parts, NULL, &up);

        return err ? err : abort_made(t, up);
}

/* Removes an object that was made; one that stays is named. The first error is kept. */
static int remove_made(struct trial *t, bool made, const char *key, int err)
{
        int failed = made ? store_delete_wait(t->s, key) : 0;

        if (failed)
                fprintf(stderr, "ckptctl: %s stays at the store: delete it\n", key);
        return err ? err : failed;
}

static int try_put(struct trial *t)
{
        int err = store_put_wait(t->s, t->put, t->bytes, BYTES, NULL, NULL, NULL);
        t->has_put = t->has_put || !err;
        return err;
}

static void try_parts(struct trial *t)
{
        char said[LOG_TEXT_MAX];

        t->has_parts = !try_multipart(t, said);
        if (t->has_parts)
                doctor_say(t->d, DOCTOR_OK, "multipart", "an object was made of parts");
        else
                doctor_say(t->d, DOCTOR_BROKEN, "multipart", "%s", said);
        if (t->has_parts && !doctor_ends())
                say_result(t, "abort", try_abort(t), "an upload was given up");
}

static void try_copy(struct trial *t)
{
        t->has_copied = say_result(t, "copy", store_copy_wait(t->s, t->put, t->copied, NULL),
                                   "the store copied one");
}

static void try_read(struct trial *t)
{
        say_result(t, "get", try_get(t), "it was read back");
}

static void try_speed(struct trial *t)
{
        doctor_speed(t->d, t->s, t->copied, t->put);
}

/* Of who may not write nothing else is asked. */
static void try_permissions(struct trial *t)
{
        static void (*const steps[])(struct trial * t) = {try_read, try_exclusive, try_parts,
                                                          try_copy, try_speed};

        if (!say_result(t, "put", try_put(t), "an object was written"))
                return;
        for (size_t i = 0; i < sizeof steps / sizeof *steps && !doctor_ends(); i++)
                steps[i](t);
}

static void remove_all(struct trial *t)
{
        if (!t->has_put)
                return;
        int err = remove_made(t, true, t->put, 0);
        err = remove_made(t, t->has_parts, t->parts, err);
        err = remove_made(t, t->has_copied, t->copied, err);
        say_result(t, "delete", err, "what was made was removed");
}

static void begin_trial(struct trial *t)
{
        char host[65] = "";

        gethostname(host, sizeof host - 1);
        host[strcspn(host, "/")] = 0;
        memset(t->bytes, 0x5a, BYTES);
        snprintf(t->put, sizeof t->put, ".ckptfs/doctor/%s-%d-%" PRId64, host, (int)getpid(),
                 (int64_t)time(NULL));
        snprintf(t->copied, sizeof t->copied, "%.200s-copied", t->put);
        snprintf(t->parts, sizeof t->parts, "%.200s-parts", t->put);
}

/* Whether somebody who may not list may write: then the check failed for that alone. */
static bool may_write(struct trial *t)
{
        return !t->d->p->ro && !try_put(t);
}

static void try_bucket(struct trial *t)
{
        struct store_credentials cred;
        char why[CTL_WHY_MAX] = "";
        int err = store_check(t->s, why, sizeof why);

        store_credentials(t->s, &cred);
        if (err && !cred.usable) {
                doctor_say(t->d, DOCTOR_BROKEN, "credentials", "%s", why);
                return;
        }
        say_credentials(t->d, &cred);
        bool denied = err == -EACCES && may_write(t);
        if (err && !denied) {
                doctor_say(t->d, DOCTOR_BROKEN, "bucket", "%s", why);
                return;
        }
        doctor_say(t->d, DOCTOR_OK, "bucket", "%s is there", store_bucket(t->s));
        if (denied)
                doctor_say(t->d, DOCTOR_BROKEN, "list", "%s", why);
        else
                say_result(t, "list", try_list(t), "names below the prefix");
        if (!t->d->p->ro && !doctor_ends())
                try_permissions(t);
        remove_all(t);
}

void doctor_store(struct doctor *d, const char *url)
{
        struct trial t = {.d = d};
        char why[CTL_WHY_MAX] = "";

        if (d->p->deadline > DEADLINE_MS)
                d->p->deadline = DEADLINE_MS;
        if (store_prepare_params(d->p, url, &t.s, why, sizeof why)) {
                doctor_say(d, DOCTOR_BROKEN, "options", "%s", why);
                return;
        }
        begin_trial(&t);
        if (is_reached(d, t.s) && !doctor_ends())
                try_bucket(&t);
        store_close(t.s);
}
