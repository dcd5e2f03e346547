/* SPDX-License-Identifier: Apache-2.0 */
/* script_socket.c: what script_http.h says, with the real HTTP door and libcurl on real sockets.
 *
 * The linker puts some functions of this file in the place of the system's (-Wl,--wrap). The door's
 * one thread sleeps in epoll_wait(), and there the server acts in its stead (script_peer.h): first
 * all that moves by itself, then what is next in the script, then time goes on to what the door
 * waits for. So an input takes no time of its own, and is the same each time. Sockets are pairs
 * within the process: ports are not used up, and nothing else is reached. */
#include <netinet/in.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/text/digits.h"
#include "store/http/http_int.h"
#include "tests/fuzz/script_http.h"
#include "tests/fuzz/script_peer.h"
#include "base/banned.h"

int __real_http_open(const struct http_config *cfg, struct http **out, char *why, size_t nwhy);
void __real_http_close(struct http *h);
int __real_http_submit(struct http *h, struct http_req *rq);
int __real_epoll_wait(int epfd, struct epoll_event *ev, int most, int timeout_ms);
int __real_clock_gettime(clockid_t id, struct timespec *ts);
time_t __real_time(time_t *t);
int __wrap_http_open(const struct http_config *cfg, struct http **out, char *why, size_t nwhy);
void __wrap_http_close(struct http *h);
int __wrap_http_submit(struct http *h, struct http_req *rq);
int __wrap_epoll_wait(int epfd, struct epoll_event *ev, int most, int timeout_ms);
int __wrap_clock_gettime(clockid_t id, struct timespec *ts);
time_t __wrap_time(time_t *t);
ssize_t __wrap_getrandom(void *p, size_t n, unsigned flags);
int __wrap_socket(int domain, int type, int protocol);
int __real_pthread_create(pthread_t *t, const pthread_attr_t *attr, void *(*run)(void *),
                          void *arg);
int __real_pthread_join(pthread_t t, void **result);
int __wrap_pthread_create(pthread_t *t, const pthread_attr_t *attr, void *(*run)(void *),
                          void *arg);
int __wrap_pthread_join(pthread_t t, void **result);
CURLcode __real_curl_easy_setopt(CURL *e, CURLoption option, ...);
CURLcode __wrap_curl_easy_setopt(CURL *e, CURLoption option, ...);

enum {
        PATIENCE_S = 15,      /* of the real clock, for a thread that does not come back */
        STEPS_MAX = 200000,   /* sleeps of the door for an operation */
        SCRIPTED_MS = 60000,  /* that an operation may take, */
        FOR_REPLY_MS = 10000, /* and for each reply */
        SERVER_PORT = 9000,
        BUFFER = 16 << 10,    /* curl takes no smaller one to send from */
        BEGINS_S = 1767225600 /* 2026-01-01 */
};
#define NS_PER_S  INT64_C(1000000000)
#define NS_PER_MS INT64_C(1000000)

/* The door's thread acts while `runs`, else the target's does. */
static struct {
        pthread_mutex_t mtx;
        pthread_cond_t cond;
        pthread_t target;
        pthread_t thread; /* the door's, with `has_thread` */
        bool has_thread;
        struct http_worker *worker; /* whose loop it runs */
        struct http *h;
        bool open, runs, closes;
        int64_t now_ns, since_ns;
        unsigned steps, replies;
        uint64_t chance;
} door = {.mtx = PTHREAD_MUTEX_INITIALIZER, .cond = PTHREAD_COND_INITIALIZER};

/* --- time and chance --- */

/* The fuzzer's own clock is the real one. */
static bool is_scripted(void)
{
        return door.open && !pthread_equal(pthread_self(), door.target);
}

int __wrap_clock_gettime(clockid_t id, struct timespec *ts)
{
        if (!is_scripted())
                return __real_clock_gettime(id, ts);
        *ts = (struct timespec){.tv_sec = BEGINS_S + door.now_ns / NS_PER_S,
                                .tv_nsec = door.now_ns % NS_PER_S};
        return 0;
}

time_t __wrap_time(time_t *t)
{
        (void)t;
        return is_scripted() ? BEGINS_S + door.now_ns / NS_PER_S : __real_time(NULL);
}

ssize_t __wrap_getrandom(void *p, size_t n, unsigned flags)
{
        (void)flags;
        for (size_t i = 0; i < n; i++) {
                door.chance = door.chance * 6364136223846793005U + 1442695040888963407U;
                ((uint8_t *)p)[i] = (uint8_t)(door.chance >> 56);
        }
        return (ssize_t)n;
}

