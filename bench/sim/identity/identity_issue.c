/* SPDX-License-Identifier: Apache-2.0 */
/* identity_issue.c: what was issued, and until when it is good. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mutex.h"
#include "bench/sim/identity/identity_i.h"
#include "base/banned.h"

/* The last so many are known; more are not issued in the life of a test. */
enum { RING = 4096 };

#define ACCESS "ASIASIM"

struct issues {
        const char *secret, *session, *token; /* what goes before the number */
        long expires_in;
        const char *ended; /* file with the number up to which all is over; NULL: none */
        bool only;
        struct mutex mtx;
        unsigned count GUARDED_BY(&mtx);
        time_t expires[RING] GUARDED_BY(&mtx);
        struct session_terms terms[RING] GUARDED_BY(&mtx);
};

int issues_new(const struct json *tree, struct issues **out)
{
        const struct json *j = json_get(tree, "issue");
        struct issues *is = calloc(1, sizeof *is);

        if (!is)
                return -ENOMEM;
        mutex_init(&is->mtx, LOCK_SIM);
        is->secret = json_string(json_get(j, "secret_key"), "SimSecret");
        is->session = json_string(json_get(j, "session_token"), "SimSession");
        is->token = json_string(json_get(j, "token"), "ya29.sim");
        is->expires_in = (long)json_number(json_get(j, "expires_in"), 3600);
        is->ended = json_string(json_get(j, "ended"), NULL);
        is->only = json_bool(json_get(j, "only"), false);
        *out = is;
        return 0;
}

void issues_free(struct issues *is)
{
        if (!is)
                return;
        mutex_destroy(&is->mtx);
        free(is);
}

void issue_time(time_t when, char out[32])
{
        struct tm tm;

        gmtime_r(&when, &tm);
        strftime(out, 32, "%Y-%m-%dT%H:%M:%SZ", &tm);
}

void issues_issue(struct issues *is, long seconds, const struct session_terms *terms,
                  struct issued *out)
{
        time_t expires = time(NULL) + seconds;

        mutex_lock(&is->mtx);
        unsigned n = ++is->count;
        is->expires[n % RING] = expires;
        is->terms[n % RING] = terms ? *terms : (struct session_terms){.read_only = false};
        mutex_unlock(&is->mtx);
        snprintf(out->access, sizeof out->access, ACCESS "%08u", n);
        snprintf(out->secret, sizeof out->secret, "%s%08u", is->secret, n);
        snprintf(out->session, sizeof out->session, "%s%08u", is->session, n);
        snprintf(out->token, sizeof out->token, "%s%08u", is->token, n);
        out->expires = expires;
        out->expires_in = seconds;
}

/* An endpoint's own "expires_in" comes before that of all, and neither exceeds what was asked for.
 */
void ask_issue(struct ask *a, long most, struct issued *out)
{
        struct issues *is = identity_issues(a->id);
        long in = (long)json_number(json_get(a->cfg, "expires_in"), (double)is->expires_in);

        if (most > 0 && in > most)
                in = most;
        issues_issue(is, a->expired ? -60 : in, NULL, out);
}

bool identity_is_asked(const struct identity *id)
{
        return id && identity_issues((struct identity *)(uintptr_t)id)->only;
}

/* Whether the test says that it is over, whatever was said when it was issued. */
static bool has_ended(const struct issues *is, unsigned number)
{
        CLEANUP(fclosep) FILE *f = is->ended ? fopen(is->ended, "re") : NULL;
        CLEANUP(freep) char *line = NULL;
        size_t room = 0;

        return f && getline(&line, &room, f) > 0 && number <= strtoul(line, NULL, 10);
}

/* The number behind `prefix`; 0 or -ENOENT, -ETIME. */
static int check(struct issues *is, const char *text, const char *prefix, unsigned *number)
{
        size_t n = strlen(prefix);
        char *end;

        if (strncmp(text, prefix, n) || strspn(text + n, "0123456789") != 8 || text[n + 8])
                return -ENOENT;
        *number = (unsigned)strtoul(text + n, &end, 10);
        mutex_lock(&is->mtx);
        bool known = *number && *number <= is->count && is->count - *number < RING;
        time_t expires = is->expires[*number % RING];
        mutex_unlock(&is->mtx);
        if (!known)
                return -ENOENT;
        return expires <= time(NULL) || has_ended(is, *number) ? -ETIME : 0;
}

int issues_session(struct issues *is, const char *token, struct session_terms *terms)
{
        unsigned n;
        int err = check(is, token, is->session, &n);

        if (err)
                return err;
        mutex_lock(&is->mtx);
        *terms = is->terms[n % RING];
        mutex_unlock(&is->mtx);
        return 0;
}

int issues_secret(struct issues *is, const char *access, const char *session,
                  char secret[IDENTITY_TEXT_MAX])
{
        char want[IDENTITY_TEXT_MAX];
        unsigned n;
        int err = check(is, access, ACCESS, &n);

        if (err)
                return err;
        snprintf(secret, IDENTITY_TEXT_MAX, "%s%08u", is->secret, n);
        snprintf(want, sizeof want, "%s%08u", is->session, n);
        return session && !strcmp(session, want) ? 0 : -EACCES;
}

int identity_secret(struct identity *id, const char *access, const char *session,
                    char secret[IDENTITY_TEXT_MAX])
{
        return issues_secret(identity_issues(id), access, session, secret);
}

int identity_bearer(struct identity *id, const char *authorization)
{
        struct issues *is = identity_issues(id);
        unsigned n;

        if (!authorization || strncmp(authorization, "Bearer ", 7))
                return -ENOENT;
        return check(is, authorization + 7, is->token, &n);
}
