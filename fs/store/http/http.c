/* SPDX-License-Identifier: Apache-2.0 */
/* http.c: the pool of HTTP workers and the way in. The loop is http_worker.c, a single transfer
 * http_easy.c. */
#include "store/http/http_int.h"

#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/banned.h"

void http_req_init(struct http_req *rq)
{
        *rq = (struct http_req){.url = BUF_INIT, .headers = BUF_INIT, .reply = BUF_INIT};
}

void http_req_release(struct http_req *rq)
{
        buf_release(&rq->url);
        explicit_bzero(rq->headers.p, rq->headers.len); /* tokens are among them */
        buf_release(&rq->headers);
        buf_release(&rq->reply);
}

int http_header(struct http_req *rq, const char *name, const char *value)
{
        buf_adds(&rq->headers, name);
        if (!*value) /* curl takes "Name:" for "not this one" */
                return buf_add(&rq->headers, ";", 2);
        buf_adds(&rq->headers, ": ");
        return buf_add(&rq->headers, value, strlen(value) + 1);
}

bool http_reply_next(const struct http_req *rq, size_t *pos, const char **name, const char **value)
{
        if (*pos >= rq->reply.len)
                return false;
        *name = rq->reply.p + *pos;
        *value = *name + strlen(*name) + 1;
        *pos += strlen(*name) + strlen(*value) + 2;
        return true;
}

const char *http_reply_header(const struct http_req *rq, const char *name)
{
        const char *n, *v;
        for (size_t pos = 0; http_reply_next(rq, &pos, &n, &v);)
                if (!strcmp(n, name))
                        return v;
        return NULL;
}

static void init_curl(void)
{
        curl_global_init(CURL_GLOBAL_DEFAULT);
}

void http_init(void)
{
        static pthread_once_t once = PTHREAD_ONCE_INIT;
        pthread_once(&once, init_curl);
}

static void worker_release(struct http_worker *w)
{
        http_worker_drop_idle(w);
        if (w->multi)
                curl_multi_cleanup(w->multi);
        curl_share_cleanup(w->share);
        closep(&w->wakefd);
        closep(&w->epfd);
}

static int worker_start(struct http *h, struct http_worker *w)
{
        struct epoll_event ev = {.events = EPOLLIN, .data.fd = -1};

        *w = (struct http_worker){.h = h, .epfd = -1, .wakefd = -1, .curl_due_ms = -1};
        for (int lane = 0; lane < HTTP_LANES; lane++)
                for (int i = 0; i < HTTP_FLOWS; i++)
                        w->queue[lane].list[i].tail = &w->queue[lane].list[i].head;
        w->connections = h->cfg.connections;
        http_inflight_init(w, h->cfg.adapt);
        w->shown_most = http_inflight_most(w);
        w->epfd = epoll_create1(EPOLL_CLOEXEC);
        w->wakefd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        w->multi = curl_multi_init();
        w->share = curl_share_init();
        if (w->epfd < 0 || w->wakefd < 0 || !w->multi || !w->share ||
            curl_share_setopt(w->share, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION) ||
            epoll_ctl(w->epfd, EPOLL_CTL_ADD, w->wakefd, &ev) ||
            pthread_create(&w->thread, NULL, http_worker_main, w)) {
                worker_release(w);
                return -ENOMEM;
        }
        return 0;
}

void http_stop(struct http *h)
{
        __atomic_store_n(&h->stopping, 1, __ATOMIC_SEQ_CST);
        for (unsigned i = 0; i < h->nworkers; i++)
                http_worker_wake(&h->workers[i]);
}

static void stop_workers(struct http *h)
{
        http_stop(h);
        for (unsigned i = 0; i < h->nworkers; i++)
                pthread_join(h->workers[i].thread, NULL);
        for (unsigned i = 0; i < h->nworkers; i++)
                worker_release(&h->workers[i]);
}

/* A program may open 1,024 descriptors unless it asks for more, up to a limit that is much higher.
 */
static void raise_descriptors(struct http_config *cfg)
{
        enum { OTHERS = 512, PER_PLACE = 2 * HTTP_LANES }; /* one beside each */
        rlim_t others = (rlim_t)PER_PLACE * cfg->workers * HTTP_PLACES + OTHERS;
        rlim_t want = (rlim_t)PER_PLACE * cfg->connections + others;
        struct rlimit r;

        if (getrlimit(RLIMIT_NOFILE, &r) || r.rlim_cur >= want)
                return;
        r.rlim_cur = r.rlim_max < want ? r.rlim_max : want;
        if (!setrlimit(RLIMIT_NOFILE, &r) && r.rlim_cur >= want)
                return;
        if (cfg->by_load && others > r.rlim_cur / 2) { /* fewer threads rather than connections */
                cfg->workers = 1;
                others = (rlim_t)PER_PLACE * HTTP_PLACES + OTHERS;
        }
        if (cfg->adapt) {
                rlim_t fit = r.rlim_cur > others ? (r.rlim_cur - others) / PER_PLACE : 0;
                cfg->connections = fit < cfg->workers ? cfg->workers : (unsigned)fit;
                return;
        }
        log_warn_of(LOG_ABOUT(.operation = "mount",
                              .remedy = "raise the limit (ulimit -Hn, LimitNOFILE=), or give fewer "
                                        "connections"),
                    "connections=%u may need %llu descriptors, and %llu are allowed",
                    cfg->connections, (unsigned long long)want, (unsigned long long)r.rlim_cur);
}

