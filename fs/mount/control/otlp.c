/* SPDX-License-Identifier: Apache-2.0 */
/* otlp.c: see otlp.h. */
#include "mount/control/otlp.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/params.h"
#include "mount/control/metrics_text.h"
#include "mount/control/otlp_headers.h"
#include "mount/control/otlp_json.h"
#include "mount/core/mount.h"
#include "mount/core/stats_log.h"
#include "store/http/http_once.h"

#include "base/banned.h"

enum {
        TRIES = 3,
        PAUSE_MS = 1000,
        EXPORT_MS = 10000,
        LAST_MS = 3000,
        HOLD_MAX_MS = 3600 * 1000 /* the longest that a collector may ask to be left alone for */
};
#define DEFAULT_PATH "/v1/metrics"

struct otlp {
        struct mount *m;
        char *url, *ca_bundle;
        struct buf headers; /* "Name: value" with its NUL, one behind the other; may hold a key */
        uint64_t interval_ms;
        uint64_t hold_ms; /* the collector asked to be left alone for so long */
        struct metrics_labels labels;
        pthread_t thread;
        bool fails; /* the last export did: said once */
        int stop;   /* ends an export under way */
        struct mutex mtx;
        pthread_cond_t wake;
        bool ends GUARDED_BY(&mtx);
};

/* --- one export --- */

