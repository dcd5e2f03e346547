/* SPDX-License-Identifier: Apache-2.0 */
/* ctl.h: what the commands of ckptctl share.
 *
 * A command prints one line a thing to standard output and returns the exit status. What fails is
 * said in one line on standard error. */
#ifndef CKPTFS_CTL_CTL_H
#define CKPTFS_CTL_CTL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log.h"
#include "store.h"

struct params;

enum { CTL_OK = 0, CTL_FAILED = 1, CTL_LEFT = 2, CTL_WHY_MAX = 1536, CTL_AGE_MAX = 48 };

/* What the command line says. Strings are borrowed from it. */
struct ctl {
        struct store *store;
        bool yes, force, discard, has_age;
        uint64_t older_ms;
        const char *key; /* --key, or NULL */
        /* Of commands that ask a mount. */
        const char *mount; /* or NULL: not named */
        const char *dir;   /* where its socket is; "" the usual place */
        const char *level; /* of loglevel; of set: a list of options */
        bool json, undo;
        uint64_t interval_ms; /* 0: once */
        uint64_t timeout_ms;  /* 0: none */
        /* Of doctor, for which `mount` may be a URL. */
        struct params *params;
        bool no_speed;
};

int ctl_uploads_list(const struct ctl *c);
int ctl_uploads_abort(const struct ctl *c);
int ctl_recover(const struct ctl *c);
int ctl_recover_renames(const struct ctl *c);  /* those that were interrupted: finished */
int ctl_remove_leftovers(const struct ctl *c); /* what is older than --older */

/* Of mounts that run; c->store is NULL. */
int ctl_list(const struct ctl *c);
int ctl_status(const struct ctl *c);
int ctl_stats(const struct ctl *c);
int ctl_files(const struct ctl *c);
int ctl_credentials(const struct ctl *c);
int ctl_loglevel(const struct ctl *c);
int ctl_reload(const struct ctl *c);
int ctl_set(const struct ctl *c);
int ctl_drain(const struct ctl *c);
int ctl_top(const struct ctl *c);

/* Of the machine, a URL or a mount. */
int ctl_doctor(const struct ctl *c);

/* What the log has on a request that failed, since it was asked for last; false: nothing. */
bool ctl_last_words(char out[LOG_TEXT_MAX]);

/* Says "ckptctl: WHAT: the error" and returns CTL_FAILED. */
int ctl_fail(const char *what, int err);
/* The same with a reason that may have words of the store in it. */
int ctl_complain(const char *why);

/* The worse of two exit statuses: a failure, then something left. */
int ctl_worse(int a, int b);

/* Whether that was at least --older ago. */
bool ctl_is_older(const struct ctl *c, int64_t time_ns);

/* How long ago that was: "3d4h", "5m10s". */
const char *ctl_age(int64_t time_ns, char out[CTL_AGE_MAX]);
/* The same of a span of time. */
const char *ctl_span(int64_t seconds, char out[CTL_AGE_MAX]);

/* The key with control characters as \ooo, so that it stays one line; malloc'ed, NULL: no memory.
 */
char *ctl_printable(const char *key);

/* Uploads at the store. `id` and `key` are malloc'ed. */
struct ctl_upload {
        char *key, *id;
        int64_t begun_ns;
};
struct ctl_uploads {
        size_t n;
        struct ctl_upload *v;
        bool more; /* there may be more than the store lists at once */
};
int ctl_uploads_get(struct store *s, struct ctl_uploads *out);
void ctl_uploads_release(struct ctl_uploads *u);

/* The whole of a small object: malloc'ed with a NUL behind it, and what it is of. 0 or a negative
 * errno (-EFBIG more than `max`). */
int ctl_read(struct store *s, const char *key, size_t max, char **text, struct store_object *obj);

/* Names below a prefix, without it. */
struct ctl_names {
        size_t n;
        char **v;
        bool more; /* there are more than this keeps in memory */
};
int ctl_names_get(struct store *s, const char *prefix, struct ctl_names *out);
/* Says that there are more; the exit status then, rc else. */
int ctl_names_rest(const struct ctl_names *names, const char *prefix, int rc);
void ctl_names_release(struct ctl_names *names);

#endif
