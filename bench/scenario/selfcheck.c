/* SPDX-License-Identifier: Apache-2.0 */
/* selfcheck.c: the scenario "selfcheck": whether what this program measures can be believed here,
 * asked of a storage whose times are known. A wait lasts as long as it does; the time of all ranks
 * is that of the slowest; a save that had to wait for the one before counts from when it was
 * wanted; a wrong byte is found and named.
 *
 * A wait is never measured as too short. What is too long is measuring itself, or another program
 * on the machine. So each try of a save stands beside one of the bare wait, in turns, and their
 * medians are compared: what lengthens both is not measuring. They must agree within 2 %. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "bench/core/io.h"
#include "bench/measure/measure.h"
#include "bench/data/model_keys.h"
#include "bench/data/preflight.h"
#include "bench/data/payload.h"
#include "bench/core/clock.h"
#include "bench/core/run.h"
#include "bench/report/doc.h"
#include "bench/core/signal_cleanup.h"
#include "bench/scenario/async/async.h"
#include "bench/measure/stats.h"
#include "bench/measure/timed.h"

#include "base/banned.h"

enum {
        PLAYED = 4, /* ranks that a single one plays, one after the other */
        WAITS = 4,  /* of null in a save: create, write, sync, close */
        SLOWER = 10,
        BYTES = 1 << 20,
        STEPS = 5,
        STEP_MS = 10,
        NAP_NS = 50 * 1000 * 1000
};
#define LEAST   1.0
#define MOST    1.02
#define NO_RANK UINT32_MAX

/* What is tried in turns. */
enum tried {
        BARE,  /* the wait alone */
        ALIKE, /* saves that last as long, in all ranks */
        SLOW,  /* the same of the last rank, and the others are SLOWER times as fast */
        TRIED
};

struct selfcheck {
        const struct run *run;
        const struct keys *k;
        struct json *checks;     /* NULL but in rank 0 */
        unsigned ranks, played;  /* in all, and by this one */
        struct sample *v[TRIED]; /* [try * ranks + rank] */
        double *bare;            /* seconds of each try's wait, of the slowest rank */
};

struct figure {
        double value;
        struct interval in; /* 95 %; zero where tries were too few */
};

/* One line of the result. */
static void add_check(const struct selfcheck *c, const char *name, struct figure f, double least,
                      double most, const char *says)
{
        struct json *o = c->checks ? json_add_object(c->checks, NULL) : NULL;

        if (!o)
                return;
        json_add_string(o, "name", name);
        json_add_number(o, "figure", f.value);
        json_add_number(o, "least", least);
        json_add_number(o, "most", most);
        if (f.in.high > 0) {
                json_add_number(o, "low", f.in.low);
                json_add_number(o, "high", f.in.high);
        }
        json_add_bool(o, "passed", f.value >= least && f.value <= most);
        json_add_string(o, "says", says);
}

/* --- saves whose time is known --- */

static void say(void *arg, const char *what, int err)
{
        const struct selfcheck *c = arg;
        if (err != -ECANCELED)
                run_error(c->run, "%s: %s", what, strerror(-err));
}

static double seconds_of(const struct keys *k)
{
        return WAITS * (double)k->null_delay_us / 1e6;
}

/* As long as a save must last, with nothing measured between. */
static int wait_bare(struct selfcheck *c, struct sample *out)
{
        struct coll *coll = c->run->coll;
        uint64_t begin, end, now;
        int err = coll->ops->barrier(coll);

        begin = clock_ns();
        for (int i = 0; i < WAITS && !err; i++) {
                end = clock_ns() + c->k->null_delay_us * 1000;
                while ((now = clock_ns()) < end && !err) {
                        clock_sleep_ns(end - now < NAP_NS ? end - now : NAP_NS);
                        err = signal_came() ? -ECANCELED : 0;
                }
        }
        out->total = clock_s(clock_ns() - begin);
        return coll_agree(coll, err);
}