/* --- sockets --- */

/* Small buffers cost less to make, and replies come in more pieces. */
CURLcode __wrap_curl_easy_setopt(CURL *e, CURLoption option, ...)
{
        va_list args;
        CURLcode rc;

        va_start(args, option);
        if (option == CURLOPT_BUFFERSIZE || option == CURLOPT_UPLOAD_BUFFERSIZE)
                rc = __real_curl_easy_setopt(e, option, (long)BUFFER);
        else if (option < CURLOPTTYPE_OBJECTPOINT)
                rc = __real_curl_easy_setopt(e, option, va_arg(args, long));
        else if (option >= CURLOPTTYPE_OFF_T && option < CURLOPTTYPE_BLOB)
                rc = __real_curl_easy_setopt(e, option, va_arg(args, curl_off_t));
        else
                rc = __real_curl_easy_setopt(e, option, va_arg(args, void *));
        va_end(args);
        return rc;
}

int __wrap_socket(int domain, int type, int protocol)
{
        (void)domain, (void)type, (void)protocol;
        return peer_connect();
}

/* These two stand in the place of the C library's, which libcurl would call. A pair is connected,
 * and to libcurl it is a connection to an address: others are not used again. */
int connect(int fd, __CONST_SOCKADDR_ARG to, socklen_t n)
{
        (void)fd, (void)to, (void)n;
        return 0;
}

