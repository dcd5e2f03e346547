/* SPDX-License-Identifier: Apache-2.0 */
/* inflight.c: see inflight.h. */
#include "store/http/inflight.h"

#include "base/banned.h"

enum {
        LEAST = 4,          /* unless the server refuses more */
        SETTLE_MS = 60,     /* new connections fill the buffers on the way first */
        BEGIN_MS = 150,     /* for which a rate is measured at least, where it doubles, */
        TRIAL_MS = 300,     /* where it hardly changes, */
        MOST_MS = 1000,     /* and at most; in between it is what a transfer takes */
        PATIENCE_MS = 3000, /* until a trial whose number is not reached is given up */
        BURST_LOOKS = 40,   /* over which one sees that the work comes in bursts */
        BURST_MOST = 64,    /* transfers that bursts alone are worth */
        HOLD_LEAST_MS = 500,
        HOLD_MOST_MS = 8000,
        REFUSED_MS = 1000,  /* see inflight_refused() */
        CEILING_MS = 30000, /* how long a ceiling is believed */
        FORGET_MS = 10000   /* of rest: the network may be another one */
};

#define FOLLOWS_BEGIN 0.25 /* share of the growth that the rate has to follow, to double again */
#define FOLLOWS       0.3  /* and to keep a few more */
#define FOLLOWS_WELL  0.7  /* and to begin to double again */
#define STAYS         0.97 /* of the rate has to stay, to keep fewer */
#define ABOVE_KNEE    1.125
#define STEP          1.25
#define CUT           0.7 /* as CUBIC */

void inflight_init(struct inflight *f, unsigned most)
{
        unsigned first = most < INFLIGHT_FIRST ? most : INFLIGHT_FIRST;
        *f = (struct inflight){.limit = first, .most = most, .step = STEP};
}

static double between(double low, double x, double high)
{
        return x < low ? low : x > high ? high : x;
}

static void set(struct inflight *f, double limit)
{
        f->limit = between(1, limit, f->most);
}

void inflight_bound(struct inflight *f, unsigned most)
{
        f->most = most;
        set(f, f->limit);
}

unsigned inflight_limit(const struct inflight *f)
{
        return (unsigned)f->limit;
}

static void enter(struct inflight *f, enum inflight_phase phase, int64_t now_ms)
{
        f->phase = phase;
        f->phase_ms = now_ms;
        f->full_ms = f->last_ms = f->time_ms = 0;
        f->bytes = 0;
        f->looks = f->waits = f->fulls = 0;
}

static void hold(struct inflight *f, int64_t hold_ms, int64_t now_ms)
{
        f->hold_ms = hold_ms < HOLD_MOST_MS ? hold_ms : HOLD_MOST_MS;
        enter(f, INFLIGHT_HOLD, now_ms);
}

/* --- the beginning --- */

static void double_it(struct inflight *f, double rate, int64_t now_ms)
{
        f->usual = f->limit;
        f->usual_rate = rate;
        set(f, 2 * f->limit);
        enter(f, INFLIGHT_BEGIN, now_ms);
}

/* Where the rate stopped to follow, the last number at which it did tells what one transfer brings,
 * and so how many make the whole. */
static void end_begin(struct inflight *f, double rate, int64_t now_ms)
{
        double one = f->usual_rate / f->usual;
        bool grew = f->usual > INFLIGHT_FIRST;

        set(f, between(f->usual, rate / one * ABOVE_KNEE, f->limit));
        f->up = false;
        f->step = grew ? STEP : 2;
        f->series_rate = 0;
        hold(f, grew ? 2 * HOLD_LEAST_MS : 0, now_ms);
}

static bool follows(const struct inflight *f, double rate, double share)
{
        return rate >= f->usual_rate * (1 + (f->limit / f->usual - 1) * share);
}

static void begin_step(struct inflight *f, double rate, int64_t now_ms)
{
        bool know = f->usual_rate > 0;

        if (know && !follows(f, rate, FOLLOWS_BEGIN)) {
                end_begin(f, rate, now_ms);
        } else if (f->limit >= f->most) {
                f->up = false;
                f->step = know ? STEP : 2;
                hold(f, HOLD_LEAST_MS, now_ms);
        } else {
                double_it(f, rate, now_ms);
        }
}

/* --- trials --- */

static bool has_ceiling(const struct inflight *f, int64_t now_ms)
{
        return f->ceiling > 0 && now_ms - f->refused_ms < CEILING_MS;
}

/* The number to try, or the usual one when there is none in this direction. */
static double to_try(const struct inflight *f, int64_t now_ms)
{
        double n = f->up ? f->limit * STEP : f->limit / f->step;

        if (f->up && n < f->limit + 1)
                n = f->limit + 1;
        if (f->up && has_ceiling(f, now_ms))
                n = between(f->limit, n, (f->limit + f->ceiling) / 2);
        n = between(f->limit < LEAST ? f->limit : LEAST, n, f->most);
        return (unsigned)n == (unsigned)f->limit ? f->limit : n;
}

