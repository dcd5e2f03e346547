/* SPDX-License-Identifier: Apache-2.0 */
/* http.h: HTTP/1.1 exchanges over many kept connections, on a few I/O threads.
 *
 * libcurl is used in http*.c and nowhere else. An exchange (struct http_req) is the caller's
 * memory from http_submit() until its done() begins; in done() it is the caller's again, to free or
 * to submit once more. Every callback runs on the exchange's worker and must not block. Data
 * exchanges wait in a queue while as many as allowed are under way, and flows take turns;
 * the other lanes have a few places of their own, so that nothing short waits behind the data. */
#ifndef CKPTFS_STORE_HTTP_H
#define CKPTFS_STORE_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct http;

struct http_config {
        unsigned connections;      /* data exchanges at once, at most */
        bool adapt;                /* as many of these as make it faster; else all */
        unsigned workers;          /* at most */
        bool by_load;              /* as many of these as the load needs; else all */
        unsigned stall_timeout_ms; /* with next to no byte moved */
        unsigned connect_timeout_ms;
        unsigned connection_age_ms; /* older ones take no exchange; whole seconds, at least one */
        unsigned rest_ms;           /* after which connections that nobody uses are closed */
        const char *ca_bundle;      /* PEM file, in place of the system's; NULL: those */
};

enum http_method { HTTP_GET, HTTP_HEAD, HTTP_PUT, HTTP_POST, HTTP_PATCH, HTTP_DELETE };
enum http_lane {
        HTTP_DATA,
        HTTP_META,
        HTTP_WORK, /* the server copies or assembles, which takes its time */
        HTTP_LANES
};

struct http_req {
        /* The caller's, set before http_submit(). prepare() runs right before the exchange begins,
         * as late as can be because a signature holds the time; it may set everything from
         * `method` to `once`. A negative errno from it ends the exchange. */
        enum http_lane lane;
        uint32_t flow;         /* exchanges of one flow are first come, first served */
        bool fresh;            /* on a new connection */
        unsigned delay_ms;     /* begin no sooner */
        unsigned stall_min_ms; /* at least this long a silence is borne: the server works */
        unsigned stall_max_ms; /* but no longer than this; 0: no such bound */
        uint64_t again_bytes;  /* not 0: it may be begun again at any time; about so many move */
        int (*prepare)(struct http_req *rq);
        enum http_method method;
        struct buf url;
        struct buf headers; /* to send: "Name: value" with its NUL, one behind the other */
        int (*body_read)(void *arg, uint64_t off, void *dst, size_t len);
        void *body_arg;
        uint64_t body_len; /* of PUT, POST and PATCH */
        bool once;         /* -ECONNRESET rather than to be sent again by curl */
        /* Takes the next bytes of the reply's body; status and reply headers are there. A negative
         * errno ends the exchange. */
        int (*data)(struct http_req *rq, const void *p, size_t n);
        /* The exchange is over: 0 when a whole reply came, whatever its status; else
         *   what prepare(), body_read() or data() returned (by_callback is set)
         *   -EHOSTUNREACH  no such host        -ECONNREFUSED  no connection
         *   -EINTR         much slower than others of its size (once): begin it again, `fresh`
         *   -EPROTO        TLS: not trusted    -ETIMEDOUT     stalled, or too slow to connect
         *   -ECONNRESET    broken off          -ECANCELED     http_close() */
        void (*done)(struct http_req *rq, int err);

        /* The reply, readable in data() and done(). */
        int status;       /* 0: none came */
        struct buf reply; /* headers: "name\0value\0" pairs, names in lower case */
        bool by_callback;
        bool resent; /* begun more than once: the server may have acted on it before */
        bool hedged; /* done() has had -EINTR */
        bool sent;   /* there was a connection for it: the server may have had it */
        /* From its begin, or of one with a body from the end of that, to the first byte of the
         * reply (0: none came), and from its begin to the end. */
        int64_t first_byte_ns, whole_ns;
        unsigned silent_ms; /* how long next to nothing moved before -ETIMEDOUT */
        char error[256];    /* what the transport says of err, "" when nothing */