int getpeername(int fd, __SOCKADDR_ARG to, socklen_t *n)
{
        const struct sockaddr_in server = {.sin_family = AF_INET,
                                           .sin_port = htons(SERVER_PORT),
                                           .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        (void)fd;
        memcpy(to.__sockaddr__, &server, sizeof server);
        *n = sizeof server;
        return 0;
}

/* --- exchanges --- */

/* What an exchange was to call; the door calls data() and done(), which look at what it does. */
static struct watched {
        struct http_req *rq; /* NULL: free */
        int (*data)(struct http_req *rq, const void *p, size_t n);
        void (*done)(struct http_req *rq, int err);
        uint64_t got;
} watched[64];

/* NULL: one that is free. */
static struct watched *find(const struct http_req *rq)
{
        for (size_t i = 0; i < sizeof watched / sizeof *watched; i++)
                if (watched[i].rq == rq)
                        return &watched[i];
        abort();
}

static int data(struct http_req *rq, const void *p, size_t n)
{
        struct watched *x = find(rq);

        if (!p || !rq->status)
                abort();
        x->got += n;
        return x->data(rq, p, n);
}

/* Whether the bytes that came are as many as the reply said. */
static bool is_whole(const struct http_req *rq, uint64_t got)
{
        const char *name, *value;
        uint64_t said, all = UINT64_MAX;

        if (rq->method == HTTP_HEAD)
                return !got;
        if (rq->status == 204 || rq->status == 304)
                return true; /* have no body, but libcurl takes chunks that come all the same */
        for (size_t pos = 0; http_reply_next(rq, &pos, &name, &value);) {
                if (!strcmp(name, "transfer-encoding"))
                        return true;
                if (strcmp(name, "content-length") != 0)
                        continue;
                if (digits_parse(value, &said) || (all != UINT64_MAX && all != said))
                        return true;
                all = said;
        }
        return all == UINT64_MAX || got == all;
}

static void done(struct http_req *rq, int err)
{
        struct watched *x = find(rq);
        uint64_t got = x->got;

        if (err > 0 || (!err && (!rq->status || !is_whole(rq, got))))
                abort();
        rq->data = x->data;
        rq->done = x->done;
        x->rq = NULL;
        rq->done(rq, err);
}

int __wrap_http_submit(struct http *h, struct http_req *rq)
{
        struct watched *x = find(NULL);

        *x = (struct watched){.rq = rq, .data = rq->data, .done = rq->done};
        rq->data = data;
        rq->done = done;
        int err = __real_http_submit(h, rq);
        if (err) { /* it is still the caller's */
                rq->data = x->data;
                rq->done = x->done;
                x->rq = NULL;
        }
        return err;
}

/* --- the door's thread --- */

/* One thread for every door there is: to begin one takes a third of the time of an input. */
static void *run_workers(void *arg)
{
        pthread_mutex_lock(&door.mtx);
        for (;;) {
                while (!door.worker)
                        pthread_cond_wait(&door.cond, &door.mtx);
                pthread_mutex_unlock(&door.mtx);
                http_worker_main(door.worker);
                pthread_mutex_lock(&door.mtx);
                door.worker = NULL;
                pthread_cond_broadcast(&door.cond);
        }
        return arg;
}

int __wrap_pthread_create(pthread_t *t, const pthread_attr_t *attr, void *(*run)(void *), void *arg)
{
        if (run != http_worker_main)
                return __real_pthread_create(t, attr, run, arg);
        if (!door.has_thread && __real_pthread_create(&door.thread, NULL, run_workers, NULL))
                abort();
        door.has_thread = true;
        pthread_mutex_lock(&door.mtx);
        door.worker = arg;
        *t = door.thread;
        pthread_cond_broadcast(&door.cond);
        pthread_mutex_unlock(&door.mtx);
        return 0;
}

int __wrap_pthread_join(pthread_t t, void **result)
{
        if (!door.has_thread || !pthread_equal(t, door.thread))
                return __real_pthread_join(t, result);
        pthread_mutex_lock(&door.mtx);
        while (door.worker)
                pthread_cond_wait(&door.cond, &door.mtx);
        pthread_mutex_unlock(&door.mtx);
        return 0;
}

/* Tells the target that nothing is left to do, and waits for more. */
static void rest_locked(void)
{
        door.runs = false;
        pthread_cond_broadcast(&door.cond);
        while (!door.runs && !door.closes)
                pthread_cond_wait(&door.cond, &door.mtx);
}

/* Nothing moves until a time is over. What is waited for without one never comes. */
static int pass_time(int timeout_ms)
{
        int64_t most_ms = SCRIPTED_MS + (int64_t)FOR_REPLY_MS * (peer_replies() - door.replies);

        if (timeout_ms < 0)
                abort();
        door.now_ns += (timeout_ms ? timeout_ms : 1) * NS_PER_MS;
        if (door.now_ns - door.since_ns > most_ms * NS_PER_MS)
                abort();
        return 0;
}

int __wrap_epoll_wait(int epfd, struct epoll_event *ev, int most, int timeout_ms)
{
        int n = 0;

        pthread_mutex_lock(&door.mtx);
        if (!door.runs && !door.closes)
                rest_locked();
        for (;;) {
                if (++door.steps > STEPS_MAX)
                        abort();
                n = __real_epoll_wait(epfd, ev, most, 0);
                if (n || !timeout_ms || door.closes)
                        break;
                if (peer_moves() || peer_goes_on())
                        continue;
                if (__atomic_load_n(&door.h->outstanding, __ATOMIC_SEQ_CST)) {
                        n = pass_time(timeout_ms);
                        break;
                }
                rest_locked();
        }
        pthread_mutex_unlock(&door.mtx);
        return n;
}

/* --- the target's --- */

void script_begin(const uint8_t *p, size_t n)
{
        peer_begin(p, n);
}

bool script_is_over(void)
{
        return peer_is_over();
}

void script_run(void)
{
        struct timespec till;
        int err = 0;

        __real_clock_gettime(CLOCK_REALTIME, &till);
        till.tv_sec += PATIENCE_S;
        pthread_mutex_lock(&door.mtx);
        door.steps = 0;
        door.since_ns = door.now_ns;
        door.replies = peer_replies();
        door.runs = true;
        pthread_cond_broadcast(&door.cond);
        while (door.runs && !err)
                err = pthread_cond_timedwait(&door.cond, &door.mtx, &till);
        if (err)
                abort();
        pthread_mutex_unlock(&door.mtx);
}

int __wrap_http_open(const struct http_config *cfg, struct http **out, char *why, size_t nwhy)
{
        peer_begin(NULL, 0);
        door.target = pthread_self();
        door.now_ns = 0;
        door.chance = 1;
        door.runs = door.closes = false;
        door.open = true;
        if (__real_http_open(cfg, out, why, nwhy))
                abort();
        door.h = *out;
        return 0;
}

/* Nothing that was opened may stay behind. */
void __wrap_http_close(struct http *h)
{
        pthread_mutex_lock(&door.mtx);
        door.closes = true;
        pthread_cond_broadcast(&door.cond);
        pthread_mutex_unlock(&door.mtx);
        __real_http_close(h);
        door.open = false;
        if (!peer_end())
                abort();
        for (size_t i = 0; i < sizeof watched / sizeof *watched; i++)
                if (watched[i].rq)
                        abort();
}
