/* SPDX-License-Identifier: Apache-2.0 */
/* http_int.h: what the files of the HTTP client share. */
#ifndef CKPTFS_STORE_HTTP_INT_H
#define CKPTFS_STORE_HTTP_INT_H

#include <curl/curl.h>
#include <pthread.h>

#include "store/http/http.h"
#include "store/http/inflight.h"
#include "store/http/worker_load.h"
#include "store/http/worker_pace.h"
#include "store/http/retry.h"

enum {
        HTTP_PLACES =
                8, /* exchanges at once in each lane but that of data, of a worker, at least */
        HTTP_HEADERS_MAX = 600,
        HTTP_ADDRESSES = 16,
        HTTP_USUAL = 16,
        HTTP_FLOWS = 64,           /* lists of what waits */
        HTTP_SIZES = 34,           /* powers of two */
        HTTP_REPLY_MAX = 64 << 10, /* bytes of reply headers that are kept */
        HTTP_LONG_MS = 1000        /* what takes longer holds up no other flow */
};

/* With a number of connections: as many as make it faster. */
#define HTTP_ADAPTS (1U << 31)

/* How much of a reply's head was read. */
struct http_head {
        int status; /* 0: nothing */
        bool ended; /* it came whole */
        bool coded; /* there is a Transfer-Encoding */
        bool has_length;
        uint64_t length;
        const char *wrong; /* why a line was not taken */
};

/* An easy handle with its buffers, used for one exchange after another. */
struct http_slot {
        CURL *easy;
        struct http_worker *w;
        struct http_req *rq; /* NULL while idle */
        struct http_slot *next;
        struct http_slot **prevp; /* in the list of those under way */
        enum http_lane lane;
        uint64_t body_off;
        int cb_err;
        bool used;   /* for an exchange */
        bool beside; /* begun although every place was taken */
        unsigned begun;
        int64_t begun_ms;
        int64_t sent_ns, replied_ns; /* when the last of the request went, the reply began */
        bool passed_by;              /* an address that is shunned */
        struct http_head head;       /* of the reply */
        /* At the last look that found progress: */
        curl_off_t moved;
        unsigned stage; /* the body was sent, the reply began */
        int64_t moved_ms;
        struct curl_slist headers[HTTP_HEADERS_MAX];
        char error[CURL_ERROR_SIZE];
};

/* An address that the store's name has had. */
struct http_address {
        char ip[46];
        int64_t shun_until_ms;
};

/* How long the last exchanges took. */
struct http_usual {
        unsigned ms[HTTP_USUAL], n;
};

/* Flows take turns, so that none waits behind all that another one has submitted. */
struct http_queue {
        uint64_t used; /* bit i: list i has some */
        unsigned turn; /* the list that was last */
        struct {
                struct http_req *head, **tail;
        } list[HTTP_FLOWS];
};

/* Fields up to `inbox` are set before the thread starts; the rest belongs to the thread. */
struct http_worker {
        struct http *h;
        pthread_t thread;
        int epfd, wakefd;
        CURLM *multi;
        CURLSH *share;          /* TLS sessions: else each slot would only resume its own */
        struct http_req *inbox; /* atomic: pushed by anyone, newest first */
        int sleeping;           /* atomic: wakefd has to be written */

        int64_t now_ms;
        int64_t stopped_ms;  /* for which the process did not run; or had nothing to do */
        int64_t curl_due_ms; /* -1: curl waits for nothing */
        int64_t look_ms;     /* next look of the watchdog */
        struct http_queue queue[HTTP_LANES];
        struct http_req *delayed; /* by due_ms */
        struct http_slot *idle[HTTP_LANES];
        struct http_slot *busy;
        unsigned nbusy[HTTP_LANES];
        unsigned nbeside[HTTP_LANES];             /* of them */
        unsigned nlong[HTTP_LANES];               /* of them, that took long at the last look */
        unsigned of_flow[HTTP_LANES][HTTP_FLOWS]; /* of them */
        unsigned slots;                           /* that there were */
        struct aimd aimd[HTTP_LANES];             /* what the store bears */
        struct http_address address[HTTP_ADDRESSES];
        unsigned address_turn;
        struct http_usual usual[2][HTTP_SIZES]; /* of reads and of writes, by size */
        double hedges;                          /* how many may be begun again now */
        unsigned order;                         /* of h->order, the last that was carried out */
        unsigned connections;                   /* of all workers, by that order */
        unsigned sharers;                       /* workers that it is divided by */
        bool adapt;                             /* as many data exchanges as make it faster */
        struct worker_pace pace;                /* what the worker can use */
        struct inflight inflight;               /* how many are fastest; with `adapt` */
        bool met_most;                          /* since the last look more waited at a moment */
        uint64_t data_bytes;                    /* of data exchanges that are over */
        unsigned data_ms;                       /* what one takes of late */
        int64_t inflight_look_ms;               /* the last look */
        int64_t rest_ms;                        /* since when nothing runs; 0: something does */
        unsigned shown, shown_most;             /* atomic: for http_stats() */
        int64_t cpu_ns;                         /* the first worker's: what this one had used */
};