/* One try of one rank, real or played. */
static int try_as(struct selfcheck *c, enum tried what, unsigned rank, struct sample *out)
{
        const struct io_data d = {.size = BYTES};
        struct coll *coll = c->run->coll;
        struct timed t = {.coll = coll, .sync = true};
        struct keys k = *c->k;
        char why[200] = "";

        if (what == BARE)
                return wait_bare(c, out);
        k.null_slow_rank = NO_RANK;
        if (what == SLOW) {
                k.null_delay_us = (k.null_delay_us + SLOWER - 1) / SLOWER;
                k.null_slow_rank = c->ranks - 1;
        }
        int err = io_null.start(&k, "null", "", rank, &t.io, why, sizeof why);
        if (err)
                run_error(c->run, "%s", why);
        err = coll_agree(coll, err);
        if (!err)
                err = timed_save(&t, "selfcheck", &d, out, say, c);
        io_null.stop(t.io, true);
        return err;
}

/* All of it, in turns. */
static int measure(struct selfcheck *c)
{
        struct coll *coll = c->run->coll;
        const size_t tries = c->k->epochs, n = tries * c->played;
        CLEANUP(freep) struct sample *mine = calloc(n * TRIED, sizeof *mine);
        int err = coll_agree(coll, mine ? 0 : -ENOMEM);

        for (size_t i = 0; i < n * TRIED && !err; i++) {
                const enum tried what = (enum tried)(i / c->played % TRIED);
                const size_t at = i / c->played / TRIED * c->played + i % c->played;
                err = try_as(c, what, coll->rank + (unsigned)(i % c->played), &mine[what * n + at]);
        }
        for (int what = 0; what < TRIED && !err; what++) {
                if (c->played == 1) {
                        err = timed_gather(coll, &mine[what * n], tries, &c->v[what]);
                        continue;
                }
                c->v[what] = calloc(n, sizeof *mine);
                err = c->v[what] ? 0 : -ENOMEM;
                if (!err)
                        memcpy(c->v[what], &mine[what * n], n * sizeof *mine);
        }
        return err;
}

/* Seconds of each try, of the slowest of ranks [from, to). */
static void slowest(const struct selfcheck *c, enum tried what, unsigned from, unsigned to,
                    double *out)
{
        for (size_t i = 0; i < c->k->epochs; i++) {
                out[i] = 0;
                for (unsigned r = from; r < to; r++)
                        if (c->v[what][i * c->ranks + r].total > out[i])
                                out[i] = c->v[what][i * c->ranks + r].total;
        }
}

/* Of what n saves took, over what the bare waits did. */
static int over_bare(const struct selfcheck *c, const double *took, size_t n, const double *bare,
                     struct figure *out)
{
        const size_t tries = c->k->epochs;
        struct stats of, wait;

        if (stats_of(took, n, &of) || stats_of(bare, tries, &wait) ||
            stats_ratio_interval(bare, tries, took, n, &out->in) == -ENOMEM)
                return -ENOMEM;
        out->value = stats_ratio(of.median, wait.median);
        return 0;
}

/* Whether the machine itself waits as it is told, and no clock says less. */
static int waits(struct selfcheck *c)
{
        const double known = seconds_of(c->k);
        const size_t tries = c->k->epochs, n = tries * c->ranks;
        double least = c->v[BARE][0].total;
        struct figure f = {0};
        struct stats of;
        char says[240];

        for (size_t i = 0; i < n; i++) {
                const double last = c->v[SLOW][i / c->ranks * c->ranks + c->ranks - 1].total;
                least = c->v[BARE][i].total < least ? c->v[BARE][i].total : least;
                least = c->v[ALIKE][i].total < least ? c->v[ALIKE][i].total : least;
                least = last < least ? last : least;
        }
        if (stats_of(c->bare, tries, &of) ||
            stats_median_interval(c->bare, tries, &f.in) == -ENOMEM)
                return -ENOMEM;
        f.value = of.median / known;
        f.in.low /= known;
        f.in.high /= known;
        snprintf(says, sizeof says,
                 "of the %.4f s that a wait must last, the median of %zu tries with nothing "
                 "measured between",
                 known, tries);
        add_check(c, "bare_wait", f, LEAST, MOST, says);
        snprintf(says, sizeof says,
                 "whether no wait and no save was measured as too short; the shortest is %.4f of "
                 "what it must last",
                 least / known);
        add_check(c, "never_short", (struct figure){.value = least >= known}, 1, 1, says);
        return 0;
}