        /* http.c's own */
        struct http_req *next;
        struct http_worker *worker;
        struct http_slot *slot;
        int64_t due_ms;
};

void http_req_init(struct http_req *rq);
void http_req_release(struct http_req *rq);

/* 0 or a negative errno with one line in `why`. */
int http_open(const struct http_config *cfg, struct http **out, char *why, size_t nwhy);

/* Ends all exchanges with -ECANCELED, soon; from now on http_submit() gives -ESHUTDOWN. Does not
 * wait. */
void http_stop(struct http *h);

/* Ends all exchanges with -ECANCELED, waits for their done() and for the threads, frees. While it
 * runs http_submit() gives -ESHUTDOWN. */
void http_close(struct http *h);

/* Another number of data exchanges at once from now on, as in the configuration; by one
 * caller at a time. Does not block. */
void http_set_connections(struct http *h, unsigned connections, bool adapt);

/* Queues an exchange; thread-safe. An exchange that is submitted again stays with its worker. 0,
 * or -ESHUTDOWN and done() will not run. */
int http_submit(struct http *h, struct http_req *rq);

/* From done() of an exchange: the server asked to go slower (fewer of the lane run at once), or all
 * is well (adds some again, up to the number configured). */
void http_pace(struct http_req *rq, bool slower);

/* From done() or prepare() of an exchange: a clock that stands still while this process is stopped
 * (SIGSTOP, a machine that stands still). */
int64_t http_running_ms(const struct http_req *rq);

/* The value of a reply header (its name in lower case), or NULL. */
const char *http_reply_header(const struct http_req *rq, const char *name);
/* Walks the reply headers; *pos starts at 0. False after the last. */
bool http_reply_next(const struct http_req *rq, size_t *pos, const char **name, const char **value);

/* Appends a header to send. 0 or -ENOMEM. */
int http_header(struct http_req *rq, const char *name, const char *value);

/* The host of a URL, in lower case, without port and brackets. 0, or -EINVAL: none that fits. */
int http_url_host(const char *url, char *out, size_t n);
/* Whether a URL's host is this machine, by name or number. */
bool http_on_this_machine(const char *url);
/* Whether no proxy of the environment is meant for it: this machine, and metadata servers. */
bool http_goes_direct(const char *url);

/* The variable that may name a proxy for this URL; NULL when none does. no_proxy is not looked at.
 */
const char *http_proxy_variable(const char *url);

struct http_stats {
        uint64_t requests, bytes_sent, bytes_received, connections_opened;
        unsigned transfers, transfers_most; /* data exchanges: under way, and how many may be */
};
void http_stats(const struct http *h, struct http_stats *out);
unsigned http_transfers_most(const struct http *h); /* that of the statistics */

/* A way to the server of a URL, gone step by step on a connection of its own. */
enum http_step { HTTP_STEP_NAME, HTTP_STEP_CONNECT, HTTP_STEP_TLS, HTTP_STEP_REPLY, HTTP_STEPS };
struct http_reach {
        enum http_step failed;   /* HTTP_STEPS: none */
        unsigned us[HTTP_STEPS]; /* what each took that was gone */
        bool tls;                /* there is that step */
        char address[46];        /* of the server, or of the proxy before it; "" none */
        int64_t clock_s;         /* the server's clock less ours, where has_clock */
        bool has_clock;
        char error[256]; /* what the transport says, "" when nothing */
};
/* Asks for nothing but headers, without credentials. Blocks for a quarter of a minute at most. */
void http_reach(struct http *h, const char *url, struct http_reach *out);

/* Version of the library that runs, and of what it does TLS with. */
void http_library(char *out, size_t n);

#endif
