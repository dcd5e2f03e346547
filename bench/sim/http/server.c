/* SPDX-License-Identifier: Apache-2.0 */
/* server.c: see server.h. */
#include "bench/sim/http/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mutex.h"
#include "base/log.h"
#include "base/text/digits.h"
#include "bench/sim/http/conn.h"
#include "base/banned.h"

#define IDLE_NS  120000000000ULL /* a connection on which nothing moves for so long is closed */
#define TICK_NS  1000000000ULL   /* how often that is looked at */
#define RETRY_NS 50000000ULL     /* until accepting is tried again at the cap */

enum { EVENTS = 64, INBOX = 256, SHAPED_BUFFER = 256 << 10 };

struct loop {
        struct server *server;
        pthread_t thread;
        int epoll, wake; /* wake: eventfd */
        struct {
                struct mutex mtx;
                int fds[INBOX] GUARDED_BY(&mtx); /* accepted for this loop */
                unsigned n GUARDED_BY(&mtx);
        } inbox;
        struct { /* of the loop's thread */
                struct conn *conns;
                char *scratch;
                uint64_t next_tick_ns;
                bool listening; /* loop 0 */
        } own;
};

struct server {
        struct server_config cfg;
        int listener;
        atomic_bool stop;
        atomic_uint conns;
        unsigned next_loop; /* of loop 0's thread */
        unsigned nstarted;
        char address[64];
        struct loop loops[];
};

/* --- one loop --- */

static void loop_remove(struct loop *l, struct conn *c, bool reset)
{
        if (reset) {
                struct linger abort = {.l_onoff = 1, .l_linger = 0};
                setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &abort, sizeof abort);
        }
        if (c->prev)
                c->prev->next = c->next;
        else
                l->own.conns = c->next;
        if (c->next)
                c->next->prev = c->prev;
        conn_free(c);
        atomic_fetch_sub(&l->server->conns, 1);
}

static void loop_run_conn(struct loop *l, struct conn *c)
{
        enum step step = conn_run(c, clock_ns());
        uint32_t want = step == STEP_IN ? EPOLLIN : step == STEP_OUT ? EPOLLOUT : 0;

        if (step == STEP_CLOSE || step == STEP_RESET) {
                loop_remove(l, c, step == STEP_RESET);
                return;
        }
        if (step == STEP_PAUSE && !c->wake_ns)
                c->wake_ns = 1;
        if (want == c->armed)
                return;
        struct epoll_event ev = {.events = want, .data.ptr = c};
        if (epoll_ctl(l->epoll, EPOLL_CTL_MOD, c->fd, &ev))
                loop_remove(l, c, false);
        else
                c->armed = want;
}

static void loop_add(struct loop *l, int fd)
{
        struct server *s = l->server;
        struct conn *c = conn_new(&s->cfg, fd, l->own.scratch);

        if (!c) {
                atomic_fetch_sub(&s->conns, 1);
                return;
        }
        c->next = l->own.conns;
        if (c->next)
                c->next->prev = c;
        l->own.conns = c;
        struct epoll_event ev = {.events = EPOLLIN, .data.ptr = c};
        c->armed = EPOLLIN;
        if (epoll_ctl(l->epoll, EPOLL_CTL_ADD, fd, &ev))
                loop_remove(l, c, false);
}

static void drain_inbox(struct loop *l)
{
        int fds[INBOX];
        uint64_t count;
        ssize_t k = read(l->wake, &count, sizeof count);

        (void)k;
        mutex_lock(&l->inbox.mtx);
        unsigned n = l->inbox.n;
        memcpy(fds, l->inbox.fds, n * sizeof *fds);
        l->inbox.n = 0;
        mutex_unlock(&l->inbox.mtx);
        for (unsigned i = 0; i < n; i++)
                loop_add(l, fds[i]);
}

static void wake_loop(struct loop *l)
{
        uint64_t one = 1;
        ssize_t k = write(l->wake, &one, sizeof one);

        (void)k; /* full: it is awake */
}

/* Gives a descriptor to the loop; false when its inbox is full. */
static bool post(struct loop *l, int fd)
{
        mutex_lock(&l->inbox.mtx);
        bool fits = l->inbox.n < INBOX;
        if (fits)
                l->inbox.fds[l->inbox.n++] = fd;
        mutex_unlock(&l->inbox.mtx);
        if (fits)
                wake_loop(l);
        return fits;
}