/* A save that lasts as long as it must, in all ranks alike. */
static int known_time(struct selfcheck *c, double *took)
{
        struct figure f;
        char says[240];

        slowest(c, ALIKE, 0, c->ranks, took);
        int err = over_bare(c, took, c->k->epochs, c->bare, &f);
        if (err)
                return err;
        snprintf(says, sizeof says,
                 "of what the bare wait takes, saves that wait as long: medians of %llu tries, in "
                 "turns",
                 (unsigned long long)c->k->epochs);
        add_check(c, "known_time", f, 2 - MOST, MOST, says);
        return 0;
}

/* The same with one slow rank: whatever the others do, it is waited for. */
static int slow_rank(struct selfcheck *c, double *took, double *bare)
{
        const size_t n = c->k->epochs * c->ranks;
        struct figure f;
        char says[240];
        double sum = 0;

        slowest(c, SLOW, 0, c->ranks, took);
        slowest(c, BARE, c->ranks - 1, c->ranks, bare);
        int err = over_bare(c, took, c->k->epochs, bare, &f);
        if (err)
                return err;
        for (size_t i = 0; i < n; i++)
                sum += c->v[SLOW][i].total;
        snprintf(says, sizeof says,
                 "of what it takes one rank of %u, %d times slower than the others, and not their "
                 "mean, which is %.4f",
                 c->ranks, SLOWER, sum / (double)n / seconds_of(c->k));
        add_check(c, "slow_rank", f, 2 - MOST, MOST, says);
        return 0;
}

static int known_times(struct selfcheck *c)
{
        CLEANUP(freep) double *took = calloc(c->k->epochs, sizeof *took);
        CLEANUP(freep) double *bare = calloc(c->k->epochs, sizeof *bare);
        c->bare = calloc(c->k->epochs, sizeof *c->bare);
        int err = coll_agree(c->run->coll, took && bare && c->bare ? 0 : -ENOMEM);

        if (!err)
                err = measure(c);
        if (err)
                return err;
        slowest(c, BARE, 0, c->ranks, c->bare);
        err = waits(c);
        if (!err)
                err = known_time(c, took);
        return err ? err : slow_rank(c, took, bare);
}

/* --- saves that wait for each other --- */

/* Steps that want a save sooner than the storage is done with the one before. Each second of such a
 * training is one of a step, or one in which a save blocked, but for the last save's: a clock that
 * started when a save could begin, not when it was wanted, would miss the waits. And behind what
 * blocked, a save lasts as long as it must. */
static int account(struct selfcheck *c, const struct json *m)
{
        const struct json *blocked = json_get(m, "blocked_s"), *visible = json_get(m, "visible_s");
        const size_t n = json_count(blocked);
        double fit = json_number(json_get(m, "fit_s"), 0), waited = 0;
        double counted = json_number(json_get(m, "steps_s"), 0);
        CLEANUP(freep) double *behind = calloc(n ? n : 1, sizeof *behind);
        struct figure f = {0};
        char says[200];

        if (!behind)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++) {
                double b = json_number(json_at(blocked, i), 0);
                behind[i] = json_number(json_at(visible, i), 0) - b;
                counted += b;
                waited += json_number(json_at(json_get(m, "waited_s"), i), 0);
        }
        counted += n ? behind[n - 1] : 0;
        snprintf(says, sizeof says,
                 "of the %.4f s that steps and their saves took is told by them; without the waits "
                 "for the save before it would be %.4f",
                 fit, stats_ratio(counted - waited, fit));
        f.value = stats_ratio(counted, fit);
        add_check(c, "coordinated_omission", f, 2 - MOST, MOST, says);
        snprintf(says, sizeof says,
                 "of what the bare wait takes, a save behind its wait: the median of %zu", n);
        int err = over_bare(c, behind, n, c->bare, &f);
        if (!err)
                add_check(c, "save_behind_wait", f, 2 - MOST, MOST, says);
        return err;
}

