/* SPDX-License-Identifier: Apache-2.0 */
/* script_door.c: what fake_s3.c and script_http.c stand in for alike (-Wl,--wrap): a door to HTTP
 * that has nothing to tell of its connections. */
#include <time.h>

#include "store/http/http.h"
#include "base/banned.h"

void __wrap_http_pace(struct http_req *rq, bool slower);
int64_t __wrap_http_running_ms(const struct http_req *rq);
void __wrap_http_stats(const struct http *h, struct http_stats *out);
unsigned __wrap_http_transfers_most(const struct http *h);
void __wrap_http_set_connections(struct http *h, unsigned connections, bool adapt);
void __wrap_http_reach(struct http *h, const char *url, struct http_reach *out);

enum { TRANSFERS_MOST = 4 };

void __wrap_http_pace(struct http_req *rq, bool slower)
{
        (void)rq, (void)slower;
}

int64_t __wrap_http_running_ms(const struct http_req *rq)
{
        struct timespec ts;

        (void)rq;
        clock_gettime(CLOCK_MONOTONIC, &ts);
        return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

void __wrap_http_stats(const struct http *h, struct http_stats *out)
{
        *out = (struct http_stats){.transfers_most = __wrap_http_transfers_most(h)};
}

unsigned __wrap_http_transfers_most(const struct http *h)
{
        (void)h;
        return TRANSFERS_MOST;
}

void __wrap_http_set_connections(struct http *h, unsigned connections, bool adapt)
{
        (void)h, (void)connections, (void)adapt;
}

void __wrap_http_reach(struct http *h, const char *url, struct http_reach *out)
{
        (void)h, (void)url;
        *out = (struct http_reach){.failed = HTTP_STEP_NAME};
}
