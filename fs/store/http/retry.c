/* SPDX-License-Identifier: Apache-2.0 */
/* retry.c: see retry.h. */
#include "store/http/retry.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

unsigned backoff_ms(unsigned tries, uint64_t chance)
{
        uint64_t most = BACKOFF_CAP_MS;
        if (tries < 1)
                tries = 1;
        if (tries <= 16 && ((uint64_t)BACKOFF_BASE_MS << (tries - 1)) < most)
                most = (uint64_t)BACKOFF_BASE_MS << (tries - 1);
        return (unsigned)(chance % most);
}

int64_t retry_next(struct retry *r, int64_t now_ms, unsigned silent_ms, unsigned retry_after_ms,
                   uint64_t chance)
{
        if (!r->tries++ && !r->waited)
                r->since_ms = now_ms - silent_ms;
        if (r->most && r->tries >= r->most)
                return -1;
        int64_t delay = backoff_ms(r->tries, chance);
        if (delay < (int64_t)retry_after_ms)
                delay = retry_after_ms;
        if (now_ms + delay - r->since_ms >= (int64_t)r->deadline_ms)
                return -1;
        return delay;
}

bool retry_wait(struct retry *r, int64_t now_ms)
{
        if (!r->tries && !r->waited)
                r->since_ms = now_ms;
        r->waited = true;
        return now_ms - r->since_ms < (int64_t)r->deadline_ms;
}

void retry_progress(struct retry *r)
{
        r->tries = 0;
        r->waited = false;
}

bool retry_status(int status)
{
        switch (status) {
        case 408:
        case 429:
        case 500:
        case 502:
        case 503:
        case 504:
                return true;
        default:
                return false;
        }
}

bool retry_throttled(const char *code)
{
        static const char *const codes[] = {
                "SlowDown",
                "TooManyRequests",
                "BandwidthLimitExceeded",
                "RequestLimitExceeded",
                "RequestThrottled",
                "RequestThrottledException",
                "ThrottledException",
                "Throttling",
                "ThrottlingException",
                "TooManyRequestsException",
        };

        for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
                if (!strcmp(codes[i], code))
                        return true;
        return false;
}

int status_errno(int status, bool if_absent)
{
        switch (status) {
        case 401:
        case 403:
                return -EACCES;
        case 404:
                return -ENOENT;
        case 409:
                return if_absent ? -EEXIST : -EIO;
        case 412:
                return if_absent ? -EEXIST : -ESTALE;
        case 501:
                return -EOPNOTSUPP;
        case 507:
                return -ENOSPC;
        default:
                return -EIO;
        }
}

void aimd_init(struct aimd *a, unsigned most)
{
        *a = (struct aimd){.limit = most, .most = most};
}

void aimd_bound(struct aimd *a, unsigned most)
{
        bool limited = a->limit < a->most;

        a->most = most;
        if (!limited || a->limit > most)
                a->limit = most;
}

void aimd_slower(struct aimd *a, int64_t now_ms)
{
        if (a->cut && now_ms - a->cut_ms < AIMD_HOLD_MS)
                return;
        a->cut = true;
        a->cut_ms = now_ms;
        a->limit = a->limit / 2 < 1 ? 1 : a->limit / 2;
}

void aimd_faster(struct aimd *a)
{
        if (a->limit < a->most)
                a->limit += 1 / a->limit;
        if (a->limit > a->most)
                a->limit = a->most;
}

unsigned aimd_limit(const struct aimd *a)
{
        return (unsigned)a->limit;
}

static int number(const char **p, uint64_t *out)
{
        char *end;
        if (!isdigit((unsigned char)**p))
                return -EINVAL;
        errno = 0;
        *out = strtoull(*p, &end, 10);
        *p = end;
        return errno ? -EINVAL : 0;
}

int content_range_parse(const char *text, uint64_t *first, uint64_t *last, uint64_t *total)
{
        if (strncmp(text, "bytes ", 6))
                return -EINVAL;
        text += 6;
        *first = 1;
        *last = 0;
        if (*text == '*')
                text++;
        else if (number(&text, first) || *text++ != '-' || number(&text, last) || *first > *last)
                return -EINVAL;
        if (*text++ != '/')
                return -EINVAL;
        if (!strcmp(text, "*")) {
                *total = UINT64_MAX;
                return 0;
        }
        if (number(&text, total) || *text || (*first <= *last && *last >= *total))
                return -EINVAL;
        return 0;
}