struct http {
        struct http_config cfg;
        char *ca_bundle;
        unsigned nworkers;
        struct http_worker *workers;
        unsigned turn;           /* atomic */
        unsigned active;         /* atomic: the first so many workers take requests */
        struct worker_load load; /* the first worker's, who sets `active` */
        int64_t load_look_ms;    /* its last look */
        unsigned order;          /* atomic: counts http_set_connections() */
        unsigned wanted;         /* atomic: connections, maybe with HTTP_ADAPTS */
        unsigned asked;   /* the same before descriptors bound it; who sets it, one at a time */
        int stopping;     /* atomic */
        long outstanding; /* atomic: submitted, done() not yet over */
        struct http_stats stats; /* atomics */
};

/* http_watch.c: looks at the exchanges under way; what has to be known of one that ended. */
void http_watch(struct http_worker *w);
/* To be called after each sleep, before anything is said to have ended. */
void http_watch_woke(struct http_worker *w);
void http_watch_ended(struct http_slot *slot, int err);
/* For CURLOPT_OPENSOCKETFUNCTION: passes by addresses where exchanges stalled lately. */
curl_socket_t http_on_open(void *arg, curlsocktype purpose, struct curl_sockaddr *to);
void http_shun_none(struct http_worker *w);

/* http_inflight.c: how many data exchanges run at once. */
void http_inflight_init(struct http_worker *w, bool adapt);
/* Carries out http_set_connections(), and shares with as many workers as take requests. */
void http_inflight_obey(struct http_worker *w);
unsigned http_inflight_most(const struct http_worker *w);
/* Connections of all lanes that are worth keeping. */
unsigned http_inflight_connections(const struct http_worker *w);
void http_inflight_look(struct http_worker *w);
void http_inflight_ended(struct http_slot *slot, uint64_t bytes, int err);

/* http_load.c: how many workers take requests. */
void http_load_init(struct http *h);
unsigned http_load_active(const struct http *h);
/* What the thread used so far is looked at now and then; to be called by each worker. */
void http_load_look(struct http_worker *w);

/* http_worker.c */
void http_finish_slot(struct http_slot *slot, int err);
void *http_worker_main(void *arg);
void http_worker_wake(struct http_worker *w);
/* Frees the handles that do nothing. */
void http_worker_drop_idle(struct http_worker *w);

/* http.c: curl's own beginning, once a process. */
void http_init(void);

/* http_easy.c */
/* What holds for every exchange with anyone: protocols, TLS 1.2 at least, authorities. */
void http_easy_secure(CURL *e, const char *ca_bundle);
/* Who takes the body of the reply, and its headers. */
void http_easy_replies(CURL *e, curl_write_callback body, curl_write_callback header, void *arg);
/* Takes the next line of a reply's head, whose headers are "name\0value\0" each. 0, -ENOMEM, or
 * -EPROTO: h->wrong says why. */
int http_head_line(struct http_head *h, struct buf *headers, const char *line, size_t n);
int http_easy_errno(CURLcode rc); /* of one that is not CURLE_OK */
struct http_slot *http_slot_new(struct http_worker *w, enum http_lane lane);
void http_slot_free(struct http_slot *slot);
/* Makes the handle ready for slot->rq. 0 or -ENOMEM. */
int http_slot_setup(struct http_slot *slot);
/* The errno for a result, and slot->rq->error. */
int http_slot_result(struct http_slot *slot, CURLcode rc);

#endif
