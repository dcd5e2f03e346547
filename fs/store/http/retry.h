/* SPDX-License-Identifier: Apache-2.0 */
/* retry.h: when a failed request is sent again, and how many run at once. Pure: time and chance
 * come in as arguments. */
#ifndef CKPTFS_STORE_RETRY_H
#define CKPTFS_STORE_RETRY_H

#include <stdbool.h>
#include <stdint.h>

/* Exponential back-off with full jitter (Brooker, "Exponential Backoff And Jitter", AWS
 * Architecture Blog, 2015): a delay evenly in [0, min(cap, base * 2^tries)). */
enum { BACKOFF_BASE_MS = 100, BACKOFF_CAP_MS = 10000 };

/* Milliseconds before the next try, after `tries` (>= 1) failed ones; `chance` is any random
 * number. */
unsigned backoff_ms(unsigned tries, uint64_t chance);

/* Of one request: how long it may be retried, tries that failed, and since when without a byte of
 * progress. */
struct retry {
        unsigned deadline_ms;
        unsigned most; /* tries; 0: any number */
        unsigned tries;
        bool waited;      /* for what it takes to try */
        int64_t since_ms; /* valid with `waited` or tries > 0 */
};

/* A try failed at now_ms, after silent_ms without a byte. Returns the delay in ms before the next
 * one, or -1: the deadline would be over by then, or the tries are used up. `retry_after_ms` is
 * what the server asked for, 0 nothing. */
int64_t retry_next(struct retry *r, int64_t now_ms, unsigned silent_ms, unsigned retry_after_ms,
                   uint64_t chance);
/* Nothing could be tried at now_ms, for want of something that is awaited. False: the deadline is
 * over. Such waits and tries that fail count together. */
bool retry_wait(struct retry *r, int64_t now_ms);
/* Bytes came in: a later failure counts from anew. */
void retry_progress(struct retry *r);

/* Whether a status without a code that the kind knows is worth another try: 408, 429, 500, 502,
 * 503, 504. */
bool retry_status(int status);

/* Whether that is a code by which a service of AWS says that it was asked too often, whatever the
 * status: the Security Token Service says "Throttling" with 400 (AWS SDKs and Tools reference
 * guide, "Retry behavior"). */
bool retry_throttled(const char *code);

/* The errno a status means, for a request with or without a condition. */
int status_errno(int status, bool if_absent);

/* How many run at once: additive increase, multiplicative decrease (Chiu and Jain, 1989). */
struct aimd {
        double limit;
        unsigned most;
        int64_t cut_ms; /* of the last decrease */
        bool cut;
};
enum { AIMD_HOLD_MS = 1000 }; /* answers to what was sent before a cut do not cut again */
void aimd_init(struct aimd *a, unsigned most);
/* Another bound from now on. What was not limited is not then, either. */
void aimd_bound(struct aimd *a, unsigned most);
void aimd_slower(struct aimd *a, int64_t now_ms);
void aimd_faster(struct aimd *a);
unsigned aimd_limit(const struct aimd *a);

/* Parts of a range reply, "bytes 5-9/20" or "bytes (star)/20": 0, or -EINVAL. `total` is UINT64_MAX
 * when unknown; first > last for an unsatisfied range. */
int content_range_parse(const char *text, uint64_t *first, uint64_t *last, uint64_t *total);

#endif