static int omission(struct selfcheck *c)
{
        CLEANUP(json_freep) struct json *of = c->checks ? json_new_object() : NULL;
        /* by each rank for itself: the sum of what was the longest of several is no time */
        struct coll alone = {.ops = &coll_none, .ranks = 1, .host_ranks = 1};
        struct run run = *c->run;
        struct keys k = *c->k;

        run.coll = &alone;
        k.null_slow_rank = NO_RANK;
        k.steps = STEPS;
        k.steps_per_save = 1;
        k.step_time = STEP_MS;
        k.strategy = STRATEGY_ASYNC;
        k.async_state = STATE_PATTERN;
        int err = coll_agree(c->run->coll, async_job(&run, &k, of));
        if (!err && of)
                err = account(c, json_get(of, "metrics"));
        return coll_agree(c->run->coll, err);
}

/* --- a wrong byte --- */

/* In each rank: whether one bit that is not as it was made is found, and where. */
static int find_wrong(struct selfcheck *c, struct payload *p, bool *found, char *says, size_t n)
{
        const struct coll *coll = c->run->coll;
        struct model m;
        int err = model_choose(c->k, &m, says, n);

        if (!err)
                err = shard_plan(&m, c->k->optimizer, SHARD_ELEMENTS, coll->rank, coll->ranks,
                                 &p->shard);
        p->shard.seed = c->k->seed;
        payload_init(p, true);
        if (!err)
                err = payload_hold(p);
        if (!err)
                err = payload_fill(p);
        if (err)
                return err;
        uint64_t at = p->shard.size / 3 * 2;
        err = payload_flip(p, at);
        if (!err)
                err = payload_check(p);
        const struct shard_fault *fault = payload_fault(p);
        *found = err == -EBADMSG && fault && fault->off == at;
        payload_explain(p, says, n);
        return err == -EBADMSG ? 0 : err;
}

static int wrong_byte(struct selfcheck *c)
{
        struct payload p = {0};
        char says[512] = "";
        bool found = false;
        int err = find_wrong(c, &p, &found, says, sizeof says);
        double missed = !found;

        payload_release(&p);
        if (err && err != -ECANCELED)
                run_error(c->run, "%s", *says ? says : strerror(-err));
        err = coll_agree(c->run->coll, err);
        if (!err)
                err = c->run->coll->ops->max(c->run->coll, &missed, 1);
        if (!err)
                add_check(c, "wrong_byte", (struct figure){.value = 1 - missed}, 1, 1, says);
        return err;
}

/* --- the scenario --- */

static int plan(const struct run *r, const struct keys *k, FILE *dry, char *why, size_t nwhy)
{
        struct model m;

        if (strcmp(k->storage, "null")) {
                snprintf(
                        why, nwhy,
                        "selfcheck measures what is known, storage=null, and not %s: leave storage "
                        "out",
                        k->storage);
                return -EINVAL;
        }
        if (!k->null_delay_us) {
                snprintf(why, nwhy, "null.delay_us=0 lasts no known time: give more");
                return -EINVAL;
        }
        int err = model_choose(k, &m, why, nwhy);
        if (err)
                return err;
        if (dry)
                fprintf(dry,
                        "would measure waits and saves of %.4f s on null, %llu tries, %u ranks\n",
                        seconds_of(k), (unsigned long long)k->epochs, r->coll->ranks);
        uint64_t bytes = model_params(&m) * model_param_bytes(&m, k->optimizer);
        const struct preflight n = {
                .moved = 2 * BYTES * k->epochs * (r->coll->ranks > 1 ? r->coll->ranks : PLAYED) +
                         STEPS * bytes,
                .memory = bytes / r->coll->ranks,
                .shards = bytes / r->coll->ranks,
        };
        return preflight_check(r, k, &n, dry, why, nwhy);
}

static int work(const struct run *r, const struct keys *k, struct json *job)
{
        bool alone = r->coll->ranks == 1;
        struct keys mine = *k;
        struct selfcheck c = {
                .run = r,
                .k = &mine,
                .ranks = alone ? PLAYED : r->coll->ranks,
                .played = alone ? PLAYED : 1,
        };
        static int (*const checks[])(struct selfcheck *) = {known_times, omission, wrong_byte};
        int err = 0;

        mine.null_copies = 0;
        mine.keep = false;
        if (job) {
                struct json *o = json_add_object(job, "setup");
                json_add_number(o, "ranks", c.ranks);
                json_add_bool(o, "ranks_are_played", alone);
                c.checks = json_add_array(json_add_object(job, "metrics"), "checks");
        }
        for (size_t i = 0; i < sizeof checks / sizeof checks[0] && !err; i++)
                err = checks[i](&c);
        for (int i = 0; i < TRIED; i++)
                free(c.v[i]);
        free(c.bare);
        return err;
}

