/* SPDX-License-Identifier: Apache-2.0 */
/* fault.c: see fault.h. */
#include "bench/sim/http/fault.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mutex.h"
#include "base/text/json.h"
#include "base/banned.h"

struct rule {
        const char *op, *bucket, *key; /* in the tree */
        unsigned part;
        uint64_t skip, times; /* what is left; times UINT64_MAX: always */
        double probability;
        struct fault fault;
};

/* One reading of the file. Counted, since replies may still use its strings. */
struct fault_rules {
        atomic_uint refs;
        struct json *tree;
        size_t n;
        struct rule v[];
};

struct faults {
        char *file;
        struct mutex mtx; /* guards what is left of each rule, too */
        struct fault_rules *rules GUARDED_BY(&mtx);
        uint64_t rnd GUARDED_BY(&mtx);
};

static const char *const deeds[] = {
        [FAULT_STATUS] = "status",
        [FAULT_RESET] = "reset",
        [FAULT_RESET_AFTER] = "reset_after",
        [FAULT_STALL] = "stall",
        [FAULT_DELAY] = "delay",
        [FAULT_HOLD] = "hold",
        [FAULT_TRUNCATE] = "truncate",
        [FAULT_CORRUPT] = "corrupt",
        [FAULT_ERROR_IN_200] = "error_in_200",
        [FAULT_SHORT_PAGE] = "short_page",
};

static const char *const fields[] = {
        "op",          "bucket",      "key",     "part",    "skip",  "nth",
        "times",       "probability", "do",      "status",  "code",  "body",
        "after_bytes", "stall",       "message", "entries", "until",
};

const char *fault_name(enum fault_do what)
{
        return deeds[what];
}

static void rules_unref(struct fault_rules *r)
{
        if (!r || atomic_fetch_sub_explicit(&r->refs, 1, memory_order_acq_rel) > 1)
                return;
        json_free(r->tree);
        free(r);
}

static void rules_unrefp(struct fault_rules **r)
{
        rules_unref(*r);
}

/* Longer than any test. */
static const double STALL_MOST_S = 1e6;

/* A test that forgets what it holds up, or waits for it in vain, goes on. */
#define UNTIL_RELOAD_NS 120000000000ULL

int fault_parse_duration(const char *text, uint64_t *ns)
{
        static const struct {
                const char *unit;
                double ns;
        } units[] = {{"", 1e9},  {"ns", 1},   {"us", 1e3},  {"ms", 1e6},
                     {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}};
        char *end;

        if (*text < '0' || *text > '9')
                return -EINVAL;
        double v = strtod(text, &end);
        for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
                if (strcmp(end, units[i].unit))
                        continue;
                if (v * units[i].ns > STALL_MOST_S * 1e9)
                        return -EINVAL;
                *ns = (uint64_t)(v * units[i].ns);
                return 0;
        }
        return -EINVAL;
}

static uint64_t whole(const struct json *j, const char *name, uint64_t other)
{
        double v = json_number(json_get(j, name), -1);
        return v < 0 ? other : v < 0x1p63 ? (uint64_t)v : UINT64_MAX;
}

/* A time as text or as a number of seconds: 0 or -EINVAL. */
static int read_stall(const struct json *stall, uint64_t *ns)
{
        double s = json_number(stall, 0);

        if (!stall)
                return 0;
        if (!json_is_number(stall))
                return fault_parse_duration(json_string(stall, ""), ns);
        if (!(s >= 0 && s <= STALL_MOST_S))
                return -EINVAL;
        *ns = (uint64_t)(s * 1e9);
        return 0;
}

/* What `stall` and `until` say. What is wrong with them and what to do, or NULL. */
static const char *read_times(const struct json *j, struct fault *f)
{
        const struct json *stall = json_get(j, "stall"), *until = json_get(j, "until");
        bool takes_time = f->what == FAULT_STALL || f->what == FAULT_DELAY || f->what == FAULT_HOLD;

        f->until_reload = until != NULL;
        if (until && (!takes_time || strcmp(json_string(until, ""), "reload")))
                return "has a bad \"until\": give \"reload\", to stall, delay or hold";
        if (until)
                f->stall_ns = UNTIL_RELOAD_NS;
        if (read_stall(stall, &f->stall_ns))
                return "has a bad \"stall\": give a time like \"200ms\" or \"60s\"";
        if (takes_time && !stall && !until)
                return "says not how long: give \"stall\", like \"60s\"";
        return NULL;
}

static const char *check_fields(const struct json *j)
{
        for (size_t i = 0; i < json_count(j); i++) {
                const char *name = json_name(json_at(j, i));
                size_t k = 0;
                while (k < sizeof fields / sizeof *fields && strcmp(fields[k], name))
                        k++;
                if (k == sizeof fields / sizeof *fields)
                        return "has a field that is not known: see storesim(1) for those there are";
        }
        return NULL;
}