static void set_listening(struct loop *l, bool on)
{
        struct epoll_event ev = {.events = on ? EPOLLIN : 0, .data.ptr = l->server};

        if (!epoll_ctl(l->epoll, EPOLL_CTL_MOD, l->server->listener, &ev))
                l->own.listening = on;
}

static void accept_one(struct loop *l, int fd)
{
        struct server *s = l->server;
        int one = 1, size = SHAPED_BUFFER;

        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        if (is_shaped(&s->cfg)) { /* or megabytes would hide in the kernel from the limit */
                setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
                setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
        }
        atomic_fetch_add(&s->conns, 1);
        struct loop *to = &s->loops[s->next_loop++ % s->cfg.threads];
        if (to == l) {
                loop_add(l, fd);
        } else if (!post(to, fd)) {
                close(fd);
                atomic_fetch_sub(&s->conns, 1);
        }
}

static void accept_some(struct loop *l)
{
        struct server *s = l->server;

        for (int i = 0; i < EVENTS; i++) {
                if (atomic_load(&s->conns) >= s->cfg.connections) {
                        log_warn("%u connections are open; more wait (--connections)",
                                 s->cfg.connections);
                        set_listening(l, false);
                        return;
                }
                int fd = accept4(s->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
                if (fd >= 0) {
                        accept_one(l, fd);
                        continue;
                }
                if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
                        log_warn("accept: %s; trying again", strerror(errno));
                        set_listening(l, false);
                }
                return;
        }
}

/* Runs what was paused until now; returns when the next one is due. */
static uint64_t run_due(struct loop *l, uint64_t now)
{
        uint64_t next = now + TICK_NS;
        struct conn *following;

        for (struct conn *c = l->own.conns; c; c = following) {
                following = c->next;
                uint64_t due = conn_due_ns(c);
                if (due && due <= now)
                        loop_run_conn(l, c);
        }
        for (struct conn *c = l->own.conns; c; c = c->next) {
                uint64_t due = conn_due_ns(c);
                if (due && due < next)
                        next = due;
        }
        return next;
}

static void tick(struct loop *l, uint64_t now)
{
        struct conn *following;

        if (now < l->own.next_tick_ns)
                return;
        l->own.next_tick_ns = now + TICK_NS;
        for (struct conn *c = l->own.conns; c; c = following) {
                following = c->next;
                if (!c->wake_ns && c->active_ns + IDLE_NS < now)
                        loop_remove(l, c, false);
        }
}

static void wait_events(struct loop *l, uint64_t until, struct epoll_event *ev, int *n)
{
        struct server *s = l->server;
        uint64_t now = clock_ns();
        bool at_cap = l == s->loops && !l->own.listening;

        if (at_cap && until > now + RETRY_NS)
                until = now + RETRY_NS;
        uint64_t left = until > now ? until - now : 0;
        struct timespec ts = {(time_t)(left / 1000000000), (long)(left % 1000000000)};
        *n = epoll_pwait2(l->epoll, ev, EVENTS, &ts, NULL);
        if (at_cap && atomic_load(&s->conns) < s->cfg.connections)
                set_listening(l, true);
}

static void *loop_main(void *arg)
{
        struct loop *l = arg;
        struct server *s = l->server;
        struct epoll_event ev[EVENTS];
        uint64_t until = clock_ns();
        int n;

        l->own.listening = true;
        while (!atomic_load(&s->stop)) {
                wait_events(l, until, ev, &n);
                for (int i = 0; i < n; i++) {
                        struct conn *c = ev[i].data.ptr;
                        if (ev[i].data.ptr == l)
                                drain_inbox(l);
                        else if (ev[i].data.ptr == s)
                                accept_some(l);
                        else if (c->wake_ns) /* paused: the peer is gone */
                                loop_remove(l, c, false);
                        else
                                loop_run_conn(l, c);
                }
                uint64_t now = clock_ns();
                tick(l, now);
                until = run_due(l, now);
        }
        drain_inbox(l);
        while (l->own.conns)
                loop_remove(l, l->own.conns, false);
        return NULL;
}

/* --- start and stop --- */

static int say(char *why, size_t nwhy, const char *listen, const char *what, const char *reason,
               int err)
{
        snprintf(why, nwhy,
                 "--listen %s: %s: %s: give ADDRESS:PORT of this machine, port 0 for a free one",
                 listen, what, reason);
        return err;
}