static unsigned number_of(const struct http_config *cfg)
{
        return cfg->connections | (cfg->adapt ? HTTP_ADAPTS : 0);
}

/* What a worker has found out about the best number stands unless another is asked for. */
void http_set_connections(struct http *h, unsigned connections, bool adapt)
{
        struct http_config cfg = h->cfg;

        cfg.connections = connections;
        cfg.adapt = adapt;
        if (number_of(&cfg) == h->asked)
                return;
        h->asked = number_of(&cfg);
        raise_descriptors(&cfg);
        __atomic_store_n(&h->wanted, number_of(&cfg), __ATOMIC_RELAXED);
        __atomic_add_fetch(&h->order, 1, __ATOMIC_SEQ_CST);
        for (unsigned i = 0; i < h->nworkers; i++)
                http_worker_wake(&h->workers[i]);
}

int http_open(const struct http_config *cfg, struct http **out, char *why, size_t nwhy)
{
        http_init();
        if (cfg->ca_bundle && access(cfg->ca_bundle, R_OK)) {
                int err = -errno;
                snprintf(why, nwhy, "ca_bundle %s cannot be read: %s; name a readable PEM file",
                         cfg->ca_bundle, strerror(errno));
                return err;
        }
        struct http *h = calloc(1, sizeof *h);
        if (!h)
                goto nomem;
        h->cfg = *cfg;
        h->asked = number_of(cfg);
        raise_descriptors(&h->cfg);
        h->cfg.ca_bundle = h->ca_bundle = cfg->ca_bundle ? strdup(cfg->ca_bundle) : NULL;
        h->workers = calloc(h->cfg.workers, sizeof *h->workers);
        if (!h->workers || (cfg->ca_bundle && !h->ca_bundle))
                goto nomem;
        /* Of those that there will be some take requests; stop_workers() ends those there are. */
        h->nworkers = h->cfg.workers;
        http_load_init(h);
        for (unsigned i = 0; i < h->cfg.workers; i++)
                if (worker_start(h, &h->workers[i])) {
                        h->nworkers = i;
                        stop_workers(h);
                        goto nomem;
                }
        *out = h;
        return 0;
nomem:
        if (h) {
                free(h->workers);
                free(h->ca_bundle);
                free(h);
        }
        snprintf(why, nwhy,
                 "no memory, threads or descriptors for the connections: end another program");
        return -ENOMEM;
}

void http_close(struct http *h)
{
        if (!h)
                return;
        stop_workers(h);
        free(h->workers);
        free(h->ca_bundle);
        free(h);
}

int http_submit(struct http *h, struct http_req *rq)
{
        /* Counted before the look at `stopping`: a worker ends only when it has seen both
         * "stopping" and nothing outstanding, so what is pushed here is always taken. */
        __atomic_add_fetch(&h->outstanding, 1, __ATOMIC_SEQ_CST);
        if (__atomic_load_n(&h->stopping, __ATOMIC_SEQ_CST)) {
                if (!__atomic_sub_fetch(&h->outstanding, 1, __ATOMIC_SEQ_CST))
                        for (unsigned i = 0; i < h->nworkers; i++)
                                http_worker_wake(&h->workers[i]);
                return -ESHUTDOWN;
        }
        if (!rq->worker) {
                unsigned turn = __atomic_fetch_add(&h->turn, 1, __ATOMIC_RELAXED);
                rq->worker = &h->workers[turn % http_load_active(h)];
        }
        struct http_worker *w = rq->worker;
        struct http_req *old = __atomic_load_n(&w->inbox, __ATOMIC_RELAXED);
        do
                rq->next = old;
        while (!__atomic_compare_exchange_n(&w->inbox, &old, rq, true, __ATOMIC_SEQ_CST,
                                            __ATOMIC_RELAXED));
        if (__atomic_exchange_n(&w->sleeping, 0, __ATOMIC_SEQ_CST))
                http_worker_wake(w);
        return 0;
}

void http_pace(struct http_req *rq, bool slower)
{
        struct http_worker *w = rq->worker;
        if (rq->lane == HTTP_DATA && w->adapt) {
                if (slower)
                        inflight_refused(&w->inflight, w->now_ms);
                return;
        }
        if (slower)
                aimd_slower(&w->aimd[rq->lane], w->now_ms);
        else
                aimd_faster(&w->aimd[rq->lane]);
}

void http_stats(const struct http *h, struct http_stats *out)
{
        out->requests = __atomic_load_n(&h->stats.requests, __ATOMIC_RELAXED);
        out->bytes_sent = __atomic_load_n(&h->stats.bytes_sent, __ATOMIC_RELAXED);
        out->bytes_received = __atomic_load_n(&h->stats.bytes_received, __ATOMIC_RELAXED);
        out->connections_opened = __atomic_load_n(&h->stats.connections_opened, __ATOMIC_RELAXED);
        out->transfers = 0;
        for (unsigned i = 0; i < h->nworkers; i++)
                out->transfers += __atomic_load_n(&h->workers[i].shown, __ATOMIC_RELAXED);
        out->transfers_most = http_transfers_most(h);
}

unsigned http_transfers_most(const struct http *h)
{
        unsigned n = 0, active = http_load_active(h);

        for (unsigned i = 0; i < active; i++)
                n += __atomic_load_n(&h->workers[i].shown_most, __ATOMIC_RELAXED);
        return n;
}

void http_library(char *out, size_t n)
{
        const curl_version_info_data *v = curl_version_info(CURLVERSION_NOW);
        snprintf(out, n, "%s, %s", v->version, v->ssl_version ? v->ssl_version : "no TLS");
}
