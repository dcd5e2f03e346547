/* SPDX-License-Identifier: Apache-2.0 */
/* selfcheck.c: the scenario "selfcheck": whether what this program measures can be believed here,
 * asked of a storage whose times are known. A wait lasts as long as it does; the time of all ranks
 * is that of the slowest; a save that had to wait for the one before counts from when it was
 * wanted; a wrong byte is found and named.
 *
 * A wait is never measured as too short. What is too long is measuring itself, or another program
 * on the machine: of several tries the shortest tells the first, and that must stay within 2 %. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "bench/core/io.h"
#include "bench/measure/measure.h"
#include "bench/data/model_keys.h"
#include "bench/data/preflight.h"
#include "bench/data/payload.h"
#include "bench/core/run.h"
#include "bench/report/doc.h"
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
        STEP_MS = 10
};
#define LEAST   1.0
#define MOST    1.02
#define NO_RANK UINT32_MAX

struct selfcheck {
        const struct run *run;
        const struct keys *k;
        struct json *checks;    /* NULL but in rank 0 */
        unsigned ranks, played; /* in all, and by this one */
};

/* One line of the result. */
static void add_check(const struct selfcheck *c, const char *name, double figure, double least,
                      double most, const char *says)
{
        struct json *o = c->checks ? json_add_object(c->checks, NULL) : NULL;

        if (!o)
                return;
        json_add_string(o, "name", name);
        json_add_number(o, "figure", figure);
        json_add_number(o, "least", least);
        json_add_number(o, "most", most);
        json_add_bool(o, "passed", figure >= least && figure <= most);
        json_add_string(o, "says", says);
}

/* --- saves whose time is known ---------------------------------------------------------------- */

static void say(void *arg, const char *what, int err)
{
        const struct selfcheck *c = arg;
        if (err != -ECANCELED)
                run_error(c->run, "%s: %s", what, strerror(-err));
}

/* The saves of one rank, real or played, a try each: v[try * played]. */
static int save_as(struct selfcheck *c, const struct keys *k, unsigned rank, struct sample *v)
{
        const struct io_data d = {.size = BYTES};
        struct coll *coll = c->run->coll;
        struct timed t = {.coll = coll, .sync = true};
        char why[200] = "";
        int err = io_null.start(k, "null", "", rank, &t.io, why, sizeof why);

        if (err)
                run_error(c->run, "%s", why);
        err = coll_agree(coll, err);
        for (size_t i = 0; i < k->epochs && !err; i++)
                err = timed_save(&t, "selfcheck", &d, &v[i * c->played], say, c);
        io_null.stop(t.io, true);
        return err;
}

/* v[try * ranks + rank] of all ranks, malloc'ed. */
static int measure(struct selfcheck *c, const struct keys *k, struct sample **out)
{
        struct coll *coll = c->run->coll;
        CLEANUP(freep) struct sample *mine = calloc(k->epochs * c->played, sizeof *mine);
        int err = coll_agree(coll, mine ? 0 : -ENOMEM);

        for (unsigned i = 0; i < c->played && !err; i++)
                err = save_as(c, k, coll->rank + i, &mine[i]);
        if (!err && c->played == 1)
                return timed_gather(coll, mine, k->epochs, out);
        if (!err)
                *out = TAKE_PTR(mine);
        return err;
}

static double seconds_of(const struct keys *k)
{
        return WAITS * (double)k->null_delay_us / 1e6;
}

/* A save that lasts as long as it must, in all ranks alike. */
static int known_time(struct selfcheck *c)
{
        struct keys k = *c->k;
        CLEANUP(freep) struct sample *v = NULL;
        struct summary s;
        char says[200];

        k.null_slow_rank = NO_RANK;
        int err = measure(c, &k, &v);
        if (!err)
                err = measure_summary(v, k.epochs, c->ranks, &s);
        if (err)
                return err;
        double known = seconds_of(&k);
        snprintf(says, sizeof says,
                 "of the %.4f s that a save must last, the shortest of %llu tries; their median is "
                 "%.4f",
                 known, (unsigned long long)k.epochs, s.seconds / known);
        add_check(c, "known_time", s.epochs.min / known, LEAST, MOST, says);
        return 0;
}

/* The same with one slow rank: whatever the others do, it is waited for. */
static int slow_rank(struct selfcheck *c)
{
        struct keys k = *c->k;
        CLEANUP(freep) struct sample *v = NULL;
        struct summary s;
        char says[200];
        double sum = 0;

        k.null_delay_us = k.null_delay_us / SLOWER ? k.null_delay_us / SLOWER : 1;
        k.null_slow_rank = c->ranks - 1;
        int err = measure(c, &k, &v);
        if (!err)
                err = measure_summary(v, k.epochs, c->ranks, &s);
        if (err)
                return err;
        double known = SLOWER * seconds_of(&k);
        size_t n = k.epochs * c->ranks;
        for (size_t i = 0; i < n; i++)
                sum += v[i].total;
        snprintf(says, sizeof says,
                 "of the %.4f s of one rank of %u, %d times slower than the others, and not their "
                 "mean, which is %.4f",
                 known, c->ranks, SLOWER, sum / (double)n / known);
        add_check(c, "slow_rank", s.epochs.min / known, LEAST, MOST, says);
        return 0;
}