static int open_listener(struct server *s, const char *listen_at, char *why, size_t nwhy)
{
        struct addrinfo hints = {.ai_flags = AI_PASSIVE, .ai_socktype = SOCK_STREAM}, *found;
        struct sockaddr_storage bound;
        socklen_t len = sizeof bound;
        CLEANUP(freep) char *host = strdup(listen_at);
        char *colon = host ? strrchr(host, ':') : NULL, ip[64], port[8];
        uint64_t number;
        int one = 1;

        /* getaddrinfo() takes any number, and of one that is no port the lower bits. */
        if (!colon || digits_parse(colon + 1, &number) || number > UINT16_MAX)
                return say(why, nwhy, listen_at, "cannot be used", "no port", -EINVAL);
        *colon = 0;
        int rc = getaddrinfo(host, colon + 1, &hints, &found);
        if (rc)
                return say(why, nwhy, listen_at, "cannot be used", gai_strerror(rc), -EINVAL);
        s->listener = socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        if (s->listener >= 0)
                setsockopt(s->listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
        int err = s->listener < 0 || bind(s->listener, found->ai_addr, found->ai_addrlen) ||
                                  listen(s->listener, 1024)
                          ? -errno
                          : 0;
        freeaddrinfo(found);
        if (err)
                return say(why, nwhy, listen_at, "cannot listen", strerror(-err), err);
        getsockname(s->listener, (struct sockaddr *)&bound, &len);
        getnameinfo((struct sockaddr *)&bound, len, ip, sizeof ip, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV);
        snprintf(s->address, sizeof s->address,
                 bound.ss_family == AF_INET6 ? "[%.45s]:%s" : "%.45s:%s", ip, port);
        return 0;
}

static int loop_init(struct server *s, struct loop *l)
{
        l->server = s;
        mutex_init(&l->inbox.mtx, LOCK_SIM);
        l->epoll = epoll_create1(EPOLL_CLOEXEC);
        l->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
        l->own.scratch = malloc(CONN_SCRATCH);
        if (l->epoll < 0 || l->wake < 0 || !l->own.scratch)
                return -ENOMEM;
        struct epoll_event ev = {.events = EPOLLIN, .data.ptr = l};
        if (epoll_ctl(l->epoll, EPOLL_CTL_ADD, l->wake, &ev))
                return -errno;
        ev.data.ptr = s;
        if (l == s->loops && epoll_ctl(l->epoll, EPOLL_CTL_ADD, s->listener, &ev))
                return -errno;
        return 0;
}

int server_start(const struct server_config *cfg, struct server **out, char *why, size_t nwhy)
{
        struct server *s = calloc(1, sizeof *s + cfg->threads * sizeof s->loops[0]);
        int err = 0;

        if (!s)
                return -ENOMEM;
        s->cfg = *cfg;
        s->listener = -1;
        for (unsigned i = 0; i < cfg->threads; i++)
                s->loops[i].epoll = s->loops[i].wake = -1;
        err = open_listener(s, cfg->listen, why, nwhy);
        for (unsigned i = 0; !err && i < cfg->threads; i++) {
                err = loop_init(s, &s->loops[i]);
                if (err)
                        snprintf(why, nwhy, "cannot make an event loop: %s: give fewer --threads",
                                 strerror(-err));
        }
        for (unsigned i = 0; !err && i < cfg->threads; i++) {
                err = -pthread_create(&s->loops[i].thread, NULL, loop_main, &s->loops[i]);
                if (err)
                        snprintf(why, nwhy, "cannot start a thread: %s: give fewer --threads",
                                 strerror(-err));
                else
                        s->nstarted++;
        }
        if (err) {
                server_stop(s);
                return err;
        }
        *out = s;
        return 0;
}

const char *server_address(const struct server *s)
{
        return s->address;
}

void server_wake(struct server *s)
{
        for (unsigned i = 0; i < s->nstarted; i++)
                wake_loop(&s->loops[i]);
}

void server_stop(struct server *s)
{
        if (!s)
                return;
        atomic_store(&s->stop, true);
        server_wake(s);
        for (unsigned i = 0; i < s->nstarted; i++)
                pthread_join(s->loops[i].thread, NULL);
        for (unsigned i = 0; i < s->cfg.threads; i++) {
                struct loop *l = &s->loops[i];
                drain_inbox(l);
                while (l->own.conns)
                        loop_remove(l, l->own.conns, false);
                closep(&l->epoll);
                closep(&l->wake);
                free(l->own.scratch);
                mutex_destroy(&l->inbox.mtx);
        }
        closep(&s->listener);
        free(s);
}
