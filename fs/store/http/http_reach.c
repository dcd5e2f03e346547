/* SPDX-License-Identifier: Apache-2.0 */
/* http_reach.c: which step of the way to a server fails, and how long each takes. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "store/http/http_int.h"

#include "base/banned.h"

enum { REACH_MS = 15000, REACH_CONNECT_MS = 10000 };

static size_t on_nothing(char *p, size_t size, size_t n, void *arg)
{
        (void)p;
        (void)arg;
        return size * n;
}

static size_t on_date(char *line, size_t size, size_t n, void *arg)
{
        struct http_reach *r = arg;
        char text[64];

        n *= size;
        if (n < 6 || strncasecmp(line, "date:", 5) != 0)
                return n;
        snprintf(text, sizeof text, "%.*s", (int)(n - 5), line + 5);
        time_t told = curl_getdate(text, NULL);
        r->has_clock = told > 0;
        r->clock_s = told - time(NULL);
        return n;
}

/* What was gone before the end has its time; a connection that waits for TLS has an address. */
static enum http_step step_of(CURLcode rc, const int64_t us[HTTP_STEPS], const struct http_reach *r)
{
        int err = http_easy_errno(rc);

        if (err == -EHOSTUNREACH || !us[HTTP_STEP_NAME])
                return HTTP_STEP_NAME;
        if (err == -EPROTO || rc == CURLE_SSL_CONNECT_ERROR)
                return HTTP_STEP_TLS;
        if (err == -ECONNREFUSED || !*r->address)
                return HTTP_STEP_CONNECT;
        return r->tls && !us[HTTP_STEP_TLS] ? HTTP_STEP_TLS : HTTP_STEP_REPLY;
}

static void read_times(CURL *e, int64_t us[HTTP_STEPS])
{
        static const CURLINFO infos[HTTP_STEPS] = {
                CURLINFO_NAMELOOKUP_TIME_T, CURLINFO_CONNECT_TIME_T, CURLINFO_APPCONNECT_TIME_T,
                CURLINFO_STARTTRANSFER_TIME_T};

        for (int i = 0; i < HTTP_STEPS; i++) {
                curl_off_t t = 0;
                curl_easy_getinfo(e, infos[i], &t);
                us[i] = t;
        }
}

static void set_options(CURL *e, const struct http *h, const char *url, struct http_reach *r,
                        char *error)
{
        curl_easy_setopt(e, CURLOPT_ERRORBUFFER, error);
        http_easy_secure(e, h->cfg.ca_bundle);
        http_easy_replies(e, on_nothing, on_date, r);
        curl_easy_setopt(e, CURLOPT_URL, url);
        curl_easy_setopt(e, CURLOPT_NOBODY, 1L);
        curl_easy_setopt(e, CURLOPT_TIMEOUT_MS, (long)REACH_MS);
        curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS, (long)REACH_CONNECT_MS);
        curl_easy_setopt(e, CURLOPT_PROXY, http_goes_direct(url) ? "" : NULL);
}

void http_reach(struct http *h, const char *url, struct http_reach *out)
{
        char error[CURL_ERROR_SIZE] = "";
        int64_t us[HTTP_STEPS] = {0}, before = 0;
        char *address = NULL;
        CURLcode rc = CURLE_OUT_OF_MEMORY;
        CURL *e = curl_easy_init();

        *out = (struct http_reach){.tls = !strncmp(url, "https:", 6)};
        if (e) {
                set_options(e, h, url, out, error);
                rc = curl_easy_perform(e);
                read_times(e, us);
                if (curl_easy_getinfo(e, CURLINFO_PRIMARY_IP, &address) == CURLE_OK && address)
                        snprintf(out->address, sizeof out->address, "%s", address);
                curl_easy_cleanup(e);
        }
        out->failed = rc == CURLE_OK ? HTTP_STEPS : step_of(rc, us, out);
        for (int i = 0; i < HTTP_STEPS; i++) {
                out->us[i] = us[i] > before ? (unsigned)(us[i] - before) : 0;
                before = us[i] > before ? us[i] : before;
        }
        if (rc != CURLE_OK)
                snprintf(out->error, sizeof out->error, "%s",
                         *error ? error : curl_easy_strerror(rc));
}
