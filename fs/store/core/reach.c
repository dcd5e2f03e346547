/* SPDX-License-Identifier: Apache-2.0 */
/* reach.c: the way to the server, step by step. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "store/core/store_int.h"

#include "base/banned.h"

_Static_assert((int)STORE_STEPS == (int)HTTP_STEPS && (int)STORE_STEP_TLS == (int)HTTP_STEP_TLS,
               "the steps of the store are those of its transport");

int store_reach(struct store *s, struct store_reach *out)
{
        CLEANUP(buf_release) struct buf url = BUF_INIT;
        struct http_reach r;

        s->ops->server(s->kind, &url);
        if (url.failed)
                return -ENOMEM;
        http_reach(s->http, url.p, &r);
        *out = (struct store_reach){
                .proxy = http_goes_direct(url.p) ? NULL : http_proxy_variable(url.p),
                .failed = (enum store_step)r.failed,
                .tls = r.tls,
                .has_clock = r.has_clock,
                .clock_s = r.clock_s,
        };
        memcpy(out->us, r.us, sizeof out->us);
        snprintf(out->server, sizeof out->server, "%s", url.p);
        snprintf(out->address, sizeof out->address, "%s", r.address);
        snprintf(out->why, sizeof out->why, "%s", r.error);
        return 0;
}