static uint64_t wall_ns(void)
{
        struct timespec ts;
        clock_gettime(CLOCK_REALTIME, &ts);
        return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* "If the server disconnects without returning a response", or without this header, the client
 * backs off by itself (OTLP specification, "OTLP/HTTP Throttling"). */
static uint64_t hold_of(const struct http_once *x)
{
        uint64_t ms = (uint64_t)http_once_retry_after(&x->reply_headers) * 1000;
        return ms < HOLD_MAX_MS ? ms : HOLD_MAX_MS;
}

/* What went wrong with an export, and what to do about it. */
struct trouble {
        char why[512]; /* empty: nothing */
        const char *remedy;
};

static const char *remedy_of(int status)
{
        switch (status) {
        case 401:
        case 403:
                return "put the collector's key into OTEL_EXPORTER_OTLP_HEADERS and mount again";
        case 404:
        case 405:
                return "correct the URL; its usual path is " DEFAULT_PATH;
        case 429:
        case 502:
        case 503:
        case 504:
                return "see the collector's log; the next export has everything";
        default:
                return "see the collector's log, and whether the URL is that of OTLP over HTTP";
        }
}

/* 0: taken, if not all then `t` says so; 1: to be tried again; -1: not this way. */
static int post(struct otlp *o, const struct buf *body, unsigned timeout_ms, struct trouble *t)
{
        struct http_once x = {.method = "POST",
                              .url = o->url,
                              .headers = &o->headers,
                              .body = body,
                              .timeout_ms = timeout_ms,
                              .ca_bundle = o->ca_bundle,
                              .stop = &o->stop};
        int rc = 1;

        int err = http_once(&x);
        o->hold_ms = 0;
        if (err) {
                snprintf(t->why, sizeof t->why, "%s", *x.error ? x.error : strerror(-err));
                t->remedy = "start the collector or correct the URL; the next export has "
                            "everything";
        } else if (x.status >= 200 && x.status < 300) {
                otlp_read_partial(&x.reply, t->why, sizeof t->why);
                t->remedy = "see the collector's log and limits; it has what it took";
                rc = 0;
        } else {
                snprintf(t->why, sizeof t->why, "it says %d", x.status);
                t->remedy = remedy_of(x.status);
                rc = x.status == 429 || (x.status >= 502 && x.status <= 504) ? 1 : -1;
                if (rc > 0)
                        o->hold_ms = hold_of(&x);
        }
        buf_release(&x.reply);
        buf_release(&x.reply_headers);
        return rc;
}

/* Whether the end was asked for within that time. */
static bool ends_within(struct otlp *o, uint64_t ms)
{
        const struct timespec until = mutex_deadline(CLOCK_MONOTONIC, ms);

        mutex_lock(&o->mtx);
        while (!o->ends && mutex_timedwait(&o->wake, &o->mtx, &until) != ETIMEDOUT)
                ;
        bool ends = o->ends;
        mutex_unlock(&o->mtx);
        return ends;
}

/* The log has a line when it begins to fail, and when it goes on. */
static void tell(struct otlp *o, const struct trouble *t)
{
        if (*t->why && !o->fails)
                log_warn_of(LOG_ABOUT(.operation = "export", .remedy = t->remedy),
                            "metrics_otlp=%s: %s", o->url, t->why);
        if (!*t->why && o->fails)
                log_info("metrics_otlp=%s: the collector takes the metrics again", o->url);
        o->fails = *t->why != 0;
}

static void export(struct otlp *o, unsigned tries, unsigned timeout_ms)
{
        CLEANUP(buf_release) struct buf body = BUF_INIT;
        struct trouble t = {0};
        int rc = 1;

        stats_update(o->m);
        CLEANUP(freep)
        char *text = otlp_json(o->labels.v, o->labels.n, (uint64_t)o->m->mounted_ns, wall_ns());
        if (!text || buf_adds(&body, text)) {
                tell(o, &(struct trouble){.why = "there is no memory for the metrics",
                                          .remedy = "free some; the next export has everything"});
                return;
        }
        for (unsigned i = 0; rc > 0 && i < tries; i++) {
                if (o->hold_ms >= o->interval_ms)
                        break; /* the next export has it */
                if (i && ends_within(o, o->hold_ms ? o->hold_ms : (uint64_t)PAUSE_MS << (i - 1)))
                        return; /* the last one has it */
                *t.why = 0;
                rc = post(o, &body, timeout_ms, &t);
        }
        if (!__atomic_load_n(&o->stop, __ATOMIC_SEQ_CST))
                tell(o, &t);
}

static void *run(void *arg)
{
        struct otlp *o = arg;

        while (!ends_within(o, o->hold_ms > o->interval_ms ? o->hold_ms : o->interval_ms)) {
                o->hold_ms = 0;
                export(o, TRIES, EXPORT_MS);
        }
        __atomic_store_n(&o->stop, 0, __ATOMIC_SEQ_CST);
        o->hold_ms = 0;
        export(o, 1, LAST_MS);
        return NULL;
}

/* --- beginning and end --- */

static void otlp_free(struct otlp *o)
{
        metrics_labels_release(&o->labels);
        pthread_cond_destroy(&o->wake);
        mutex_destroy(&o->mtx);
        free(o->url);
        free(o->ca_bundle);
        if (o->headers.p)
                explicit_bzero(o->headers.p, o->headers.len);
        buf_release(&o->headers);
        free(o);
}

/* A URL without a path is that of the collector, as in OTEL_EXPORTER_OTLP_ENDPOINT. */
static char *whole_url(const char *given)
{
        const char *host = strstr(given, "://") + 3;
        size_t n = strcspn(host, "/");
        char *url = NULL;

        if (asprintf(&url, "%.*s%s", (int)(host + n - given), given,
                     host[n] && host[n + 1] ? host + n : DEFAULT_PATH) < 0)
                return NULL;
        return url;
}

static int add_headers(struct otlp *o, char *why, size_t nwhy)
{
        static const char type[] = "Content-Type: application/json";

        snprintf(why, nwhy, "no memory for the headers of metrics_otlp=");
        int err = buf_add(&o->headers, type, sizeof type);
        return err ? err : otlp_headers_add(&o->headers, why, nwhy);
}

static int start(struct otlp *o, char *why, size_t nwhy)
{
        const struct params *p = &o->m->params;
        const char *given = p->metrics_otlp;

        if ((strncmp(given, "http://", 7) != 0 && strncmp(given, "https://", 8) != 0) ||
            !strstr(given, "://")[3] || strpbrk(given, "@?#")) {
                /* which may be secret, and a log would show */
                snprintf(why, nwhy,
                         "metrics_otlp=%s: give the collector's URL, as http://127.0.0.1:4318",
                         strpbrk(given, "@?#") ? "(with a user or a query)" : given);
                return -EINVAL;
        }
        int err = metrics_labels_set(&o->labels, o->m->mountpoint, store_bucket(o->m->store),
                                     p->metrics_label, why, nwhy);
        if (err)
                return err;
        err = add_headers(o, why, nwhy);
        if (err)
                return err;
        o->url = whole_url(given);
        o->ca_bundle = *p->ca_bundle ? strdup(p->ca_bundle) : NULL;
        o->interval_ms = p->metrics_interval;
        err = !o->url || (*p->ca_bundle && !o->ca_bundle)
                      ? -ENOMEM
                      : -pthread_create(&o->thread, NULL, run, o);
        if (err)
                snprintf(why, nwhy, "metrics_otlp=%s: %s: free memory or threads", given,
                         strerror(-err));
        return err;
}

int otlp_start(struct mount *m, struct otlp **out, char *why, size_t nwhy)
{
        *out = NULL;
        if (!*m->params.metrics_otlp)
                return 0;
        struct otlp *o = calloc(1, sizeof *o);
        if (!o) {
                snprintf(why, nwhy, "no memory");
                return -ENOMEM;
        }
        o->m = m;
        o->headers = (struct buf)BUF_INIT;
        mutex_init(&o->mtx, LOCK_SYNC_WAIT);
        mutex_cond_init(&o->wake);
        int err = start(o, why, nwhy);
        if (err)
                otlp_free(o);
        else
                *out = o;
        return err;
}

void otlp_stop(struct otlp *o)
{
        if (!o)
                return;
        mutex_lock(&o->mtx);
        o->ends = true;
        __atomic_store_n(&o->stop, 1, __ATOMIC_SEQ_CST);
        pthread_cond_signal(&o->wake);
        mutex_unlock(&o->mtx);
        pthread_join(o->thread, NULL);
        otlp_free(o);
}