/* The i-th check of all jobs of a run; NULL behind the last. */
static const struct json *check_at(const struct json *run, size_t i)
{
        const struct json *jobs = json_get(run, "job_results");

        for (size_t j = 0; j < json_count(jobs); j++) {
                const struct json *of = json_get(json_get(json_at(jobs, j), "metrics"), "checks");
                if (i < json_count(of))
                        return json_at(of, i);
                i -= json_count(of);
        }
        return NULL;
}

static double number(const struct json *check, const char *name)
{
        return json_number(json_get(check, name), 0);
}

static bool passed(const struct json *check)
{
        return json_bool(json_get(check, "passed"), false);
}

static const char *device_of(const struct json *run)
{
        return json_string(json_get(json_first(json_get(run, "job_results")), "device"), "?");
}

/* The interval of a figure, in words; "" where there is none. */
static const char *interval_of(const struct json *c, char *out, size_t n)
{
        *out = 0;
        if (json_get(c, "low"))
                snprintf(out, n, "%.4f to %.4f", number(c, "low"), number(c, "high"));
        return out;
}

static void table(const struct json *run, FILE *to)
{
        const struct json *c;
        char in[64];

        fprintf(to, "shards in %s\n%-7s %-20s %8s %18s %14s\n", device_of(run), "", "check",
                "figure", "95 % interval", "must be");
        for (size_t i = 0; (c = check_at(run, i)); i++)
                fprintf(to, "%-7s %-20s %8.4f %18s %6.2f to %4.2f  %s\n",
                        passed(c) ? "ok" : "FAILED", json_string(json_get(c, "name"), "?"),
                        number(c, "figure"), interval_of(c, in, sizeof in), number(c, "least"),
                        number(c, "most"), json_string(json_get(c, "says"), ""));
}

static void page(const struct json *run, struct doc *d)
{
        static const struct doc_column columns[] = {{NULL, "check"},         {NULL, "figure"},
                                                    {NULL, "95 % interval"}, {NULL, "at least"},
                                                    {NULL, "at most"},       {NULL, ""}};
        const struct json *c;
        char in[64];

        doc_table(d, columns, sizeof columns / sizeof columns[0]);
        for (size_t i = 0; (c = check_at(run, i)); i++) {
                doc_text(d, json_string(json_get(c, "name"), "?"));
                doc_figure(d, number(c, "figure"), 4);
                doc_text(d, interval_of(c, in, sizeof in));
                doc_figure(d, number(c, "least"), 2);
                doc_figure(d, number(c, "most"), 2);
                doc_text(d, passed(c) ? "passed" : "failed");
        }
        doc_table_end(d);
}

static int verdict(const struct run *r, const struct json *run)
{
        const struct json *c;
        char in[64];
        int err = 0;

        for (size_t i = 0; (c = check_at(run, i)); i++) {
                if (passed(c))
                        continue;
                const bool told = !json_get(c, "low") || number(c, "low") > number(c, "most") ||
                                  number(c, "high") < number(c, "least");
                run_error(r,
                          "%s is %.4f%s%s and must be %.2f to %.2f%s: try again when nothing else "
                          "runs; figures that are measured here until then are not to be believed",
                          json_string(json_get(c, "name"), "?"), number(c, "figure"),
                          *interval_of(c, in, sizeof in) ? ", 95 % interval " : "", in,
                          number(c, "least"), number(c, "most"),
                          told ? "" : ", which more epochs may tell");
                err = -ERANGE;
        }
        return err;
}

static const char *const defaults[] = {"storage=null", "size=1M", "epochs=5", "null.delay_us=50000",
                                       NULL};

const struct scenario scenario_selfcheck = {
        .name = "selfcheck",
        .text = "Whether what is measured can be believed here: known times, a slow rank, saves "
                "that "
                "wait, a wrong byte.",
        .many_ranks = true,
        .device = true,
        .defaults = defaults,
        .plan = plan,
        .job = work,
        .table = table,
        .page = page,
        .verdict = verdict,
};
