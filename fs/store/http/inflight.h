/* SPDX-License-Identifier: Apache-2.0 */
/* inflight.h: how many transfers bring the most bytes a second, found while they run.
 *
 * The model is BBR's (Cardwell et al., "BBR: Congestion-Based Congestion Control", 2016): what
 * counts is the rate at which bytes are delivered. It begins as BBR does, doubling for as long as
 * that makes it faster, and then looks now and then what some more or some fewer transfers do
 * (PCC, Dong et al., 2015): more stay where the rate follows, fewer where it does not fall, so that
 * nothing waits in queues only. A server that asks to slow down is a ceiling, which is then
 * approached by halves (BIC, Xu et al., 2004). docs/decisions/058 has the figures.
 *
 * Pure: time comes in as an argument. Not thread-safe. */
#ifndef CKPTFS_STORE_INFLIGHT_H
#define CKPTFS_STORE_INFLIGHT_H

#include <stdbool.h>
#include <stdint.h>

enum { INFLIGHT_FIRST = 16, INFLIGHT_LOOK_MS = 20 };

enum inflight_phase {
        INFLIGHT_BEGIN, /* doubles */
        INFLIGHT_HOLD,  /* leaves everything as it is for a while */
        INFLIGHT_BASE,  /* measures the rate with the usual number */
        INFLIGHT_TRIAL, /* and with another one */
};

struct inflight {
        double limit;
        unsigned most;
        enum inflight_phase phase;
        int64_t phase_ms; /* when it began */
        int64_t hold_ms;  /* how long to hold */
        bool up;          /* whether the next trial is with more */
        double step;      /* by what factor */

        double usual, usual_rate; /* before this step or trial; 0: not known */
        double series_rate;       /* before the first of trials with ever fewer */

        int64_t full_ms; /* since when just as many run as may; 0: they did not since the change */
        int64_t last_ms; /* the last look, where as many ran as may; 0: fewer did */
        uint64_t last_bytes;
        int64_t time_ms; /* for which the rate was measured, and what moved meanwhile */
        uint64_t bytes;

        /* Looks of late, at how many of them some had waited, and as many ran as may. */
        unsigned looks, waits, fulls;

        double ceiling; /* so many were too many for the server; 0: not known */
        int64_t refused_ms, idle_ms;
};

void inflight_init(struct inflight *f, unsigned most);
/* Another bound from now on; what was found out stands. */
void inflight_bound(struct inflight *f, unsigned most);

/* What to tell, every INFLIGHT_LOOK_MS while transfers run. */
struct inflight_look {
        int64_t now_ms;
        uint64_t bytes;   /* moved since the beginning; must not count what is in buffers here */
        unsigned running; /* transfers */
        bool more;        /* that wait for their turn */
        bool met;         /* at a moment since the last look, as many ran as may and more waited */
        unsigned took_ms; /* what a transfer takes of late; 0: not known */
};
void inflight_look(struct inflight *f, const struct inflight_look *look);

/* The server asked to slow down. Answers to what was sent before the last cut do not cut again. */
void inflight_refused(struct inflight *f, int64_t now_ms);

/* How many may run, at least 1. */
unsigned inflight_limit(const struct inflight *f);

#endif