/* --- saves that wait for each other ----------------------------------------------------------- */

/* Steps that want a save sooner than the storage is done with the one before. Each second of such a
 * training is one of a step, or one in which a save blocked, but for the last save's: a clock that
 * started when a save could begin, not when it was wanted, would miss the waits. And behind what
 * blocked, a save lasts as long as it must. */
static void account(struct selfcheck *c, const struct json *m, double save)
{
        const struct json *blocked = json_get(m, "blocked_s"), *visible = json_get(m, "visible_s");
        double fit = json_number(json_get(m, "fit_s"), 0), shortest = 0, last = 0, waited = 0;
        double counted = json_number(json_get(m, "steps_s"), 0);
        char says[200];

        for (size_t i = 0; i < json_count(blocked); i++) {
                double b = json_number(json_at(blocked, i), 0);
                last = json_number(json_at(visible, i), 0) - b;
                shortest = !i || last < shortest ? last : shortest;
                counted += b;
                waited += json_number(json_at(json_get(m, "waited_s"), i), 0);
        }
        counted += last;
        snprintf(says, sizeof says,
                 "of the %.4f s that steps and their saves took is told by them; without the waits "
                 "for the save before it would be %.4f",
                 fit, stats_ratio(counted - waited, fit));
        add_check(c, "coordinated_omission", stats_ratio(counted, fit), 2 - MOST, MOST, says);
        snprintf(says, sizeof says,
                 "of the %.4f s that a save must last behind its wait, the shortest of %zu", save,
                 json_count(visible));
        add_check(c, "save_behind_wait", shortest / save, LEAST, MOST, says);
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
        int err = coll_agree(c->run->coll, async_job(&run, &k, of));
        if (!err && of)
                account(c, json_get(of, "metrics"), seconds_of(&k));
        return err;
}

/* --- a wrong byte -------------------------------------------------------------------------------
 */

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
        p->data.mem[at] ^= 1;
        err = payload_check(p);
        *found = err == -EBADMSG && p->fault.first.piece && p->fault.first.off == at;
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
                add_check(c, "wrong_byte", 1 - missed, 1, 1, says);
        return err;
}

/* --- the scenario
 * --------------------------------------------------------------------------------- */

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
                fprintf(dry, "would measure saves of %.4f s on null, %llu tries, %u ranks\n",
                        seconds_of(k), (unsigned long long)k->epochs, r->coll->ranks);
        uint64_t bytes = model_params(&m) * model_param_bytes(&m, k->optimizer);
        const struct needs n = {
                .moved = 2 * BYTES * k->epochs * (r->coll->ranks > 1 ? r->coll->ranks : PLAYED) +
                         STEPS * bytes,
                .memory = 2 * (bytes / r->coll->ranks),
        };
        return needs_check(r, k, &n, dry, why, nwhy);
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
        static int (*const checks[])(struct selfcheck *) = {known_time, slow_rank, omission,
                                                            wrong_byte};
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

static void table(const struct json *run, FILE *to)
{
        const struct json *c;

        fprintf(to, "%-7s %-20s %8s %14s\n", "", "check", "figure", "must be");
        for (size_t i = 0; (c = check_at(run, i)); i++)
                fprintf(to, "%-7s %-20s %8.4f %6.2f to %4.2f  %s\n", passed(c) ? "ok" : "FAILED",
                        json_string(json_get(c, "name"), "?"), number(c, "figure"),
                        number(c, "least"), number(c, "most"),
                        json_string(json_get(c, "says"), ""));
}

static void page(const struct json *run, struct doc *d)
{
        static const struct doc_column columns[] = {{NULL, "check"},
                                                    {NULL, "figure"},
                                                    {NULL, "at least"},
                                                    {NULL, "at most"},
                                                    {NULL, ""}};
        const struct json *c;

        doc_table(d, columns, sizeof columns / sizeof columns[0]);
        for (size_t i = 0; (c = check_at(run, i)); i++) {
                doc_text(d, json_string(json_get(c, "name"), "?"));
                doc_figure(d, number(c, "figure"), 4);
                doc_figure(d, number(c, "least"), 2);
                doc_figure(d, number(c, "most"), 2);
                doc_text(d, passed(c) ? "passed" : "failed");
        }
        doc_table_end(d);
}

static int verdict(const struct run *r, const struct json *run)
{
        const struct json *c;
        int err = 0;

        for (size_t i = 0; (c = check_at(run, i)); i++) {
                if (passed(c))
                        continue;
                run_error(r,
                          "%s is %.4f and must be %.2f to %.2f: try again when nothing else runs; "
                          "figures that are measured here until then are not to be believed",
                          json_string(json_get(c, "name"), "?"), number(c, "figure"),
                          number(c, "least"), number(c, "most"));
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
        .defaults = defaults,
        .plan = plan,
        .job = work,
        .table = table,
        .page = page,
        .verdict = verdict,
};
