/* SPDX-License-Identifier: Apache-2.0 */
/* fault.h: rules that make requests go wrong, read from a JSON file: an array of objects.
 *
 *      op           name of the operation as in the log, or a glob; default "*"
 *      bucket, key  globs; default "*" (which matches '/' too); of a list, `key` is its prefix
 *      part         number of the part
 *      skip         so many matching requests pass before the rule acts; default 0
 *      nth          acts on the n-th matching request only: skip n-1, times 1
 *      times        acts so often, then never again; default: always
 *      probability  of acting, for each request that is left; default 1
 *      do           what happens, see enum fault_do
 *      status, code, message, body
 *                   of the reply (status, error_in_200); default 503 SlowDown; `body` is sent as is
 *      after_bytes  of the body: the request's where it has one, else the reply's; default 0
 *      stall        how long, for stall, delay and hold: "200ms", "60s" or a number of seconds
 *      until        "reload": as long as each reading of the file has a rule of this kind that fits
 *                   the request and says so, too; `stall` is the most then, default 120s
 *      entries      most in a page of a list (short_page); default 0
 *
 * The first rule that acts on a request is taken; a rule that does not act still counts it.
 * Thread-safe. */
#ifndef CKPTFS_SIM_FAULT_H
#define CKPTFS_SIM_FAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum fault_do {
        FAULT_NONE,
        FAULT_STATUS,       /* status: refused, without effect, after its body was read */
        FAULT_RESET,        /* reset: the connection is reset after after_bytes, without effect */
        FAULT_RESET_AFTER,  /* reset_after: takes effect, then a reset instead of the reply */
        FAULT_STALL,        /* stall: nothing moves for a while at after_bytes, then it goes on */
        FAULT_DELAY,        /* delay: the reply begins later */
        FAULT_HOLD,         /* hold: the request takes effect later */
        FAULT_TRUNCATE,     /* truncate: the reply's body ends after after_bytes, in good order */
        FAULT_CORRUPT,      /* corrupt: one bit of the byte at after_bytes is flipped */
        FAULT_ERROR_IN_200, /* error_in_200: 200 with an error in its body, without effect */
        FAULT_SHORT_PAGE,   /* short_page: a list ends its page early, and says that it goes on */
};

/* What is to happen to one request. Strings are borrowed from the rules and good until the request
 * is over (fault_release()). */
struct fault {
        enum fault_do what;
        int status;
        const char *code, *message, *body;
        uint64_t after_bytes;
        uint64_t stall_ns;
        bool until_reload;
        unsigned entries;
        struct fault_rules *rules; /* referenced */
};

/* The word of the "do" field, NULL for FAULT_NONE. */
const char *fault_name(enum fault_do what);

struct faults;

/* `file` is read now and at each fault_reload(). 0 or a negative errno with one line in `why`:
 * cause, then remedy. */
int faults_open(const char *file, struct faults **out, char *why, size_t nwhy);
void faults_close(struct faults *f);
/* Reads the file again; all counters begin anew. After an error the old rules stay. */
int faults_reload(struct faults *f, char *why, size_t nwhy);

/* Decides about a request and counts it. f NULL: nothing happens. */
void fault_match(struct faults *f, const char *op, const char *bucket, const char *key,
                 unsigned part, struct fault *out);
/* Whether a request that a rule until_reload holds up is to be held up on. Counts nothing. */
bool fault_holds(struct faults *f, const struct fault *held, const char *op, const char *bucket,
                 const char *key, unsigned part);
void fault_release(struct fault *f);

/* "20ms", "1.5s", "2m", "1h" or seconds: 0 or -EINVAL. */
int fault_parse_duration(const char *text, uint64_t *ns);

#endif