static void begin_trial(struct inflight *f, double rate, int64_t now_ms)
{
        double n = to_try(f, now_ms);

        if (n == f->limit) {
                f->up = !f->up;
                f->ceiling = 0; /* what was too much then may not be later */
                hold(f, 2 * f->hold_ms + HOLD_LEAST_MS, now_ms);
                return;
        }
        f->usual = f->limit;
        f->usual_rate = rate;
        if (!f->up && rate > f->series_rate)
                f->series_rate = rate;
        set(f, n);
        enter(f, INFLIGHT_TRIAL, now_ms);
}

/* Back to the usual number; the other direction is the next. */
static void give_up(struct inflight *f, int64_t now_ms)
{
        set(f, f->usual);
        f->series_rate = 0;
        if (!f->up && f->step > STEP) {
                f->step = STEP;
        } else {
                f->up = !f->up;
        }
        hold(f, 2 * f->hold_ms + HOLD_LEAST_MS, now_ms);
}

static void end_trial(struct inflight *f, double rate, int64_t now_ms)
{
        bool pays = f->up ? follows(f, rate, FOLLOWS) : rate >= f->series_rate * STAYS;

        if (!pays)
                give_up(f, now_ms);
        else if (f->up && !has_ceiling(f, now_ms) && follows(f, rate, FOLLOWS_WELL))
                begin_step(f, rate, now_ms);
        else
                hold(f, 0, now_ms);
}

/* --- bursts --- */

/* Where the program or the processor is the limit, work comes in bursts: as many run as may only
 * at moments, too few to measure a rate, and yet transfers wait then. On average fewer run than
 * may, so the line has room, and a burst may take more of it. Once there was a rate to measure,
 * trials know better. */
static bool comes_in_bursts(struct inflight *f, const struct inflight_look *look)
{
        f->looks++;
        f->waits += look->met;
        f->fulls += look->running >= inflight_limit(f);
        if (f->looks < BURST_LOOKS)
                return false;
        bool yes = 20 * f->waits >= f->looks && 2 * f->fulls < f->looks;
        f->looks = f->waits = f->fulls = 0;
        return yes && !(f->usual_rate > 0) && f->limit < BURST_MOST &&
               !has_ceiling(f, look->now_ms);
}

static void allow_bursts(struct inflight *f, int64_t now_ms)
{
        set(f, between(f->limit, 2 * f->limit, BURST_MOST));
        f->up = false;
        enter(f, INFLIGHT_BASE, now_ms);
}

/* --- looks --- */

/* The rate while as many run as may, once that was long enough: bytes a millisecond, or 0. Times at
 * which there is too little work for so many do not count. */
static double measure(struct inflight *f, const struct inflight_look *look)
{
        int64_t enough = f->phase == INFLIGHT_BEGIN
                                 ? BEGIN_MS
                                 : (int64_t)between(TRIAL_MS, look->took_ms, MOST_MS);

        if (look->running != inflight_limit(f)) {
                f->last_ms = 0;
                return 0;
        }
        if (!f->full_ms)
                f->full_ms = look->now_ms;
        if (look->now_ms - f->full_ms < SETTLE_MS)
                return 0;
        if (f->last_ms && look->bytes > f->last_bytes) {
                f->time_ms += look->now_ms - f->last_ms;
                f->bytes += look->bytes - f->last_bytes;
        }
        f->last_ms = look->now_ms;
        f->last_bytes = look->bytes;
        return f->time_ms < enough || !look->more ? 0 : (double)f->bytes / (double)f->time_ms;
}

static void rest(struct inflight *f, int64_t now_ms)
{
        if (f->idle_ms && now_ms - f->idle_ms >= FORGET_MS)
                inflight_init(f, f->most);
        f->idle_ms = now_ms;
}

void inflight_look(struct inflight *f, const struct inflight_look *look)
{
        rest(f, look->now_ms);
        if (f->phase == INFLIGHT_HOLD && look->now_ms - f->phase_ms < f->hold_ms)
                return;
        if (f->phase == INFLIGHT_HOLD)
                enter(f, INFLIGHT_BASE, look->now_ms);
        double rate = measure(f, look);
        bool bursts = f->phase != INFLIGHT_TRIAL && comes_in_bursts(f, look);
        if (bursts)
                allow_bursts(f, look->now_ms);
        else if (rate > 0 && f->phase == INFLIGHT_BEGIN)
                begin_step(f, rate, look->now_ms);
        else if (rate > 0 && f->phase == INFLIGHT_BASE)
                begin_trial(f, rate, look->now_ms);
        else if (rate > 0)
                end_trial(f, rate, look->now_ms);
        else if (f->phase == INFLIGHT_TRIAL && !f->time_ms &&
                 look->now_ms - f->phase_ms >= PATIENCE_MS)
                give_up(f, look->now_ms);
}

void inflight_refused(struct inflight *f, int64_t now_ms)
{
        bool tried = f->phase == INFLIGHT_TRIAL || f->phase == INFLIGHT_BEGIN;

        if (f->ceiling > 0 && now_ms - f->refused_ms < REFUSED_MS)
                return;
        f->ceiling = f->limit;
        f->refused_ms = now_ms;
        set(f, tried && f->usual_rate > 0 && f->usual < f->limit ? f->usual : f->limit * CUT);
        f->up = true;
        f->series_rate = 0;
        hold(f, REFUSED_MS, now_ms);
}