/* What is wrong with the rule and what to do, or NULL. */
static const char *read_rule(const struct json *j, struct rule *r)
{
        const char *what = json_string(json_get(j, "do"), "");
        uint64_t nth = whole(j, "nth", 0);

        if (!json_is_object(j))
                return "is no object: give {\"op\":..., \"do\":...}";
        const char *why = check_fields(j);
        if (why)
                return why;
        for (size_t i = 1; i < sizeof deeds / sizeof *deeds; i++)
                if (!strcmp(deeds[i], what))
                        r->fault.what = (enum fault_do)i;
        if (!r->fault.what)
                return "does nothing known: give \"do\" status, reset, reset_after, stall, delay, "
                       "truncate, corrupt, error_in_200 or short_page";
        r->op = json_string(json_get(j, "op"), "*");
        r->bucket = json_string(json_get(j, "bucket"), "*");
        r->key = json_string(json_get(j, "key"), "*");
        r->part = (unsigned)whole(j, "part", 0);
        r->skip = nth ? nth - 1 : whole(j, "skip", 0);
        r->times = nth ? 1 : whole(j, "times", UINT64_MAX);
        r->probability = json_number(json_get(j, "probability"), 1);
        r->fault.status = (int)whole(j, "status", 503);
        r->fault.code =
                json_string(json_get(j, "code"),
                            json_get(j, "status") && r->fault.status != 503 ? NULL : "SlowDown");
        r->fault.message = json_string(json_get(j, "message"), NULL);
        r->fault.body = json_string(json_get(j, "body"), NULL);
        r->fault.after_bytes = whole(j, "after_bytes", 0);
        r->fault.entries = (unsigned)whole(j, "entries", 0);
        if (r->fault.status < 200 || r->fault.status > 599)
                return "has a bad \"status\": give 200 to 599";
        return read_times(j, &r->fault);
}

static int read_rules(const char *file, struct fault_rules **out, char *why, size_t nwhy)
{
        CLEANUP(json_freep) struct json *tree = NULL;
        int err = json_read(file, &tree, why, nwhy);

        if (err)
                return err;
        if (!json_is_array(tree)) {
                snprintf(why, nwhy, "%s: is no array of rules: give [{\"op\":..., \"do\":...}]",
                         file);
                return -EINVAL;
        }
        size_t n = json_count(tree);
        CLEANUP(rules_unrefp) struct fault_rules *r = calloc(1, sizeof *r + n * sizeof r->v[0]);
        if (!r)
                return -ENOMEM;
        atomic_init(&r->refs, 1);
        r->tree = TAKE_PTR(tree);
        r->n = n;
        for (size_t i = 0; i < n; i++) {
                const char *wrong = read_rule(json_at(r->tree, i), &r->v[i]);
                if (wrong) {
                        snprintf(why, nwhy, "%s: rule %zu %s", file, i + 1, wrong);
                        return -EINVAL;
                }
        }
        *out = TAKE_PTR(r);
        return 0;
}

int faults_open(const char *file, struct faults **out, char *why, size_t nwhy)
{
        struct faults *f = calloc(1, sizeof *f);

        if (!f)
                return -ENOMEM;
        mutex_init(&f->mtx, LOCK_SIM);
        mutex_unshared(&f->mtx);
        f->rnd = 0x9e3779b97f4a7c15ULL;
        f->file = strdup(file);
        int err = f->file ? faults_reload(f, why, nwhy) : -ENOMEM;
        if (err) {
                faults_close(f);
                return err;
        }
        *out = f;
        return 0;
}

void faults_close(struct faults *f)
{
        if (!f)
                return;
        mutex_unshared(&f->mtx);
        rules_unref(f->rules);
        mutex_destroy(&f->mtx);
        free(f->file);
        free(f);
}

int faults_reload(struct faults *f, char *why, size_t nwhy)
{
        struct fault_rules *fresh;
        int err = read_rules(f->file, &fresh, why, nwhy);

        if (err)
                return err;
        mutex_lock(&f->mtx);
        struct fault_rules *old = f->rules;
        f->rules = fresh;
        mutex_unlock(&f->mtx);
        rules_unref(old);
        return 0;
}

static bool by_chance_locked(struct faults *f, double probability) REQUIRES(&f->mtx)
{
        f->rnd ^= f->rnd << 13;
        f->rnd ^= f->rnd >> 7;
        f->rnd ^= f->rnd << 17;
        return (double)(f->rnd >> 11) * 0x1p-53 < probability;
}

static bool fits(const struct rule *r, const char *op, const char *bucket, const char *key,
                 unsigned part)
{
        return !fnmatch(r->op, op, 0) && !fnmatch(r->bucket, bucket, 0) &&
               !fnmatch(r->key, key, 0) && (!r->part || r->part == part);
}

/* Counts the request where the rule fits it; says whether the rule would act. */
static bool acts_locked(struct faults *f, struct rule *r, const char *op, const char *bucket,
                        const char *key, unsigned part) REQUIRES(&f->mtx)
{
        if (!fits(r, op, bucket, key, part))
                return false;
        if (r->skip) {
                r->skip--;
                return false;
        }
        return r->times && (r->probability >= 1 || by_chance_locked(f, r->probability));
}

void fault_match(struct faults *f, const char *op, const char *bucket, const char *key,
                 unsigned part, struct fault *out)
{
        *out = (struct fault){.what = FAULT_NONE};
        if (!f)
                return;
        mutex_lock(&f->mtx);
        for (size_t i = 0; i < f->rules->n; i++) {
                struct rule *r = &f->rules->v[i];
                if (!acts_locked(f, r, op, bucket, key, part) || out->what)
                        continue;
                if (r->times != UINT64_MAX)
                        r->times--;
                *out = r->fault;
                out->rules = f->rules;
                atomic_fetch_add_explicit(&f->rules->refs, 1, memory_order_relaxed);
        }
        mutex_unlock(&f->mtx);
}

bool fault_holds(struct faults *f, const struct fault *held, const char *op, const char *bucket,
                 const char *key, unsigned part)
{
        mutex_lock(&f->mtx);
        bool holds = f->rules == held->rules;
        for (size_t i = 0; !holds && i < f->rules->n; i++) {
                const struct rule *r = &f->rules->v[i];
                holds = r->fault.until_reload && r->fault.what == held->what &&
                        fits(r, op, bucket, key, part);
        }
        mutex_unlock(&f->mtx);
        return holds;
}

void fault_release(struct fault *f)
{
        rules_unref(f->rules);
        *f = (struct fault){.what = FAULT_NONE};
}
